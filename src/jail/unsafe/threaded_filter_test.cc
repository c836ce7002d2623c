// The filters of the profiles `tool` and `plugin` by a BPF evaluator: what they allow beyond a script's is written out
// here once more, and everything else is a script's.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "heddle/jail/unsafe/threaded_policy.h"
#include "testing/bpf.h"

namespace heddle::jail {
namespace {

constexpr std::uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;

using Arguments = std::initializer_list<std::uint64_t>;

std::uint32_t answer(const BpfProgram& program, long number, Arguments arguments = {}) {
  seccomp_data data{};
  data.nr = static_cast<int>(number);
  data.arch = AUDIT_ARCH_X86_64;
  std::copy(arguments.begin(), arguments.end(), std::begin(data.args));
  return program.answer(data);
}

enum class Listener : std::uint8_t { there, none };

struct Case {
  const char* name;
  Listener listener;
  bool plugin;
};

class ThreadedFilter : public ::testing::TestWithParam<Case> {
 protected:
  static std::string_view filter_of(const Policy& policy) {
    return GetParam().listener == Listener::there ? policy.filter() : policy.killing_filter();
  }
  static std::uint32_t refused() { return GetParam().listener == Listener::there ? kNotify : kKill; }
  const Policy policy_ = GetParam().plugin ? ThreadedPolicy::plugin().value() : ThreadedPolicy::tool().value();
  const Policy script_policy_ = Policy::script().value();
  const BpfProgram own_{filter_of(policy_)};
  const BpfProgram script_{filter_of(script_policy_)};
};
INSTANTIATE_TEST_SUITE_P(All, ThreadedFilter,
                         ::testing::Values(Case{"ToolNotifying", Listener::there, false},
                                           Case{"ToolKilling", Listener::none, false},
                                           Case{"PluginNotifying", Listener::there, true},
                                           Case{"PluginKilling", Listener::none, true}),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

// JAIL-4, JAIL-5, JAIL-6: every number, with each argument alone holding each bit, the rest clear and set.
TEST_P(ThreadedFilter, IsAScriptsButForWhatIsNamed) {
  std::set<int> own = {SYS_clone, SYS_set_robust_list, SYS_rseq, SYS_sched_yield, SYS_nanosleep, SYS_clock_nanosleep};
  if (GetParam().plugin) own.insert({SYS_socket, SYS_connect, SYS_seccomp});
  for (int number = 0; number <= kHighestNumber; ++number) {
    seccomp_data data{};
    data.nr = number;
    data.arch = AUDIT_ARCH_X86_64;
    for (unsigned bit = 0; bit < 64 * 6; ++bit) {
      for (const std::uint64_t rest : {std::uint64_t{0}, ~std::uint64_t{0}}) {
        for (auto& argument : data.args) argument = rest;
        data.args[bit / 64] ^= std::uint64_t{1} << bit % 64;
        if (own.count(number) != 0) continue;
        ASSERT_EQ(own_.answer(data), script_.answer(data)) << number << " bit " << bit;
      }
    }
    data.nr = number | kX32;
    EXPECT_EQ(own_.answer(data), kKill) << number << " of x32";
    data.nr = number;
    for (const std::uint32_t foreign : kForeign) {
      data.arch = foreign;
      EXPECT_EQ(own_.answer(data), kKill) << number << " of " << foreign;
    }
  }
  for (const long number : {SYS_set_robust_list, SYS_rseq, SYS_sched_yield, SYS_nanosleep, SYS_clock_nanosleep}) {
    EXPECT_EQ(answer(own_, number), kAllow) << number;
  }
}

// JAIL-6: of all that clone can make, a thread. Each flag that makes one is needed, each other one refused.
TEST_P(ThreadedFilter, ClonesThreadsAlone) {
  const std::uint64_t usual = kThread | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  EXPECT_EQ(answer(own_, SYS_clone, {usual}), kAllow);  // glibc's
  EXPECT_EQ(answer(own_, SYS_clone, {kUpper | usual}), kAllow);
  const std::uint64_t may =
      CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID;
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::uint64_t flag = std::uint64_t{1} << bit;
    EXPECT_EQ(answer(own_, SYS_clone, {usual ^ flag}), (may & flag) != 0 ? kAllow : refused()) << bit;
  }
  for (const std::uint64_t flags : {std::uint64_t{SIGCHLD}, std::uint64_t{0}, std::uint64_t{CLONE_VM | CLONE_VFORK},
                                    kThread | SIGCHLD, kUpper | SIGCHLD}) {
    EXPECT_EQ(answer(own_, SYS_clone, {flags}), refused()) << flags;
  }
  for (const long number : {SYS_fork, SYS_vfork, SYS_execve, SYS_execveat, SYS_memfd_create, SYS_unshare, SYS_kill,
                            SYS_bind, SYS_io_uring_setup}) {
    EXPECT_EQ(answer(own_, number), refused()) << number;
  }
  EXPECT_EQ(answer(own_, SYS_clone3), SECCOMP_RET_ERRNO | ENOSYS);
}

// JAIL-5: a plugin's sockets are UNIX streams, and a tool's none.
TEST_P(ThreadedFilter, MakesUnixStreamsOrNothing) {
  const bool plugin = GetParam().plugin;
  const std::uint32_t plain = GetParam().listener == Listener::there ? kNotify : kEperm;
  EXPECT_EQ(answer(own_, SYS_connect), plugin ? kAllow : refused());
  for (std::uint64_t family = 0; family < 64; ++family) {
    for (std::uint64_t type = 0; type < 16; ++type) {
      const bool own = plugin && family == AF_UNIX && type == SOCK_STREAM;
      for (const std::uint64_t more : {std::uint64_t{0}, std::uint64_t{SOCK_CLOEXEC | SOCK_NONBLOCK}, kUpper}) {
        const std::uint32_t got = answer(own_, SYS_socket, {family, type | more});
        EXPECT_EQ(got, own ? kAllow : (plugin ? refused() : plain)) << family << " " << type;
      }
    }
  }
  EXPECT_EQ(answer(own_, SYS_socket, {AF_UNIX, SOCK_STREAM | 0x100}), plugin ? refused() : plain);
  EXPECT_EQ(answer(own_, SYS_socketpair, {AF_UNIX, SOCK_STREAM}), plain);
  const std::uint64_t all = SECCOMP_FILTER_FLAG_TSYNC;
  EXPECT_EQ(answer(own_, SYS_seccomp, {SECCOMP_SET_MODE_FILTER, all}), plugin ? kAllow : refused());
  for (const std::uint64_t flags : {std::uint64_t{0}, std::uint64_t{SECCOMP_FILTER_FLAG_NEW_LISTENER}, all | 8}) {
    EXPECT_EQ(answer(own_, SYS_seccomp, {SECCOMP_SET_MODE_FILTER, flags}), refused()) << flags;
  }
}

// JAIL-4, JAIL-5: the second filter lets all on to the first but what it takes away, and ends what is foreign.
TEST(SecondFilter, TakesConnectionsAwayAndNothingElse) {
  const Policy plugin = ThreadedPolicy::plugin().value();
  EXPECT_TRUE(ThreadedPolicy::tool().value().second_filter().empty());
  EXPECT_TRUE(Policy::script().value().second_filter().empty());
  ASSERT_FALSE(plugin.second_filter().empty());
  const BpfProgram second(plugin.second_filter());
  const BpfProgram first(plugin.filter());
  for (int number = 0; number <= kHighestNumber; ++number) {
    if (number != SYS_connect) {
      EXPECT_EQ(answer(second, number), kAllow) << number;
      EXPECT_EQ(answer(second, number, {~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL}), kAllow) << number;
    }
    EXPECT_EQ(answer(second, number | kX32), kKill) << number;
    for (const std::uint32_t foreign : kForeign) {
      seccomp_data data{};
      data.nr = number;
      data.arch = foreign;
      EXPECT_EQ(second.answer(data), kKill) << number;
    }
  }
  EXPECT_EQ(answer(second, SYS_connect, {3, 0, 110}), kEperm);
  EXPECT_EQ(answer(second, SYS_seccomp, {SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC}), kEperm);
  // No socket passes both, in any spelling.
  for (std::uint64_t family = 0; family < 64; ++family) {
    for (std::uint64_t type = 0; type < 16; ++type) {
      for (const std::uint64_t more : {std::uint64_t{0}, std::uint64_t{SOCK_CLOEXEC}, std::uint64_t{SOCK_NONBLOCK},
                                       std::uint64_t{SOCK_CLOEXEC | SOCK_NONBLOCK}, kUpper}) {
        const Arguments arguments = {family, type | more};
        EXPECT_FALSE(answer(first, SYS_socket, arguments) == kAllow && answer(second, SYS_socket, arguments) == kAllow)
            << family << " " << type;
      }
    }
  }
}

}  // namespace
}  // namespace heddle::jail

#include "seccomp_filter.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <map>
#include <set>
#include <string>

#include "heddle/jail/policy.h"
#include "testing/bpf.h"

namespace heddle::jail {
namespace {

constexpr std::uint32_t kNative = AUDIT_ARCH_X86_64;

seccomp_data call(int number, std::uint32_t architecture = kNative) {
  seccomp_data data{};
  data.nr = number;
  data.arch = architecture;
  return data;
}

std::uint32_t errno_answer(int error) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error); }

class ScriptFilter : public ::testing::TestWithParam<Hearing> {
 protected:
  static std::string_view of(const Policy& policy) {
    return GetParam() == Hearing::denials ? policy.filter() : policy.killing_filter();
  }
  [[nodiscard]] std::uint32_t answer(const seccomp_data& data) const { return program_.answer(data); }

  // What a call gets that the table does not let through.
  static std::uint32_t refused() { return GetParam() == Hearing::denials ? kNotify : kKill; }
  static std::uint32_t expected(Answer answer) {
    switch (answer) {
      case Answer::allow:
        return kAllow;
      case Answer::denied:
        return GetParam() == Hearing::denials ? kNotify : errno_answer(EPERM);
      case Answer::observe:
      case Answer::birth:
      case Answer::first:  // none in this profile
        break;
      case Answer::eperm:
        return errno_answer(EPERM);
      case Answer::enosys:
        return errno_answer(ENOSYS);
      case Answer::enotsup:
        return errno_answer(EOPNOTSUPP);
    }
    return kKill;
  }

  // The rule's call with arguments that meet its conditions and are otherwise as given.
  static seccomp_data meeting(const SyscallRule& rule, std::uint64_t others = 0) {
    seccomp_data data = call(::seccomp_syscall_resolve_name(rule.name));
    for (auto& argument : data.args) argument = others;
    for (const Condition& condition : rule.conditions) {
      if (condition.mask == 0) continue;
      auto& argument = data.args[condition.argument];
      argument = (argument & ~condition.mask) | condition.value;
    }
    return data;
  }

 private:
  BpfProgram program_{of(Policy::script().value())};
};
INSTANTIATE_TEST_SUITE_P(Both, ScriptFilter, ::testing::Values(Hearing::denials, Hearing::nobody),
                         [](const auto& parameter) {
                           return parameter.param == Hearing::denials ? "Notifying" : "Killing";
                         });

// JAIL-4, JAIL-5, JAIL-6: an allow-list. Every number, native and x32 and i386, against the table.
TEST_P(ScriptFilter, AnswersEveryNumberAsTheTableSays) {
  std::map<int, const SyscallRule*> rules;
  const SyscallTable table = syscall_table(Profile::script);
  for (const SyscallRule& rule : table) {
    const int number = ::seccomp_syscall_resolve_name(rule.name);
    ASSERT_GE(number, 0) << rule.name;
    ASSERT_TRUE(rules.emplace(number, &rule).second) << rule.name << " twice";
  }
  for (int number = -2; number <= kHighestNumber; ++number) {
    const auto rule = rules.find(number);
    const seccomp_data native = rule == rules.end() ? call(number) : meeting(*rule->second);
    const std::uint32_t want = rule == rules.end() ? (number < -1 ? kKill : refused()) : expected(rule->second->answer);
    EXPECT_EQ(answer(native), want) << number;
    if (number < 0) continue;
    seccomp_data x32 = native;
    x32.nr = number | kX32;
    EXPECT_EQ(answer(x32), kKill) << number << " of x32";
    for (const std::uint32_t foreign : kForeign) {
      seccomp_data other = native;
      other.arch = foreign;
      EXPECT_EQ(answer(other), kKill) << number << " of " << foreign;
    }
  }
}

// JAIL-6: a condition that does not hold is never let through, whatever the other arguments are.
TEST_P(ScriptFilter, EveryConditionCounts) {
  unsigned conditions = 0;
  const SyscallTable table = syscall_table(Profile::script);
  for (const SyscallRule& rule : table) {
    for (const Condition& condition : rule.conditions) {
      if (condition.mask == 0) continue;
      ++conditions;
      for (unsigned bit = 0; bit < 64; ++bit) {
        seccomp_data data = meeting(rule);
        data.args[condition.argument] ^= std::uint64_t{1} << bit;
        const bool matters = (condition.mask >> bit & 1U) != 0;
        EXPECT_EQ(answer(data), matters ? refused() : kAllow) << rule.name << " bit " << bit;
      }
      // All other bits of all arguments set: met is met, and missed is missed.
      EXPECT_EQ(answer(meeting(rule, ~std::uint64_t{0})), expected(rule.answer)) << rule.name;
    }
  }
  EXPECT_GE(conditions, 9U);
}

// JAIL-6: what the issue names, written out once more, so that an edit of the table shows.
TEST_P(ScriptFilter, RefusesWhatMatters) {
  for (const int number : {SYS_execve,
                           SYS_execveat,
                           SYS_fork,
                           SYS_vfork,
                           SYS_clone,
                           SYS_ptrace,
                           SYS_memfd_create,
                           SYS_memfd_secret,
                           SYS_io_uring_setup,
                           SYS_io_uring_enter,
                           SYS_io_uring_register,
                           SYS_bpf,
                           SYS_mount,
                           SYS_umount2,
                           SYS_pivot_root,
                           SYS_chroot,
                           SYS_unshare,
                           SYS_setns,
                           SYS_fsopen,
                           SYS_fsmount,
                           SYS_fsconfig,
                           SYS_move_mount,
                           SYS_open_tree,
                           SYS_mount_setattr,
                           SYS_keyctl,
                           SYS_add_key,
                           SYS_request_key,
                           SYS_userfaultfd,
                           SYS_perf_event_open,
                           SYS_init_module,
                           SYS_finit_module,
                           SYS_delete_module,
                           SYS_kexec_load,
                           SYS_reboot,
                           SYS_pkey_mprotect,
                           SYS_connect,
                           SYS_bind,
                           SYS_listen,
                           SYS_accept,
                           SYS_accept4,
                           SYS_sendmmsg,
                           SYS_setsockopt,
                           SYS_kill,
                           SYS_tkill,
                           SYS_rt_sigqueueinfo,
                           SYS_pidfd_open,
                           SYS_pidfd_getfd,
                           SYS_pidfd_send_signal,
                           SYS_process_vm_readv,
                           SYS_process_vm_writev,
                           SYS_personality,
                           SYS_modify_ldt,
                           SYS_arch_prctl,
                           SYS_seccomp,
                           SYS_shmget,
                           SYS_shmat,
                           SYS_mq_open,
                           SYS_semget,
                           SYS_msgget,
                           SYS_openat2,
                           SYS_open_by_handle_at,
                           SYS_setuid,
                           SYS_setresuid,
                           SYS_capset,
                           SYS_remap_file_pages,
                           SYS_uselib,
                           SYS_iopl,
                           SYS_ioperm,
                           SYS_timer_create,
                           SYS_dup2}) {
    EXPECT_EQ(answer(call(number)), refused()) << number;
  }
  for (const int number : {SYS_ioctl, SYS_prctl, SYS_tgkill}) {
    EXPECT_EQ(answer(call(number)), errno_answer(EPERM)) << number;
  }
  for (const int number : {SYS_socket, SYS_socketpair, SYS_openat, SYS_open}) {
    EXPECT_EQ(answer(call(number)), expected(Answer::denied)) << number;
  }
  EXPECT_EQ(answer(call(SYS_clone3)), errno_answer(ENOSYS));
}

// JAIL-5: every family, with the upper half of the argument set too.
TEST_P(ScriptFilter, NoFamilyGetsASocket) {
  for (std::uint64_t family = 0; family < 64; ++family) {
    for (const std::uint64_t upper : {std::uint64_t{0}, kUpper, ~std::uint64_t{0} << 32}) {
      for (const int number : {SYS_socket, SYS_socketpair}) {
        seccomp_data data = call(number);
        data.args[0] = upper | family;
        data.args[1] = upper | SOCK_STREAM;
        EXPECT_EQ(answer(data), expected(Answer::denied)) << family;
      }
    }
  }
}

// JAIL-6: executable memory in all spellings.
TEST_P(ScriptFilter, NoExecutableMemory) {
  const auto map = [&](std::uint64_t protection, std::uint64_t flags) {
    seccomp_data data = call(SYS_mmap);
    data.args[2] = protection;
    data.args[3] = flags;
    return answer(data);
  };
  const auto protect = [&](std::uint64_t protection) {
    seccomp_data data = call(SYS_mprotect);
    data.args[2] = protection;
    return answer(data);
  };
  constexpr std::uint64_t kOwn = MAP_PRIVATE | MAP_ANONYMOUS;
  EXPECT_EQ(map(PROT_READ | PROT_WRITE, kOwn), kAllow);
  EXPECT_EQ(map(PROT_NONE, kOwn | MAP_NORESERVE), kAllow);
  EXPECT_EQ(map(kUpper | PROT_READ, kOwn), kAllow);
  EXPECT_EQ(map(PROT_READ, MAP_PRIVATE), refused());
  EXPECT_EQ(map(PROT_READ, kOwn | MAP_HUGETLB), refused());
  EXPECT_EQ(map(PROT_READ, kUpper | MAP_PRIVATE), refused());
  for (const std::uint64_t upper : {std::uint64_t{0}, kUpper, ~std::uint64_t{0} << 32}) {
    for (std::uint64_t others = 0; others < 4; ++others) {
      EXPECT_EQ(map(upper | PROT_EXEC | others, kOwn), refused());
      EXPECT_EQ(protect(upper | PROT_EXEC | others), refused());
      EXPECT_EQ(protect(upper | others), kAllow);
    }
  }
}

// JAIL-5: a stream socket's calls work without an address and without the flags that no guest needs.
TEST_P(ScriptFilter, StreamCallsTakeNoAddress) {
  seccomp_data data = call(SYS_sendto);
  data.args[3] = MSG_NOSIGNAL | MSG_DONTWAIT;
  EXPECT_EQ(answer(data), kAllow);
  data.args[4] = kUpper;  // a pointer with an empty lower half is still one
  EXPECT_EQ(answer(data), refused());
  data.args[4] = 0;
  data.args[3] = MSG_OOB;
  EXPECT_EQ(answer(data), refused());
  data.args[3] = kUpper | MSG_OOB | MSG_NOSIGNAL;
  EXPECT_EQ(answer(data), refused());
  data = call(SYS_recvmsg);
  data.args[2] = MSG_DONTWAIT | MSG_CMSG_CLOEXEC;
  EXPECT_EQ(answer(data), kAllow);
  data.args[2] |= MSG_OOB;
  EXPECT_EQ(answer(data), refused());
}

TEST(Filter, ATableWithAnUnknownCallIsAnError) {
  const SyscallRule rules[] = {{"no_such_call", Answer::allow, "", {}}};
  const auto built = build_filter({rules, 1}, Hearing::denials);
  ASSERT_FALSE(built.ok());
  EXPECT_NE(built.error().message().find("no_such_call"), std::string::npos);
}

}  // namespace
}  // namespace heddle::jail

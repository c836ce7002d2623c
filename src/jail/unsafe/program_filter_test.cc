// The filter of the profile `program` by a BPF evaluator. What is observed is let go on by the supervisor, whatever it
// is; so what the plain filter refuses of these calls the observing one must refuse by itself.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <set>

#include "heddle/jail/launch/notify.h"
#include "heddle/jail/unsafe/program_grants.h"
#include "testing/bpf.h"

namespace heddle::jail {
namespace {

ProgramGrants grants(const ProgramNeeds& needs) {
  core::Fd program(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  return ProgramGrants::open({std::move(program), "/proc/self/exe", "/proc/self/exe"}, needs).value();
}

Policy policy(Subprocesses subprocesses, bool observe) {
  const Program self = open_program("/proc/self/exe").value();
  ProgramNeeds needs;
  needs.subprocesses = subprocesses;
  needs.denials.observe = observe;
  return UnsafePolicy::program(self, grants(needs), needs).value();
}

class ProgramFilter : public ::testing::TestWithParam<Subprocesses> {
 protected:
  [[nodiscard]] static std::uint32_t answer(const BpfProgram& program, int number, unsigned argument = 0,
                                            std::uint64_t value = 0) {
    seccomp_data data{};
    data.nr = number;
    data.arch = AUDIT_ARCH_X86_64;
    data.args[argument] = value;
    return program.answer(data);
  }
  const Policy plain_ = policy(GetParam(), false);
  const Policy observing_ = policy(GetParam(), true);
  const BpfProgram unheard_{plain_.killing_filter()};
  const BpfProgram denials_{plain_.filter()};
  const BpfProgram observes_{observing_.filter()};
};
INSTANTIATE_TEST_SUITE_P(Both, ProgramFilter, ::testing::Values(Subprocesses::none, Subprocesses::allowed),
                         [](const auto& parameter) {
                           return parameter.param == Subprocesses::none ? "OneProgram" : "ManyPrograms";
                         });

// JAIL-14: what the supervisor lets go on is what would have gone on without it. Every argument of the observed calls
// takes every value of its low 12 bits, which hold the flags that the table knows, with the rest clear and set.
TEST_P(ProgramFilter, OnlyWhatIsAllowedAnywayIsObserved) {
  ASSERT_FALSE(observing_.observed().empty());
  EXPECT_TRUE(plain_.observed().empty());
  unsigned refused = 0;
  for (const int number : observing_.observed()) {
    for (unsigned argument = 0; argument < 6; ++argument) {
      for (std::uint64_t low = 0; low < 4096; ++low) {
        for (const std::uint64_t rest : {std::uint64_t{0}, kUpper, ~std::uint64_t{4095}}) {
          const std::uint32_t plain = answer(unheard_, number, argument, low | rest);
          const std::uint32_t observed = answer(observes_, number, argument, low | rest);
          ASSERT_EQ(observed, plain == kAllow ? kNotify : kEperm) << number << " " << argument << " " << (low | rest);
          ASSERT_EQ(answer(denials_, number, argument, low | rest), plain) << number;
          if (plain != kAllow) ++refused;
        }
      }
    }
  }
  EXPECT_GT(refused, 0U);
}

// JAIL-4, JAIL-6: the three programs agree about every number but in how they refuse.
TEST_P(ProgramFilter, TheThreeAgreeAboutEveryNumber) {
  const std::set<int> observed(observing_.observed().begin(), observing_.observed().end());
  for (int number = 0; number <= kHighestNumber; ++number) {
    const std::uint32_t plain = answer(unheard_, number);
    const std::uint32_t told = answer(denials_, number);
    const std::uint32_t all = answer(observes_, number);
    EXPECT_NE(plain, kKill) << number;
    EXPECT_NE(plain, kNotify) << number;
    EXPECT_TRUE(told == plain || (told == kNotify && plain == kEperm)) << number;
    EXPECT_EQ(all, observed.count(number) != 0 ? kNotify : told) << number;
    for (const BpfProgram* program : {&unheard_, &denials_, &observes_}) {
      EXPECT_EQ(answer(*program, number | kX32), kKill) << number;
    }
  }
}

// JAIL-6
TEST_P(ProgramFilter, StartsOneProgramOrThoseThatLandlockGrants) {
  const bool one = GetParam() == Subprocesses::none;
  EXPECT_EQ(plain_.one_program(), one);
  EXPECT_EQ(answer(denials_, SYS_execve), one ? kNotify : kAllow);
  EXPECT_EQ(answer(unheard_, SYS_execve), one ? kEperm : kAllow);
  EXPECT_EQ(answer(observes_, SYS_execve), kNotify);
  EXPECT_EQ(answer(denials_, SYS_execveat, 4, AT_EMPTY_PATH), one ? kNotify : kAllow);
  EXPECT_EQ(answer(unheard_, SYS_execveat, 4, AT_EMPTY_PATH), kAllow);
  EXPECT_EQ(answer(unheard_, SYS_execveat, 4, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW), one ? kEperm : kAllow);
  const std::set<int> observed(observing_.observed().begin(), observing_.observed().end());
  EXPECT_EQ(observed.count(SYS_execve), one ? 0U : 1U);
  EXPECT_EQ(observed.count(SYS_execveat), one ? 0U : 1U);
}

// JAIL-5, JAIL-6: written out once more.
TEST_P(ProgramFilter, RefusesWhatMatters) {
  for (const int number : {SYS_ptrace,
                           SYS_memfd_create,
                           SYS_memfd_secret,
                           SYS_bpf,
                           SYS_mount,
                           SYS_umount2,
                           SYS_pivot_root,
                           SYS_chroot,
                           SYS_unshare,
                           SYS_setns,
                           SYS_fsopen,
                           SYS_move_mount,
                           SYS_open_tree,
                           SYS_mount_setattr,
                           SYS_keyctl,
                           SYS_add_key,
                           SYS_userfaultfd,
                           SYS_perf_event_open,
                           SYS_init_module,
                           SYS_reboot,
                           SYS_connect,
                           SYS_bind,
                           SYS_listen,
                           SYS_accept4,
                           SYS_sendmmsg,
                           SYS_pidfd_getfd,
                           SYS_process_vm_readv,
                           SYS_process_vm_writev,
                           SYS_personality,
                           SYS_modify_ldt,
                           SYS_seccomp,
                           SYS_shmget,
                           SYS_mq_open,
                           SYS_semget,
                           SYS_msgget,
                           SYS_open_by_handle_at,
                           SYS_setuid,
                           SYS_capset,
                           SYS_chmod,
                           SYS_fchmod,
                           SYS_fchownat,
                           SYS_utimensat,
                           SYS_fsetxattr,
                           SYS_symlinkat,
                           SYS_mknodat,
                           SYS_truncate,
                           SYS_io_uring_enter,
                           SYS_io_uring_register}) {
    EXPECT_EQ(answer(unheard_, number), kEperm) << number;
    EXPECT_EQ(answer(denials_, number), kNotify) << number;
  }
  for (std::uint64_t family = 0; family < 64; ++family) {
    EXPECT_EQ(answer(unheard_, SYS_socket, 0, family), kEperm) << family;
  }
  for (const int number : {SYS_clone3, SYS_openat2, SYS_io_uring_setup}) {
    EXPECT_EQ(answer(denials_, number), SECCOMP_RET_ERRNO | ENOSYS) << number;
  }
}

// JAIL-12: where no pid namespace may end what a program leaves, the supervisor is asked about each process; and about
// namespaces, which it refuses, but never about a thread.
TEST(ProgramPolicy, TellsBirthsWhereThereMayBeNoPidNamespace) {
  const Program self = open_program("/proc/self/exe").value();
  const auto births = [&](const NamespaceOrder& order) {
    ProgramNeeds needs;
    needs.namespaces = order;
    return UnsafePolicy::program(self, grants(needs), needs).value();
  };
  const NamespaceSet others = NamespaceSet().with(Namespace::user);
  EXPECT_FALSE(births({Need::required, kUsualNamespaces, Root::host}).births());
  EXPECT_TRUE(births({Need::required, others, Root::host}).births());
  EXPECT_TRUE(births({Need::if_available, kUsualNamespaces, Root::host}).births());
  const Policy off = births({Need::off, kUsualNamespaces, Root::host});
  EXPECT_TRUE(off.births());
  const auto answer = [](std::string_view filter, int number, std::uint64_t flags) {
    seccomp_data data{};
    data.nr = number;
    data.arch = AUDIT_ARCH_X86_64;
    data.args[0] = flags;
    return BpfProgram(filter).answer(data);
  };
  for (const int number : {SYS_fork, SYS_vfork, SYS_clone}) {
    EXPECT_EQ(answer(off.filter(), number, 0), kNotify) << number;
    EXPECT_EQ(answer(off.killing_filter(), number, 0), kAllow) << number;
  }
  EXPECT_EQ(answer(off.filter(), SYS_clone, CLONE_THREAD | CLONE_VM), kAllow);
  for (const int flag : {CLONE_NEWUSER, CLONE_PARENT, CLONE_PTRACE}) {
    for (const int thread : {0, CLONE_THREAD}) {
      const auto flags = static_cast<std::uint64_t>(flag | thread);
      EXPECT_EQ(answer(off.filter(), SYS_clone, flags), kNotify);
      EXPECT_EQ(answer(off.killing_filter(), SYS_clone, flags), kEperm);
      EXPECT_FALSE(is_birth(SYS_clone, flags));
    }
  }
  EXPECT_FALSE(is_birth(SYS_clone, CLONE_THREAD));
  EXPECT_FALSE(is_birth(SYS_clone3, 0));
}

// A policy that tells nobody is no program's.
TEST(ProgramPolicy, IsToldOfDenialsWhereItCanBe) {
  ProgramNeeds needs;
  needs.denials.notifications = Notifications::off;
  const auto made = UnsafePolicy::program(open_program("/proc/self/exe").value(), grants(needs), needs);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, core::Errc::invalid_argument);
}

}  // namespace
}  // namespace heddle::jail

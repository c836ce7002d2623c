// JAIL-19: every call that takes a path, or something that stands for one, is Landlock's to decide or stands in the
// table of docs/guide/policy.md, and the filters answer what the table says.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/syscall.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "heddle/jail/unsafe/program_policy.h"
#include "heddle/jail/unsafe/threaded_policy.h"
#include "testing/bpf.h"
#include "testing/filters.h"

namespace heddle::jail {
namespace {

using Names = std::set<std::string>;

Names words(const char* text) {
  std::istringstream stream(text);
  Names names;
  for (std::string name; stream >> name;) names.insert(name);
  return names;
}

// Of the table of Linux 6.18 (arch/x86/entry/syscalls/syscall_64.tbl): those whose arguments name something in the file
// system, or that act on what an O_PATH descriptor stands for; and those that only act on it when it is open.
const Names& path_calls() {
  static const Names kCalls = words(
      "open openat openat2 creat mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat execve "
      "execveat stat lstat newfstatat statx fstat access faccessat faccessat2 readlink readlinkat statfs fstatfs chdir "
      "fchdir getcwd fgetxattr flistxattr getxattr lgetxattr listxattr llistxattr inotify_init inotify_init1 "
      "inotify_add_watch inotify_rm_watch fanotify_init fanotify_mark name_to_handle_at open_by_handle_at getxattrat "
      "listxattrat file_getattr statmount listmount cachestat quotactl quotactl_fd ustat lookup_dcookie uselib acct "
      "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat setxattr "
      "lsetxattr "
      "fsetxattr removexattr lremovexattr fremovexattr setxattrat removexattrat file_setattr truncate symlink "
      "symlinkat "
      "mknod mknodat chroot pivot_root mount umount2 move_mount open_tree open_tree_attr fsopen fspick fsmount "
      "fsconfig "
      "mount_setattr swapon swapoff setns bind connect mq_open mq_unlink");
  return kCalls;
}

const Names& landlock_decides() {
  static const Names kCalls = words(
      "open openat creat mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat execve execveat");
  return kCalls;
}

// What profiles let through beside these: it names nothing outside the process and what it has open. Whoever adds a
// call to a profile comes by here and says which it is.
const Names& pathless_calls() {
  static const Names kCalls = words(
      "alarm arch_prctl brk capget clock_getres clock_gettime clock_nanosleep clone close close_range copy_file_range "
      "dup "
      "dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 exit "
      "exit_group fadvise64 fallocate fcntl fdatasync flock fork fsync ftruncate futex get_robust_list getcpu "
      "getdents64 "
      "getegid geteuid getgid getgroups getitimer getpeername getpgid getpgrp getpid getppid getpriority getrandom "
      "getresgid getresuid getrlimit getrusage getsid getsockname getsockopt gettid gettimeofday getuid ioctl kill "
      "lseek "
      "madvise membarrier mincore mmap mprotect mremap msync munmap nanosleep pause pidfd_open pipe pipe2 pkey_alloc "
      "pkey_free pkey_mprotect poll ppoll prctl pread64 preadv preadv2 prlimit64 pselect6 pwrite64 pwritev pwritev2 "
      "read "
      "readahead readv recvfrom recvmsg restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo "
      "rt_sigreturn rt_sigsuspend rt_sigtimedwait sched_get_priority_max sched_get_priority_min sched_getaffinity "
      "sched_getparam sched_getscheduler sched_yield seccomp select sendfile sendmsg sendto set_robust_list "
      "set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid setregid setresgid setresuid setreuid "
      "setrlimit setsid setsockopt setuid shutdown sigaltstack signalfd4 socket socketpair splice sync_file_range "
      "sysinfo "
      "tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create "
      "timerfd_gettime timerfd_settime times tkill umask uname vfork wait4 waitid write writev");
  return kCalls;
}

// Those that libseccomp 2.5 has no name for.
int number_of(const std::string& name) {
  static const std::map<std::string, int> kLater = {
      {"cachestat", 451},      {"fchmodat2", 452},    {"statmount", 457},   {"listmount", 458},
      {"setxattrat", 463},     {"getxattrat", 464},   {"listxattrat", 465}, {"removexattrat", 466},
      {"open_tree_attr", 467}, {"file_getattr", 468}, {"file_setattr", 469}};
  const auto later = kLater.find(name);
  return later != kLater.end() ? later->second : ::seccomp_syscall_resolve_name(name.c_str());
}

// call → answer, of the guide's table: | `call` `call` | answer | … |
std::map<std::string, std::string> guide_rows() {
  std::ifstream file(HEDDLE_POLICY_GUIDE);
  std::map<std::string, std::string> rows;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("## ", 0) == 0) inside = line == "## What Landlock does not decide about";
    if (!inside || line.rfind("| `", 0) != 0) continue;
    const std::size_t first = line.find(" | ");
    const std::string answer = line.substr(first + 3, line.find(" | ", first + 3) - first - 3);
    std::string calls = line.substr(2, first - 2);
    for (char& letter : calls) {
      if (letter == '`') letter = ' ';
    }
    for (const std::string& call : words(calls.c_str())) {
      EXPECT_TRUE(rows.emplace(call, answer).second) << call << " stands twice in the guide";
    }
  }
  return rows;
}

std::vector<SyscallTable> program_tables() {
  std::vector<SyscallTable> tables;
  for (const Subprocesses subprocesses : {Subprocesses::none, Subprocesses::allowed}) {
    for (const Locks locks : {Locks::none, Locks::allowed}) {
      for (const Births births : {Births::free, Births::told}) {
        tables.push_back(program_syscalls({subprocesses, locks, births}));
      }
    }
  }
  return tables;
}

Names let_through(const SyscallTable& table) {
  Names names;
  for (const SyscallRule& rule : table) {
    const bool refused = rule.answer == Answer::denied || rule.answer == Answer::eperm ||
                         rule.answer == Answer::enosys || rule.answer == Answer::enotsup;
    if (!refused) names.insert(rule.name);
  }
  return names;
}

std::set<std::uint32_t> answers(const std::string& word, Hearing hearing) {
  if (word == "let through") return {kAllow};
  if (word == "`ENOSYS`") return {SECCOMP_RET_ERRNO | ENOSYS};
  if (word == "`EOPNOTSUPP`") return {SECCOMP_RET_ERRNO | EOPNOTSUPP};
  if (word == "refused") return hearing == Hearing::nobody ? std::set{kEperm} : std::set{kEperm, kNotify};
  return {};
}

// JAIL-19
TEST(PathCalls, EachIsLandlocksOrStandsInTheGuide) {
  const std::map<std::string, std::string> guide = guide_rows();
  for (const std::string& call : path_calls()) {
    const bool landlock = landlock_decides().count(call) != 0 || call == "openat2";  // which is hidden (ENOSYS)
    EXPECT_NE(landlock, guide.count(call) != 0) << call << " has no line in the table of docs/guide/policy.md, or two";
    EXPECT_GE(number_of(call), 0) << call;
  }
  for (const auto& [call, answer] : guide) EXPECT_EQ(path_calls().count(call), 1U) << call << " is no such call";
}

// JAIL-19
TEST(PathCalls, TheFilterAnswersWhatTheGuideSays) {
#ifndef __x86_64__
  GTEST_SKIP() << "the numbers of later calls are those of x86-64";
#endif
  for (const SyscallTable& table : program_tables()) {
    for (const Hearing hearing : {Hearing::denials, Hearing::observes, Hearing::nobody}) {
      const auto built = build_filter(table, hearing);
      ASSERT_TRUE(built.ok()) << built.error().message();
      const BpfProgram program(built.value());
      for (const auto& [call, word] : guide_rows()) {
        const std::set<std::uint32_t> wanted = answers(word, hearing);
        EXPECT_FALSE(wanted.empty()) << call << ": no such answer: " << word;
        for (const std::uint64_t argument : {std::uint64_t{0}, ~std::uint64_t{0}}) {
          seccomp_data data{};
          data.nr = number_of(call);
          data.arch = AUDIT_ARCH_X86_64;
          for (auto& one : data.args) one = argument;
          EXPECT_EQ(wanted.count(program.answer(data)), 1U) << call << ": " << word;
        }
      }
    }
  }
}

// JAIL-19: so that no call slips in undecided.
TEST(PathCalls, WhatIsLetThroughIsKnownToBeOneOrNone) {
  const std::map<std::string, std::string> guide = guide_rows();
  for (const SyscallTable& table : program_tables()) {
    for (const std::string& call : let_through(table)) {
      const auto row = guide.find(call);
      const bool decided = landlock_decides().count(call) != 0 || (row != guide.end() && row->second == "let through");
      EXPECT_NE(decided, pathless_calls().count(call) != 0) << call << ": say what it tells of what is not granted";
    }
  }
}

// JAIL-19: our own guests reach nothing by a path; a plugin host connects, until it has narrowed itself.
TEST(PathCalls, HeddlesOwnGuestsHaveNone) {
  for (const SyscallTable& table : {syscall_table(Profile::script), tool_syscalls(), plugin_syscalls()}) {
    for (const std::string& call : let_through(table)) {
      if (table.profile == Profile::plugin && call == "connect") continue;
      EXPECT_EQ(path_calls().count(call), 0U) << profile_name(table.profile) << " " << call;
      EXPECT_EQ(pathless_calls().count(call), 1U) << profile_name(table.profile) << " " << call;
    }
  }
  Names taken;
  for (const SyscallRule& rule : plugin_taken_syscalls()) taken.insert(rule.name);
  EXPECT_EQ(taken.count("connect"), 1U);
}

// JAIL-20: by command; F_SETLEASE, F_NOTIFY, F_SETOWN, F_SETSIG, F_SETPIPE_SZ and what nobody knows yet are refused.
TEST(PathCalls, FcntlIsAListOfCommands) {
  constexpr int kGetPipeSize = 1032;
  const std::set<int> harmless = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, kGetPipeSize};
  const std::set<int> locks = {F_GETLK, F_SETLK, F_SETLKW, 36, 37, 38};  // F_OFD_GETLK, _SETLK, _SETLKW
  for (const Locks allowed : {Locks::none, Locks::allowed}) {
    for (const Hearing hearing : {Hearing::denials, Hearing::nobody}) {
      const BpfProgram program(build_filter(program_syscalls({Subprocesses::none, allowed}), hearing).value());
      const std::uint32_t refused = hearing == Hearing::nobody ? kEperm : kNotify;
      seccomp_data data{};
      data.arch = AUDIT_ARCH_X86_64;
      for (int command = -1; command < 4096; ++command) {
        data.nr = SYS_fcntl;
        const bool let = harmless.count(command) != 0 || (allowed == Locks::allowed && locks.count(command) != 0);
        // The kernel takes 32 bits of it.
        for (const std::uint64_t upper : {std::uint64_t{0}, kUpper}) {
          data.args[1] = static_cast<std::uint32_t>(command) | upper;
          ASSERT_EQ(program.answer(data), let ? kAllow : refused) << command;
        }
      }
      data.nr = SYS_flock;
      EXPECT_EQ(program.answer(data), allowed == Locks::allowed ? kAllow : refused);
    }
  }
}

}  // namespace
}  // namespace heddle::jail

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <array>
#include <vector>

#include "conditions.h"
#include "heddle/jail/launch/notify.h"
#include "heddle/jail/syscalls.h"
#include "heddle/jail/unsafe/program_policy.h"

namespace heddle::jail {
namespace {

constexpr Condition without(unsigned argument, std::uint64_t flags) { return {argument, flags, 0}; }

// Landlock decides which files, by what a descriptor may do with them. Two kinds of opening get past it: before ABI 3
// it takes a file that is opened for reading and truncated by that for one that is read; and one that is opened with
// access mode 3 is neither read nor written, so that it asks for no right at all, and yet is open: for its attributes
// and for locks.
constexpr Condition opened(unsigned argument, int mode) {
  return {argument, O_ACCMODE, static_cast<std::uint64_t>(mode)};
}
constexpr Condition opened_whole(unsigned argument) { return {argument, O_TRUNC | O_ACCMODE, O_RDONLY}; }
constexpr Condition opened_empty(unsigned argument) { return {argument, O_TRUNC | O_ACCMODE, O_TRUNC | O_RDONLY}; }

constexpr const char* kFiles = "files: Landlock decides which";
constexpr const char* kTruncates = "opened for reading and truncated: before ABI 3 Landlock takes it for reading";
constexpr const char* kNeither = "opened for neither reading nor writing, which Landlock lets anybody do";
constexpr const char* kOpenFiles = "open files";
constexpr const char* kCommands =
    "descriptors; no lease, no watch, no signal that a file sends, no larger pipe, and locks only for a program that "
    "is "
    "granted a file to write";
constexpr const char* kLocks = "locks: it has files of its own to lock";
constexpr const char* kNoLocks = "a lock on what it may only read would hold others up: locks need a grant of write";
constexpr const char* kNames =
    "names, kinds, sizes and times of files and targets of links, which Landlock does not hide";
constexpr const char* kAttributes = "extended attributes by path, about which Landlock does not decide";
constexpr const char* kNoWatch = "Landlock does not decide what is watched: programs look again and again instead";
constexpr const char* kMemory = "memory, executable too: loaders and JIT compilers need it";
constexpr const char* kThreads = "threads and processes, in no namespace but this";
constexpr const char* kWait = "waits for events";
constexpr const char* kTime = "clocks and timers";
constexpr const char* kSignals = "signals, within its pid namespace";
constexpr const char* kIdentity = "asks who and where it is";
constexpr const char* kMetadata =
    "Landlock does not decide about owners, modes, times and attributes: nobody changes them";

constexpr const char* kIds =
    "no ids but those that it has: asked for those, the supervisor answers that it is done, and it is no denial";
constexpr const char* kNoSocket = "a program makes no socket of any family, and reaches none by name";
constexpr const char* kNoLinks = "nobody makes symbolic links, pipes, sockets or devices";
constexpr const char* kOneExec = "a program starts no other without allow_exec";

constexpr SyscallRule kCommon[] = {
    {"open", Answer::observe, kFiles, {opened_whole(1)}},
    {"open", Answer::observe, kFiles, {opened(1, O_WRONLY)}},
    {"open", Answer::observe, kFiles, {opened(1, O_RDWR)}},
    {"openat", Answer::observe, kFiles, {opened_whole(2)}},
    {"openat", Answer::observe, kFiles, {opened(2, O_WRONLY)}},
    {"openat", Answer::observe, kFiles, {opened(2, O_RDWR)}},
    // The other ways, refused in so many words: what is observed and has no row would be let go on.
    {"open", Answer::eperm, kTruncates, {opened_empty(1)}},
    {"open", Answer::eperm, kNeither, {opened(1, O_ACCMODE)}},
    {"openat", Answer::eperm, kTruncates, {opened_empty(2)}},
    {"openat", Answer::eperm, kNeither, {opened(2, O_ACCMODE)}},
    {"openat2", Answer::enosys, "its flags are out of a filter's reach", {}},
    {"creat", Answer::observe, kFiles, {}},
    {"mkdir", Answer::observe, kFiles, {}},
    {"mkdirat", Answer::observe, kFiles, {}},
    {"rmdir", Answer::observe, kFiles, {}},
    {"unlink", Answer::observe, kFiles, {}},
    {"unlinkat", Answer::observe, kFiles, {}},
    {"rename", Answer::observe, kFiles, {}},
    {"renameat", Answer::observe, kFiles, {}},
    {"renameat2", Answer::observe, kFiles, {}},
    {"link", Answer::observe, kFiles, {}},
    {"linkat", Answer::observe, kFiles, {}},
    {"read", Answer::allow, kOpenFiles, {}},
    {"readv", Answer::allow, kOpenFiles, {}},
    {"pread64", Answer::allow, kOpenFiles, {}},
    {"preadv", Answer::allow, kOpenFiles, {}},
    {"preadv2", Answer::allow, kOpenFiles, {}},
    {"write", Answer::allow, kOpenFiles, {}},
    {"writev", Answer::allow, kOpenFiles, {}},
    {"pwrite64", Answer::allow, kOpenFiles, {}},
    {"pwritev", Answer::allow, kOpenFiles, {}},
    {"pwritev2", Answer::allow, kOpenFiles, {}},
    {"lseek", Answer::allow, kOpenFiles, {}},
    {"getdents64", Answer::allow, kOpenFiles, {}},
    {"close", Answer::allow, kOpenFiles, {}},
    {"close_range", Answer::allow, kOpenFiles, {}},
    {"dup", Answer::allow, kOpenFiles, {}},
    {"dup2", Answer::allow, kOpenFiles, {}},
    {"dup3", Answer::allow, kOpenFiles, {}},
    {"fcntl", Answer::allow, kCommands, {is(1, F_DUPFD)}},
    {"fcntl", Answer::allow, kCommands, {is(1, F_DUPFD_CLOEXEC)}},
    {"fcntl", Answer::allow, kCommands, {is(1, F_GETFD)}},
    {"fcntl", Answer::allow, kCommands, {is(1, F_SETFD)}},
    {"fcntl", Answer::allow, kCommands, {is(1, F_GETFL)}},
    {"fcntl", Answer::allow, kCommands, {is(1, F_SETFL)}},
    {"fcntl", Answer::allow, kCommands, {is(1, F_GETPIPE_SZ)}},
    {"ftruncate", Answer::allow, kOpenFiles, {}},
    {"fallocate", Answer::allow, kOpenFiles, {}},
    {"fsync", Answer::allow, kOpenFiles, {}},
    {"fdatasync", Answer::allow, kOpenFiles, {}},
    {"sync_file_range", Answer::allow, kOpenFiles, {}},
    {"fadvise64", Answer::allow, kOpenFiles, {}},
    {"readahead", Answer::allow, kOpenFiles, {}},
    {"sendfile", Answer::allow, kOpenFiles, {}},
    {"copy_file_range", Answer::allow, kOpenFiles, {}},
    {"splice", Answer::allow, kOpenFiles, {}},
    {"tee", Answer::allow, kOpenFiles, {}},
    {"pipe", Answer::allow, kOpenFiles, {}},
    {"pipe2", Answer::allow, kOpenFiles, {}},
    {"umask", Answer::allow, kOpenFiles, {}},
    {"ioctl", Answer::allow, "is it a terminal", {is(1, TCGETS)}},
    {"ioctl", Answer::allow, "how wide is it", {is(1, TIOCGWINSZ)}},
    {"ioctl", Answer::allow, kOpenFiles, {is(1, FIONREAD)}},
    {"ioctl", Answer::allow, kOpenFiles, {is(1, FIONBIO)}},
    {"ioctl", Answer::allow, kOpenFiles, {is(1, FIOCLEX)}},
    {"ioctl", Answer::allow, kOpenFiles, {is(1, FIONCLEX)}},
    {"stat", Answer::allow, kNames, {}},
    {"lstat", Answer::allow, kNames, {}},
    {"fstat", Answer::allow, kNames, {}},
    {"newfstatat", Answer::allow, kNames, {}},
    {"statx", Answer::allow, kNames, {}},
    {"statfs", Answer::allow, kNames, {}},
    {"fstatfs", Answer::allow, kNames, {}},
    {"access", Answer::allow, kNames, {}},
    {"faccessat", Answer::allow, kNames, {}},
    {"faccessat2", Answer::allow, kNames, {}},
    {"readlink", Answer::allow, kNames, {}},
    {"readlinkat", Answer::allow, kNames, {}},
    {"getcwd", Answer::allow, kNames, {}},
    {"chdir", Answer::allow, kNames, {}},
    {"fchdir", Answer::allow, kNames, {}},
    {"getxattr", Answer::enotsup, kAttributes, {}},
    {"lgetxattr", Answer::enotsup, kAttributes, {}},
    {"fgetxattr", Answer::allow, kOpenFiles, {}},
    {"listxattr", Answer::enotsup, kAttributes, {}},
    {"llistxattr", Answer::enotsup, kAttributes, {}},
    {"flistxattr", Answer::allow, kOpenFiles, {}},
    {"mmap", Answer::allow, kMemory, {without(3, MAP_HUGETLB)}},
    {"mprotect", Answer::allow, kMemory, {}},
    {"munmap", Answer::allow, kMemory, {}},
    {"mremap", Answer::allow, kMemory, {}},
    {"madvise", Answer::allow, kMemory, {}},
    {"brk", Answer::allow, kMemory, {}},
    {"mincore", Answer::allow, kMemory, {}},
    {"msync", Answer::allow, kMemory, {}},
    {"pkey_alloc", Answer::allow, kMemory, {}},
    {"pkey_free", Answer::allow, kMemory, {}},
    {"pkey_mprotect", Answer::allow, kMemory, {}},
    {"membarrier", Answer::allow, kMemory, {}},
    {"clone3", Answer::enosys, "JAIL-6: its arguments are out of a filter's reach", {}},
    {"exit", Answer::allow, kThreads, {}},
    {"exit_group", Answer::allow, kThreads, {}},
    {"wait4", Answer::allow, kThreads, {}},
    {"waitid", Answer::allow, kThreads, {}},
    {"pidfd_open", Answer::allow, kThreads, {}},
    {"futex", Answer::allow, kThreads, {}},
    {"set_robust_list", Answer::allow, kThreads, {}},
    {"get_robust_list", Answer::allow, kThreads, {}},
    {"set_tid_address", Answer::allow, kThreads, {}},
    {"rseq", Answer::allow, kThreads, {}},
    {"arch_prctl", Answer::allow, kThreads, {}},
    {"sched_yield", Answer::allow, kThreads, {}},
    {"sched_getaffinity", Answer::allow, kThreads, {}},
    {"sched_getscheduler", Answer::allow, kThreads, {}},
    {"sched_getparam", Answer::allow, kThreads, {}},
    {"sched_get_priority_min", Answer::allow, kThreads, {}},
    {"sched_get_priority_max", Answer::allow, kThreads, {}},
    {"getcpu", Answer::allow, kThreads, {}},
    {"setsid", Answer::allow, kThreads, {}},
    {"setpgid", Answer::allow, kThreads, {}},
    {"prctl", Answer::allow, kThreads, {is(0, PR_SET_NAME)}},
    {"prctl", Answer::allow, kThreads, {is(0, PR_GET_NAME)}},
    {"prctl", Answer::allow, kThreads, {is(0, PR_SET_PDEATHSIG)}},
    {"prctl", Answer::allow, kThreads, {is(0, PR_GET_DUMPABLE)}},
    {"prctl", Answer::allow, kThreads, {is(0, PR_CAPBSET_READ)}},
    {"poll", Answer::allow, kWait, {}},
    {"ppoll", Answer::allow, kWait, {}},
    {"select", Answer::allow, kWait, {}},
    {"pselect6", Answer::allow, kWait, {}},
    {"epoll_create", Answer::allow, kWait, {}},
    {"epoll_create1", Answer::allow, kWait, {}},
    {"epoll_ctl", Answer::allow, kWait, {}},
    {"epoll_wait", Answer::allow, kWait, {}},
    {"epoll_pwait", Answer::allow, kWait, {}},
    {"epoll_pwait2", Answer::allow, kWait, {}},
    {"eventfd", Answer::allow, kWait, {}},
    {"eventfd2", Answer::allow, kWait, {}},
    {"inotify_init", Answer::enosys, kNoWatch, {}},
    {"inotify_init1", Answer::enosys, kNoWatch, {}},
    {"inotify_add_watch", Answer::enosys, kNoWatch, {}},
    {"inotify_rm_watch", Answer::enosys, kNoWatch, {}},
    {"clock_gettime", Answer::allow, kTime, {}},
    {"clock_getres", Answer::allow, kTime, {}},
    {"clock_nanosleep", Answer::allow, kTime, {}},
    {"nanosleep", Answer::allow, kTime, {}},
    {"gettimeofday", Answer::allow, kTime, {}},
    {"time", Answer::allow, kTime, {}},
    {"times", Answer::allow, kTime, {}},
    {"alarm", Answer::allow, kTime, {}},
    {"pause", Answer::allow, kTime, {}},
    {"getitimer", Answer::allow, kTime, {}},
    {"setitimer", Answer::allow, kTime, {}},
    {"timer_create", Answer::allow, kTime, {}},
    {"timer_settime", Answer::allow, kTime, {}},
    {"timer_gettime", Answer::allow, kTime, {}},
    {"timer_delete", Answer::allow, kTime, {}},
    {"timerfd_create", Answer::allow, kTime, {}},
    {"timerfd_settime", Answer::allow, kTime, {}},
    {"timerfd_gettime", Answer::allow, kTime, {}},
    {"rt_sigaction", Answer::allow, kSignals, {}},
    {"rt_sigreturn", Answer::allow, kSignals, {}},
    {"rt_sigprocmask", Answer::allow, kSignals, {}},
    {"rt_sigpending", Answer::allow, kSignals, {}},
    {"rt_sigsuspend", Answer::allow, kSignals, {}},
    {"rt_sigtimedwait", Answer::allow, kSignals, {}},
    {"rt_sigqueueinfo", Answer::allow, kSignals, {}},
    {"sigaltstack", Answer::allow, kSignals, {}},
    {"signalfd4", Answer::allow, kSignals, {}},
    {"restart_syscall", Answer::allow, kSignals, {}},
    {"kill", Answer::allow, kSignals, {}},
    {"tkill", Answer::allow, kSignals, {}},
    {"tgkill", Answer::allow, kSignals, {}},
    {"getpid", Answer::allow, kIdentity, {}},
    {"getppid", Answer::allow, kIdentity, {}},
    {"gettid", Answer::allow, kIdentity, {}},
    {"getpgrp", Answer::allow, kIdentity, {}},
    {"getpgid", Answer::allow, kIdentity, {}},
    {"getsid", Answer::allow, kIdentity, {}},
    {"getuid", Answer::allow, kIdentity, {}},
    {"geteuid", Answer::allow, kIdentity, {}},
    {"getgid", Answer::allow, kIdentity, {}},
    {"getegid", Answer::allow, kIdentity, {}},
    {"getresuid", Answer::allow, kIdentity, {}},
    {"getresgid", Answer::allow, kIdentity, {}},
    {"getgroups", Answer::allow, kIdentity, {}},
    {"getrlimit", Answer::allow, kIdentity, {}},
    {"setrlimit", Answer::allow, "lower only: the hard limit is the policy's", {}},
    {"prlimit64", Answer::allow, "its own; lower only", {is(0, 0)}},
    {"getrusage", Answer::allow, kIdentity, {}},
    {"getpriority", Answer::allow, kIdentity, {}},
    {"uname", Answer::allow, kIdentity, {}},
    {"sysinfo", Answer::allow, kIdentity, {}},
    {"capget", Answer::allow, kIdentity, {}},
    {"getrandom", Answer::allow, "random bytes", {}},
    {"socketpair",
     Answer::allow,
     "a pair of its own; a stream cannot be sent elsewhere",
     {is(0, AF_UNIX), {1, 0xF, SOCK_STREAM}}},
    {"sendto", Answer::allow, "its own pairs", {{4, ~std::uint64_t{0}, 0}}},
    {"sendmsg", Answer::allow, "its own pairs, which are streams: addresses are refused there", {}},
    {"recvfrom", Answer::allow, "its own pairs", {}},
    {"recvmsg", Answer::allow, "its own pairs", {}},
    {"shutdown", Answer::allow, "its own pairs", {}},
    {"getsockopt", Answer::allow, "its own pairs", {}},
    {"setsockopt", Answer::allow, "its own pairs: buffers and options of SOL_SOCKET", {is(1, SOL_SOCKET)}},
    {"getsockname", Answer::allow, "its own pairs", {}},
    {"getpeername", Answer::allow, "its own pairs", {}},
    {"socket", Answer::denied, kNoSocket, {}},
    {"io_uring_setup", Answer::enosys, "JAIL-5: a ring makes sockets and opens files past the filter", {}},
    {"memfd_create", Answer::denied, "Landlock does not refuse to execute such a file", {}},
    {"setuid", Answer::denied, kIds, {}},
    {"setgid", Answer::denied, kIds, {}},
    {"setreuid", Answer::denied, kIds, {}},
    {"setregid", Answer::denied, kIds, {}},
    {"setresuid", Answer::denied, kIds, {}},
    {"setresgid", Answer::denied, kIds, {}},
    {"setfsuid", Answer::denied, kIds, {}},
    {"setfsgid", Answer::denied, kIds, {}},
    {"truncate", Answer::denied, "by path; Landlock decides about it from ABI 3 only", {}},
    {"chmod", Answer::denied, kMetadata, {}},
    {"fchmod", Answer::denied, kMetadata, {}},
    {"fchmodat", Answer::denied, kMetadata, {}},
    {"chown", Answer::denied, kMetadata, {}},
    {"utimensat", Answer::denied, kMetadata, {}},
    {"setxattr", Answer::denied, kMetadata, {}},
    {"fchown", Answer::denied, kMetadata, {}},
    {"lchown", Answer::denied, kMetadata, {}},
    {"fchownat", Answer::denied, kMetadata, {}},
    {"utime", Answer::denied, kMetadata, {}},
    {"utimes", Answer::denied, kMetadata, {}},
    {"futimesat", Answer::denied, kMetadata, {}},
    {"lsetxattr", Answer::denied, kMetadata, {}},
    {"fsetxattr", Answer::denied, kMetadata, {}},
    {"symlink", Answer::denied, kNoLinks, {}},
    {"symlinkat", Answer::denied, kNoLinks, {}},
    {"mknod", Answer::denied, kNoLinks, {}},
    {"mknodat", Answer::denied, kNoLinks, {}},
    {"connect", Answer::denied, kNoSocket, {}},
    {"bind", Answer::denied, kNoSocket, {}},
    {"listen", Answer::denied, kNoSocket, {}},
};

// Where nobody can be told: the path of execveat may be absolute, and a filter does not see it, so what can be started
// is Landlock's decision, any number of times.
constexpr SyscallRule kOneProgram[] = {
    {"execveat",
     Answer::first,
     "the program, by the stub; Landlock grants execute on it and its loader alone",
     {is(4, AT_EMPTY_PATH)}},
    {"execve", Answer::denied, kOneExec, {}},
};
constexpr SyscallRule kPrograms[] = {
    {"execve", Answer::observe, "allow_exec: Landlock decides which programs", {}},
    {"execveat", Answer::observe, "allow_exec: Landlock decides which programs", {}},
};

// Whose is a lock is Linux's to say, and a filter sees neither a descriptor's file nor the kind of a record lock.
constexpr SyscallRule kNoFileToLock[] = {{"flock", Answer::denied, kNoLocks, {}}};
constexpr SyscallRule kFilesToLock[] = {
    {"flock", Answer::allow, kLocks, {}},
    {"fcntl", Answer::allow, kLocks, {is(1, F_GETLK)}},
    {"fcntl", Answer::allow, kLocks, {is(1, F_SETLK)}},
    {"fcntl", Answer::allow, kLocks, {is(1, F_SETLKW)}},
    {"fcntl", Answer::allow, kLocks, {is(1, F_OFD_GETLK)}},
    {"fcntl", Answer::allow, kLocks, {is(1, F_OFD_SETLK)}},
    {"fcntl", Answer::allow, kLocks, {is(1, F_OFD_SETLKW)}},
};

constexpr SyscallRule kBorn[] = {
    {"clone", Answer::allow, kThreads, {without(0, kBirthFlagsRefused)}},
    {"fork", Answer::allow, kThreads, {}},
    {"vfork", Answer::allow, kThreads, {}},
};
constexpr SyscallRule kBornAndTold[] = {
    {"clone", Answer::allow, kThreads, {{0, kBirthFlagsRefused | CLONE_THREAD, CLONE_THREAD}}},
    {"clone", Answer::birth, kThreads, {without(0, kBirthFlagsRefused | CLONE_THREAD)}},
    {"fork", Answer::birth, kThreads, {}},
    {"vfork", Answer::birth, kThreads, {}},
};

using Rules = std::vector<SyscallRule>;

template <std::size_t Count>
void append(Rules& rules, const SyscallRule (&more)[Count]) {
  rules.insert(rules.end(), std::begin(more), std::end(more));
}

Rules rules_of(const ProgramCalls& calls) {
  Rules rules(std::begin(kCommon), std::end(kCommon));
  calls.subprocesses == Subprocesses::none ? append(rules, kOneProgram) : append(rules, kPrograms);
  calls.locks == Locks::none ? append(rules, kNoFileToLock) : append(rules, kFilesToLock);
  calls.births == Births::free ? append(rules, kBorn) : append(rules, kBornAndTold);
  return rules;
}

// A table points to its rows, which live as long as this process.
const std::array<Rules, 8>& all_rules() {
  static const std::array<Rules, 8> kAll = [] {
    std::array<Rules, 8> all;
    for (std::size_t at = 0; at < all.size(); ++at) {
      all.at(at) =
          rules_of({(at & 4U) != 0 ? Subprocesses::allowed : Subprocesses::none,
                    (at & 2U) != 0 ? Locks::allowed : Locks::none, (at & 1U) != 0 ? Births::told : Births::free});
    }
    return all;
  }();
  return kAll;
}

}  // namespace

SyscallTable program_syscalls(const ProgramCalls& calls) {
  const std::size_t at = (calls.subprocesses == Subprocesses::allowed ? 4U : 0U) +
                         (calls.locks == Locks::allowed ? 2U : 0U) + (calls.births == Births::told ? 1U : 0U);
  const Rules& rules = all_rules().at(at);
  return {rules.data(), rules.size(), Unheard::eperm, Profile::program};
}

}  // namespace heddle::jail

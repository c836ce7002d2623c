#include "heddle/jail/syscalls.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include "heddle/core/check.h"

namespace heddle::jail {
namespace {

constexpr std::uint64_t kLow32 = 0xFFFFFFFF;

// Protection and mapping bits lie in the lower half, whatever is above.
constexpr Condition not_executable(unsigned argument) { return {argument, PROT_EXEC, 0}; }
// Memory of its own: no file, and no huge pages that are the machine's.
constexpr Condition anonymous(unsigned argument) { return {argument, MAP_ANONYMOUS | MAP_HUGETLB, MAP_ANONYMOUS}; }
// No MSG_OOB, MSG_PEEK, MSG_ERRQUEUE, MSG_ZEROCOPY, MSG_FASTOPEN: corners of the kernel that no guest needs.
constexpr Condition flags_within(unsigned argument, int flags) {
  return {argument, kLow32 & ~static_cast<std::uint64_t>(flags), 0};
}
constexpr Condition null_pointer(unsigned argument) { return {argument, ~std::uint64_t{0}, 0}; }

constexpr int kSendFlags = MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE;
constexpr int kReceiveFlags = MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_WAITALL;

constexpr const char* kSocket = "the inherited stream socket";
constexpr const char* kMemory = "memory, never executable";
constexpr const char* kTime = "clocks";
constexpr const char* kSignals = "its own signal handling";
constexpr const char* kEnd = "ends, or aborts, itself";
constexpr const char* kFileProbe = "the C library looks for time zones, locales and tunables; there are none";
constexpr const char* kNoSocket = "a script makes no socket of any family";  // JAIL-5
constexpr const char* kMachineProbe = "asks about the machine or the process; need not know";

constexpr SyscallRule kScript[] = {
    {"read", Answer::allow, kSocket, {}},
    {"write", Answer::allow, kSocket, {}},
    {"writev", Answer::allow, "a message of the C library's to /dev/null, before it aborts", {}},
    {"sendto", Answer::allow, kSocket, {flags_within(3, kSendFlags), null_pointer(4)}},
    {"sendmsg", Answer::allow, kSocket, {flags_within(2, kSendFlags)}},
    {"recvfrom", Answer::allow, kSocket, {flags_within(3, kReceiveFlags), null_pointer(4)}},
    {"recvmsg", Answer::allow, kSocket, {flags_within(2, kReceiveFlags)}},
    {"poll", Answer::allow, kSocket, {}},
    {"ppoll", Answer::allow, kSocket, {}},
    {"close", Answer::allow, kSocket, {}},
    {"mmap", Answer::allow, kMemory, {not_executable(2), anonymous(3)}},
    {"mprotect", Answer::allow, kMemory, {not_executable(2)}},
    {"munmap", Answer::allow, kMemory, {}},
    {"mremap", Answer::allow, kMemory, {}},
    {"madvise", Answer::allow, kMemory, {}},
    {"brk", Answer::allow, kMemory, {}},
    {"futex", Answer::allow, "locks of the C library", {}},
    {"clock_gettime", Answer::allow, kTime, {}},
    {"clock_getres", Answer::allow, kTime, {}},
    {"gettimeofday", Answer::allow, kTime, {}},
    {"time", Answer::allow, kTime, {}},
    {"getrandom", Answer::allow, "random bytes", {}},
    {"rt_sigaction", Answer::allow, kSignals, {}},
    {"rt_sigreturn", Answer::allow, kSignals, {}},
    {"rt_sigprocmask", Answer::allow, kSignals, {}},
    {"sigaltstack", Answer::allow, kSignals, {}},
    {"restart_syscall", Answer::allow, kSignals, {}},
    {"getpid", Answer::allow, kEnd, {}},
    {"gettid", Answer::allow, kEnd, {}},
    {"exit", Answer::allow, kEnd, {}},
    {"exit_group", Answer::allow, kEnd, {}},

    {"tgkill", Answer::eperm, "abort() tries it, and then traps; a signal could hit others", {}},
    {"open", Answer::denied, "a script has no files", {}},
    {"openat", Answer::denied, "a script has no files", {}},
    {"stat", Answer::eperm, kFileProbe, {}},
    {"lstat", Answer::eperm, kFileProbe, {}},
    {"fstat", Answer::eperm, kFileProbe, {}},
    {"newfstatat", Answer::eperm, kFileProbe, {}},
    {"statx", Answer::eperm, kFileProbe, {}},
    {"access", Answer::eperm, kFileProbe, {}},
    {"faccessat", Answer::eperm, kFileProbe, {}},
    {"faccessat2", Answer::eperm, kFileProbe, {}},
    {"readlink", Answer::eperm, kFileProbe, {}},
    {"readlinkat", Answer::eperm, kFileProbe, {}},
    {"getcwd", Answer::eperm, kFileProbe, {}},
    {"lseek", Answer::eperm, kFileProbe, {}},
    {"ioctl", Answer::eperm, "the C library asks whether a stream is a terminal", {}},
    {"fcntl", Answer::eperm, "descriptors were set up before the filter", {}},
    {"prlimit64", Answer::eperm, kMachineProbe, {}},
    {"getrlimit", Answer::eperm, kMachineProbe, {}},
    {"getrusage", Answer::eperm, kMachineProbe, {}},
    {"uname", Answer::eperm, kMachineProbe, {}},
    {"sysinfo", Answer::eperm, kMachineProbe, {}},
    {"sched_getaffinity", Answer::eperm, kMachineProbe, {}},
    {"sched_yield", Answer::eperm, kMachineProbe, {}},
    {"prctl", Answer::eperm, "the C library names its memory", {}},
    {"socket", Answer::denied, kNoSocket, {}},
    {"socketpair", Answer::denied, kNoSocket, {}},
    {"clone3", Answer::enosys, "JAIL-6: its arguments are out of a filter's reach", {}},
};

}  // namespace

const char* profile_name(Profile profile) noexcept {
  switch (profile) {
    case Profile::script:
      return "script";
    case Profile::tool:
      return "tool";
    case Profile::plugin:
      return "plugin";
    case Profile::program:
      return "program";
  }
  return "unknown";
}

SyscallTable syscall_table(Profile profile) noexcept {
  HEDDLE_CHECK(profile == Profile::script);
  return {kScript, sizeof kScript / sizeof kScript[0], Unheard::kill, Profile::script};
}

}  // namespace heddle::jail

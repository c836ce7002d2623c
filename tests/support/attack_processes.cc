#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "attacker.h"

namespace heddle::attacker {
namespace {

char self_path[] = "/proc/self/exe";
char word_executed[] = "executed";
char* executed[] = {self_path, word_executed, nullptr};
char* nothing[] = {nullptr};

// A child says nothing and ends; the parent reports.
int as_parent(long pid) {
  if (pid == 0) ::_exit(0);
  return outcome(pid);
}

int execute(const std::string&) { return outcome(::syscall(SYS_execve, self_path, executed, nothing)); }

// Landlock's EXECUTE does not cover memory files: only the filter stands here.
int execute_memory(const std::string&) {
  const long memory = ::syscall(SYS_memfd_create, "x", 0);
  if (memory < 0) return errno;
  const int from = ::open(self_path, O_RDONLY | O_CLOEXEC);
  if (from < 0) return errno;
  char buffer[64U << 10];
  for (ssize_t got = 0; (got = ::read(from, buffer, sizeof buffer)) > 0;) {
    if (::write(static_cast<int>(memory), buffer, static_cast<std::size_t>(got)) != got) return EIO;
  }
  return outcome(::syscall(SYS_execveat, memory, "", executed, nothing, AT_EMPTY_PATH));
}
// As the stub starts its program. A script has no file to open: the descriptor that it inherited will do.
int execute_again(const std::string&) {
  const long self = ::syscall(SYS_openat, AT_FDCWD, self_path, O_RDONLY | O_CLOEXEC);
  return outcome(::syscall(SYS_execveat, self < 0 ? 3 : self, "", executed, nothing, AT_EMPTY_PATH));
}
int make_memory_file(const std::string&) { return outcome(::syscall(SYS_memfd_create, "x", 0)); }

int do_fork(const std::string&) { return as_parent(::syscall(SYS_fork)); }
int do_vfork(const std::string&) {
  // vfork(2) as a raw call would return twice on one stack: the same flags through clone, with nothing shared.
  return as_parent(::syscall(SYS_clone, CLONE_VFORK | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}
int do_clone(const std::string&) {
  return as_parent(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}
int do_clone3(const std::string&) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  return as_parent(::syscall(SYS_clone3, &arguments, sizeof arguments));
}
int new_namespace(const std::string&) { return outcome(::syscall(SYS_unshare, CLONE_NEWUSER)); }
int join_namespace(const std::string&) { return outcome(::syscall(SYS_setns, -1, 0)) == EBADF ? 0 : errno; }

int trace(const std::string&) { return outcome(::syscall(SYS_ptrace, PTRACE_TRACEME, 0, nullptr, nullptr)); }
// A child of its own that waits, or where none can be had the process itself.
class Victim {
 public:
  Victim() : pid_(static_cast<int>(::syscall(SYS_fork))) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  ~Victim() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
  }
  [[nodiscard]] int pid() const { return pid_ > 0 ? pid_ : ::getpid(); }

 private:
  int pid_;
};

int trace_attach(const std::string&) {
  const Victim victim;
  return outcome(::syscall(SYS_ptrace, PTRACE_ATTACH, victim.pid(), nullptr, nullptr));
}
int trace_seize(const std::string&) {
  const Victim victim;
  return outcome(::syscall(SYS_ptrace, PTRACE_SEIZE, victim.pid(), nullptr, nullptr));
}
// The option switches the tracee's filters off.
int trace_unfiltered(const std::string&) {
  constexpr long kSuspendSeccomp = 1L << 21;
  const Victim victim;
  return outcome(::syscall(SYS_ptrace, PTRACE_SEIZE, victim.pid(), nullptr, kSuspendSeccomp));
}
int write_process(const std::string&) {
  char here[8] = {};
  char there[8] = {};
  iovec local{here, sizeof here};
  iovec remote{there, sizeof there};
  return outcome(::syscall(SYS_process_vm_writev, ::getpid(), &local, 1UL, &remote, 1UL, 0UL));
}
int steal_descriptor(const std::string&) {
  const long process = ::syscall(SYS_pidfd_open, ::getpid(), 0);
  return outcome(::syscall(SYS_pidfd_getfd, process < 0 ? 3 : process, 0, 0));
}
// Parameter: a process group of the host's. The signal would be sent when something can be read.
int own_group_signals(const std::string& group) {
  const long owned = ::syscall(SYS_fcntl, 0, F_SETOWN, -std::atoi(group.c_str()));
  if (owned < 0) return errno;
  constexpr int kSetSignal = 10;  // F_SETSIG
  return outcome(::syscall(SYS_fcntl, 0, kSetSignal, SIGKILL));
}
int clone_apart(const std::string&) {
  return as_parent(::syscall(SYS_clone, SIGCHLD | CLONE_NEWUSER, nullptr, nullptr, nullptr, nullptr));
}
int change_descriptors(const std::string&) {
  char table[16] = {};
  return outcome(::syscall(SYS_modify_ldt, 0, table, sizeof table));
}
int add_key(const std::string&) {
  return outcome(::syscall(SYS_add_key, "user", "heddle", "x", 1, KEY_SPEC_PROCESS_KEYRING));
}
// More threads than any policy here grants.
int many_threads(const std::string&) {
  constexpr int kThreads = 150;
  std::vector<pthread_t> threads;
  int result = 0;
  // With a call that every policy lets through.
  const auto wait = [](void*) -> void* {
    for (;;) ::poll(nullptr, 0, -1);
  };
  while (threads.size() < kThreads && result == 0) {
    pthread_t thread{};
    result = ::pthread_create(&thread, nullptr, wait, nullptr);
    if (result == 0) threads.push_back(thread);
  }
  return result;
}
int one_thread(const std::string&) {
  pthread_t thread{};
  const int result = ::pthread_create(
      &thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr);
  return result == 0 ? ::pthread_join(thread, nullptr) : result;
}
int take_a_nap(const std::string&) {
  const timespec pause{0, 1'000'000};
  return outcome(::syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, nullptr));
}
// Parameter: a pid; in the control its own.
int read_process(const std::string& pid) {
  char here[8] = {};
  iovec local{here, sizeof here};
  iovec remote{self_path, sizeof here};
  const int target = pid.empty() ? ::getpid() : std::atoi(pid.c_str());
  return outcome(::syscall(SYS_process_vm_readv, target, &local, 1UL, &remote, 1UL, 0UL));
}
int signal_host(const std::string& pid) { return outcome(::syscall(SYS_kill, std::atoi(pid.c_str()), 0)); }
// Parameter: how often. The last answer counts.
int signal_often(const std::string& times) {
  long result = 0;
  for (int i = 0; i < std::atoi(times.c_str()); ++i) result = ::syscall(SYS_kill, ::getpid(), 0);
  return outcome(result);
}
int signal_all(const std::string&) { return outcome(::syscall(SYS_kill, -1, 0)); }
int signal_thread(const std::string& pid) {
  const int target = std::atoi(pid.c_str());
  return outcome(::syscall(SYS_tgkill, target, target, 0));
}
int queue_signal(const std::string& pid) {
  siginfo_t info{};
  info.si_code = SI_QUEUE;
  return outcome(::syscall(SYS_rt_sigqueueinfo, std::atoi(pid.c_str()), 0, &info));
}
int open_process(const std::string& pid) { return outcome(::syscall(SYS_pidfd_open, std::atoi(pid.c_str()), 0)); }
int own_signals(const std::string&) { return outcome(::syscall(SYS_fcntl, 3, F_SETOWN, ::getpid())); }

// x32's getpid. A kernel without x32 answers ENOSYS.
int call_x32(const std::string&) { return outcome(::syscall(0x40000000L | SYS_getpid)); }
// i386's getpid, number 20, by the gate that leads to the 32-bit table.
int call_i386(const std::string&) {
#ifdef __x86_64__
  long result = 20;
  asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  return result > 0 ? 0 : static_cast<int>(-result);
#else
  return ENOSYS;
#endif
}
int change_personality(const std::string&) { return outcome(::syscall(SYS_personality, 0xffffffffUL)); }

int load_bpf(const std::string&) {
  char attributes[128] = {};
  return outcome(::syscall(SYS_bpf, 0, attributes, sizeof attributes));
}
int keyring(const std::string&) {
  return outcome(::syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 1));
}
int count_events(const std::string&) {
  std::uint32_t attributes[32] = {1, 128, 1};  // PERF_TYPE_SOFTWARE, size, PERF_COUNT_SW_TASK_CLOCK
  return outcome(::syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0));
}
// The calls that set ids, each asked for the same one: user, group, or nothing but as it is where that can be asked.
template <class Call>
void set_ids(long user, long group, const Call& call) {
  call(SYS_setuid, user, 0L, 0L);
  call(SYS_setgid, group, 0L, 0L);
  call(SYS_setreuid, user, -1L, 0L);
  call(SYS_setregid, -1L, group, 0L);
  call(SYS_setresuid, -1L, user, -1L);
  call(SYS_setresgid, group, group, group);
}
int keep_ids(const std::string&) {
  int error = 0;
  set_ids(::getuid(), ::getgid(), [&](long number, long a, long b, long c) {
    if (::syscall(number, a, b, c) != 0 && error == 0) error = errno;
  });
  const bool told = ::syscall(SYS_setfsuid, ::getuid()) == static_cast<long>(::getuid()) &&
                    ::syscall(SYS_setfsgid, -1) == static_cast<long>(::getgid());
  return error == 0 && !told ? EINVAL : error;
}
// Without a word about which they are.
int leave_ids(const std::string&) {
  const int users = outcome(::syscall(SYS_setresuid, -1L, -1L, -1L));
  const int groups = outcome(::syscall(SYS_setregid, -1L, -1L));
  return users == 0 ? groups : users;
}
// Parameter: which id. Anything that is not refused is 0.
int take_ids(const std::string& id) {
  const long wanted = std::atol(id.c_str());
  int error = EPERM;
  set_ids(wanted, wanted, [&](long number, long a, long b, long c) {
    if (::syscall(number, a, b, c) == 0) error = 0;
  });
  return error;
}
int raise_limit(const std::string&) {
  const std::uint64_t limit[2] = {16, 16};
  return outcome(::syscall(SYS_prlimit64, 0, 7, limit, nullptr));
}
int another_filter(const std::string&) { return outcome(::syscall(SYS_seccomp, 2, 0, nullptr)) == EFAULT ? 0 : errno; }

}  // namespace

// Parameter: a pid where one is needed.
const Attack kProcessAttacks[] = {
    {"execve", "execute a program", execute},
    {"execveat", "execute its own program by descriptor", execute_again},
    {"memfd_exec", "execute from memory", execute_memory},
    {"memfd_create", "make a memory file", make_memory_file},
    {"fork", "fork", do_fork},
    {"vfork", "fork as vfork does", do_vfork},
    {"clone", "clone", do_clone},
    {"clone3", "clone3", do_clone3},
    {"unshare", "make a user namespace", new_namespace},
    {"setns", "enter a namespace", join_namespace},
    {"ptrace", "trace a process", trace},
    {"ptrace_attach", "attach to a process", trace_attach},
    {"ptrace_seize", "seize a process", trace_seize},
    {"ptrace_unfiltered", "seize a process and suspend its filters", trace_unfiltered},
    {"process_vm_writev", "write a process's memory by system call", write_process},
    {"pidfd_getfd", "take a descriptor of another process", steal_descriptor},
    {"set_owner_group", "have signals sent to a group of the host's", own_group_signals},
    {"clone_apart", "clone into a user namespace", clone_apart},
    {"modify_ldt", "read the local descriptor table", change_descriptors},
    {"add_key", "add a key", add_key},
    {"thread", "start a thread", one_thread},
    {"nap", "sleep a millisecond", take_a_nap},
    {"many_threads", "start threads without end", many_threads},
    {"process_vm_readv", "read another process's memory", read_process},
    {"kill", "signal the host", signal_host},
    {"kill_often", "signal itself many times", signal_often},
    {"kill_all", "signal everybody", signal_all},
    {"tgkill", "signal a thread of the host", signal_thread},
    {"sigqueue", "queue a signal for the host", queue_signal},
    {"pidfd_open", "open a process", open_process},
    {"set_owner", "have signals sent by a descriptor", own_signals},
    {"x32", "a system call of x32", call_x32},
    {"int80", "a system call of i386", call_i386},
    {"personality", "read the personality", change_personality},
    {"bpf", "load a BPF map", load_bpf},
    {"keyctl", "a keyring", keyring},
    {"keep_ids", "set its ids to what they are", keep_ids},
    {"leave_ids", "ask for no change of its ids", leave_ids},
    {"take_ids", "set its ids to another's", take_ids},
    {"perf", "count events", count_events},
    {"prlimit", "change a limit", raise_limit},
    {"seccomp", "load another filter", another_filter},
    {nullptr, nullptr, nullptr},
};

}  // namespace heddle::attacker

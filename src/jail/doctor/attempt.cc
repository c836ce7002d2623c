#include "attempt.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "heddle/core/fd.h"
#include "heddle/jail/confine/landlock.h"

namespace heddle::jail {
namespace {

constexpr unsigned kChildSeconds = 10;
constexpr int kSetMdwe = 65;                  // PR_SET_MDWE
constexpr unsigned long kRefuseExecGain = 1;  // PR_MDWE_REFUSE_EXEC_GAIN
constexpr long kX32Getpid = 0x40000000L | SYS_getpid;
constexpr unsigned kOverflowId = 65534;  // the id of nobody

int outcome(long result) { return result < 0 ? errno : 0; }

// `body` gives 0 or an errno, which is the child's exit status: the kernel's largest is 133. The child outlives
// nothing: it dies with us, and by an alarm.
template <typename Body>
Attempt in_child(Body body) {
  const pid_t pid = ::fork();
  if (pid < 0) return errno;
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)::signal(SIGALRM, SIG_DFL);
    ::alarm(kChildSeconds);
    // Raw: nothing that a sanitizer hangs on it runs under a filter.
    const int status = body();
    for (;;) ::syscall(SYS_exit_group, status);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return errno;
  }
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int set_no_new_privs() { return outcome(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); }

// `denied` gives 0 when the act was refused as Landlock refuses it.
template <typename Denied>
Attempt under_landlock(Denied denied) {
  return in_child([&] {
    const int abi = landlock_abi();
    if (abi < 0) return -abi;
    const core::Fd ruleset(landlock_deny_all(abi));
    if (!ruleset.valid()) return -ruleset.get();
    if (const int error = set_no_new_privs(); error != 0) return error;
    if (const int error = landlock_enforce(ruleset.get()); error < 0) return -error;
    return denied();
  });
}

int load(std::string_view filter, unsigned flags) {
  if (const int error = set_no_new_privs(); error != 0) return error;
  if (filter.size() % sizeof(sock_filter) != 0) return EINVAL;
  sock_filter code[BPF_MAXINSNS];
  if (filter.size() > sizeof code) return E2BIG;
  std::memcpy(static_cast<void*>(code), filter.data(), filter.size());
  const sock_fprog program{static_cast<unsigned short>(filter.size() / sizeof code[0]), code};
  return outcome(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}

bool write_file(const char* path, const std::string& text) {
  const core::Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  return file.valid() && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Maps the caller's own ids and nothing else, as an ordinary user may.
int enter_user_namespace() {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  if (::unshare(CLONE_NEWUSER) != 0) return errno;
  ::prctl(PR_SET_DUMPABLE, 1);  // else the files below belong to root
  const auto map = [](unsigned id) { return std::to_string(id) + " " + std::to_string(id) + " 1"; };
  if (!write_file("/proc/self/setgroups", "deny")) return errno;
  if (!write_file("/proc/self/uid_map", map(uid))) return errno;
  return write_file("/proc/self/gid_map", map(gid)) ? 0 : errno;
}

int make_namespace(int flag) {
  if (::unshare(flag) != 0) return errno;
  if (flag != CLONE_NEWPID) return 0;
  // Only a child is in it.
  return in_child([] { return ::getpid() == 1 ? 0 : EPROTO; });
}

}  // namespace

Attempt try_no_new_privs() {
  return in_child([] {
    if (const int error = set_no_new_privs(); error != 0) return error;
    return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : EPROTO;
  });
}

Attempt try_landlock_files() {
  return under_landlock([] {
    const core::Fd folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.valid()) return EPROTO;
    return errno == EACCES ? 0 : errno;
  });
}

// The discard port of this very machine: nothing leaves it, and nobody need listen.
Attempt try_landlock_network() {
  return under_landlock([] {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(9);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const core::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid()) return errno;
    const int result = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    if (result == 0) return EPROTO;
    return errno == EACCES ? 0 : EPROTO;
  });
}

Attempt try_landlock_scopes() {
  return under_landlock([] {
    if (::kill(::getppid(), 0) == 0) return EPROTO;
    return errno == EPERM ? 0 : errno;
  });
}

Attempt try_filter(std::string_view filter) {
  return in_child([filter] {
    if (const int error = load(filter, 0); error != 0) return error;
    if (::syscall(SYS_socket, AF_INET, SOCK_STREAM, 0) >= 0) return EPROTO;
    return errno == EPERM ? 0 : EPROTO;
  });
}

Attempt try_foreign_call(std::string_view filter) {
  const Attempt ended = in_child([filter] {
    if (const int error = load(filter, 0); error != 0) return error;
    (void)::syscall(kX32Getpid);
    return EPROTO;
  });
  return ended == -SIGSYS ? 0 : ended;
}

Attempt try_notifications() {
  return in_child([] {
    const sock_filter allow{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    return load(std::string_view(reinterpret_cast<const char*>(&allow), sizeof allow),
                SECCOMP_FILTER_FLAG_NEW_LISTENER);
  });
}

Attempt try_mdwe() {
  return in_child([] { return outcome(::prctl(kSetMdwe, kRefuseExecGain, 0, 0, 0)); });
}

Attempt try_pidfd() {
  return in_child([] {
    const core::Fd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
    if (!self.valid()) return errno;
    return outcome(::syscall(SYS_pidfd_send_signal, self.get(), 0, nullptr, 0));
  });
}

Attempt try_close_range() {
  return in_child([] { return outcome(::syscall(SYS_close_range, 3U, ~0U, 0U)); });
}

Attempt try_identity() {
  return in_child([] {
    if (::prctl(PR_CAPBSET_DROP, 0, 0, 0, 0) != 0) return errno;
    if (::setgroups(0, nullptr) != 0) return errno;
    if (::setresgid(kOverflowId, kOverflowId, kOverflowId) != 0) return errno;
    return outcome(::setresuid(kOverflowId, kOverflowId, kOverflowId));
  });
}

// Ubuntu 24.04 lets everybody make one and takes the rights inside it away: so one right is used.
Attempt try_user_namespace() {
  return in_child([] {
    if (const int error = enter_user_namespace(); error != 0) return error;
    return outcome(::unshare(CLONE_NEWUTS));
  });
}

Attempt try_namespace(int flag) {
  const Attempt inside = in_child([flag] {
    if (const int error = enter_user_namespace(); error != 0) return error;
    return make_namespace(flag);
  });
  if (inside == 0 || ::geteuid() != 0) return inside;
  return in_child([flag] { return make_namespace(flag); });
}

}  // namespace heddle::jail

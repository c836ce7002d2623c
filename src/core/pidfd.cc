#include "heddle/core/pidfd.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "linked.h"

namespace heddle::core {
namespace {

Result<void> send(const Fd& fd, int signal, siginfo_t* info) {
  if (::syscall(SYS_pidfd_send_signal, fd.get(), signal, info, 0U) == 0) return {};
  if (errno == ESRCH) return make_error(Errc::not_found, "send a signal", "the process has ended");
  return system_error("send a signal");
}

}  // namespace

Result<Pidfd> Pidfd::open(pid_t pid) {
  Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
  if (!fd.valid()) return system_error("pidfd_open", std::to_string(pid));
  return Pidfd(std::move(fd));
}

Result<void> Pidfd::send_signal(int signal) const { return send(fd_, signal, nullptr); }

Result<void> Pidfd::queue_signal(int signal, int value) const {
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_int = value;
  return send(fd_, signal, &info);
}

bool Pidfd::has_exited() const { return wait_exit(Deadline::at(Clock::now())); }

bool Pidfd::wait_exit(Deadline deadline) const {
  for (;;) {
    pollfd item{fd_.get(), POLLIN, 0};
    const int ready = ::poll(&item, 1, deadline.poll_ms());
    if (ready > 0) return true;
    HEDDLE_CHECK(ready == 0 || errno == EINTR || errno == ENOMEM);
    if (deadline.passed()) return false;
  }
}

}  // namespace heddle::core

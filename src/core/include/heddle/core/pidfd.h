// Pidfd: a process that cannot be mistaken for another one (pidfd_open(2), pidfd_send_signal(2)).
#pragma once

#include <sys/types.h>

#include "heddle/core/clock.h"
#include "heddle/core/fd.h"

namespace heddle::core {

class Pidfd {
 public:
  Pidfd() = default;
  explicit Pidfd(Fd fd) noexcept : fd_(std::move(fd)) {}

  /// For a process whose pid cannot have been reused: a child not yet reaped, or the caller itself.
  [[nodiscard]] static Result<Pidfd> open(pid_t pid);

  [[nodiscard]] const Fd& fd() const noexcept { return fd_; }
  [[nodiscard]] bool valid() const noexcept { return fd_.valid(); }

  /// Errc::not_found when the process is gone.
  [[nodiscard]] Result<void> send_signal(int signal) const;

  /// As sigqueue(3): the handler's siginfo carries `value` in si_value.sival_int.
  [[nodiscard]] Result<void> queue_signal(int signal, int value) const;

  /// True once the process has ended, reaped or not. Does not wait.
  [[nodiscard]] bool has_exited() const;

  /// Waits until the process has ended; false when the deadline came first.
  [[nodiscard]] bool wait_exit(Deadline deadline) const;

 private:
  Fd fd_;
};

}  // namespace heddle::core

// Signals: the first SIGINT, SIGTERM or SIGHUP is an event of the poll loop; the second has its default action.
#pragma once

#include <signal.h>

#include "heddle/core/fd.h"

namespace heddle::cli {

/// SIGINT, SIGTERM and SIGHUP.
[[nodiscard]] sigset_t cancelling_signals();

/// Blocks the three signals in the calling thread, so it is made before other threads are, and ignores SIGPIPE for the
/// process. What it changed is as before once it is destroyed.
class Signals {
 public:
  [[nodiscard]] static core::Result<Signals> install();
  Signals(Signals&& other) noexcept : fd_(std::move(other.fd_)), before_(other.before_), pipe_(other.pipe_) {}
  Signals& operator=(Signals&&) = delete;
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  /// Readable once a signal has come.
  [[nodiscard]] int fd() const { return fd_.get(); }
  /// True when one had come. From then on the signals have their default action again: a second Ctrl-C ends the process
  /// at once, whatever it is doing, and the supervisor sweeps up behind it (JAIL-12).
  bool take();
  /// The default action from now on, for the first signal too.
  void release();

 private:
  Signals(core::Fd fd, const sigset_t& before, const struct sigaction& pipe)
      : fd_(std::move(fd)), before_(before), pipe_(pipe) {}
  core::Fd fd_;
  sigset_t before_;
  struct sigaction pipe_;
};

}  // namespace heddle::cli

// One run of a backend against the caller's stop and a deadline: exactly one of the three ends it.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>

#include "heddle/core/clock.h"
#include "heddle/core/fd.h"
#include "heddle/sandbox/spi/backend.h"

namespace heddle::sandbox {

struct Stopped {};         ///< the caller's stop was requested before an outcome was taken
struct MissedDeadline {};  ///< no outcome by the deadline
struct Broken {            ///< the backend did not keep to the interface
  std::string what;
};
struct NoDescriptor {  ///< the host has none left to wait with
  int sys_errno;
};

using Settled = std::variant<spi::Outcome, Stopped, MissedDeadline, Broken, NoDescriptor, std::exception_ptr>;

// Hands the caller's stop on to the backend from whatever thread requests it, and wakes the thread that polls.
class StopRelay {
 public:
  explicit StopRelay(const std::stop_token& stop) : stop_(stop), callback_(stop, Relay{this}) {}

  [[nodiscard]] std::stop_token token() const { return combined_.get_token(); }
  [[nodiscard]] bool stopped() const { return stopped_.load(); }
  void fire() { combined_.request_stop(); }

  // A descriptor that is readable once the stop was requested; -1 where it cannot be. The flag is set before the
  // descriptor is looked for, and the descriptor stands before the flag is looked at, so one of the two sees the other.
  [[nodiscard]] int wake_fd();
  [[nodiscard]] int failure() const { return failure_; }  // errno where wake_fd() could not be had

 private:
  struct Relay {
    StopRelay* relay;
    void operator()() const noexcept { relay->on_stop(); }
  };
  void on_stop() noexcept;

  const std::stop_token stop_;
  std::stop_source combined_;
  std::atomic<bool> stopped_{false};
  std::atomic<int> raw_wake_{-1};
  core::Fd wake_;
  int failure_ = 0;
  std::stop_callback<Relay> callback_;  // last: it is gone, and not running, before anything that it uses
};

/// When several of outcome, stop and deadline have come by the time they are looked at, the stop wins over an outcome,
/// and an outcome over the deadline. The backend's stop token fires as soon as the caller's does, even while evaluate()
/// has not returned, and at the deadline. Once settled, or destroyed, the handle is gone, and no descriptor, timer or
/// callback is left. What the backend throws is caught. One thread.
class Race {
 public:
  Race(const std::stop_token& stop, core::Deadline deadline) : deadline_(deadline), relay_(stop) {}
  Race(const Race&) = delete;
  Race& operator=(const Race&) = delete;
  ~Race();

  /// Once, before anything else. The request's stop is set here.
  void start(spi::SandboxBackend& backend, spi::Request request);

  /// Does what is due without blocking; how it ended, once that is known, exactly once.
  [[nodiscard]] std::optional<Settled> look();
  /// Blocks until it has ended; in place of look().
  [[nodiscard]] Settled wait();

  /// Of the handle; -1 when there is nothing to wait for.
  [[nodiscard]] int ready_fd() const noexcept { return evaluation_ == nullptr ? -1 : evaluation_->ready_fd(); }
  [[nodiscard]] core::Deadline deadline() const noexcept { return deadline_; }

 private:
  void settle(Settled settled);

  const core::Deadline deadline_;
  StopRelay relay_;
  std::unique_ptr<spi::Evaluation> evaluation_;  // while it runs; gone before the relay
  std::optional<Settled> settled_;
};

}  // namespace heddle::sandbox

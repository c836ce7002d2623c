// Time that only goes forward (CLOCK_MONOTONIC), and deadlines on it.
#pragma once

#include <algorithm>
#include <chrono>

namespace heddle::core {

using Clock = std::chrono::steady_clock;
using Duration = Clock::duration;
using TimePoint = Clock::time_point;

/// A point in time by which something must have happened, or never.
class Deadline {
 public:
  static Deadline never() noexcept { return Deadline(TimePoint::max()); }
  static Deadline at(TimePoint when) noexcept { return Deadline(when); }
  /// Saturates: a huge duration is `never`.
  static Deadline after(Duration duration) noexcept {
    const TimePoint now = Clock::now();
    return duration > TimePoint::max() - now ? never() : Deadline(now + duration);
  }

  [[nodiscard]] bool is_never() const noexcept { return when_ == TimePoint::max(); }
  [[nodiscard]] TimePoint when() const noexcept { return when_; }
  [[nodiscard]] bool passed() const noexcept { return !is_never() && Clock::now() >= when_; }

  /// For poll(2): milliseconds from now, rounded up so that a wait does not end early; -1 for never; at most one hour.
  [[nodiscard]] int poll_ms() const noexcept {
    if (is_never()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(when_ - Clock::now()).count();
    return static_cast<int>(std::clamp<decltype(left)>(left, 0, 3'600'000));
  }

  [[nodiscard]] static Deadline earlier(Deadline a, Deadline b) noexcept { return a.when_ <= b.when_ ? a : b; }

 private:
  explicit Deadline(TimePoint when) noexcept : when_(when) {}
  TimePoint when_;
};

}  // namespace heddle::core

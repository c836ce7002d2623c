// What a check may cost, and who still waits for it.
#pragma once

#include <cstdint>
#include <stop_token>
#include <utility>

#include "heddle/core/clock.h"

namespace heddle::effect {

/// Counts steps of a bounded size. Over once the stop is requested, the deadline has passed or the budget is used up:
/// then no result of the check counts any more, and everything returns.
class Work {
 public:
  /// A value of 64 MiB takes some; a combination that grows with each level of the value takes all.
  static constexpr std::uint64_t kMaxSteps = 100'000'000;

  Work(std::stop_token stop, core::Deadline deadline) : stop_(std::move(stop)), deadline_(deadline) {}

  /// False when it is over.
  bool step(std::uint64_t count = 1) {
    steps_ += count;
    if (steps_ >= next_look_) look();
    return !over();
  }
  [[nodiscard]] bool over() const { return given_up_ || exhausted_; }
  [[nodiscard]] bool given_up() const { return given_up_; }  ///< by stop or deadline
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  void look() {
    constexpr std::uint64_t kBetweenLooks = 4096;
    next_look_ = steps_ + kBetweenLooks;
    if (stop_.stop_requested() || deadline_.passed()) given_up_ = true;
    if (steps_ > kMaxSteps) exhausted_ = true;
  }

  const std::stop_token stop_;
  const core::Deadline deadline_;
  std::uint64_t steps_ = 0;
  std::uint64_t next_look_ = 1;
  bool given_up_ = false;
  bool exhausted_ = false;
};

}  // namespace heddle::effect

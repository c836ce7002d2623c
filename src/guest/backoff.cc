#include "heddle/guest/backoff.h"

namespace heddle::guest {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kFirst{100};
constexpr milliseconds kLongest{5'000};

}  // namespace

void Backoff::failed(core::Error error) {
  last_ = std::move(error);
  ++failures_;
  milliseconds pause{0};
  for (unsigned past = 1; past < failures_ && pause < kLongest; ++past) pause = std::max(kFirst, 2 * pause);
  next_ = core::Clock::now() + std::min(pause, kLongest);
}

std::optional<core::Error> Backoff::refusal() const {
  if (failures_ == 0) return std::nullopt;
  const auto left = std::chrono::ceil<milliseconds>(next_ - core::Clock::now());
  if (left.count() <= 0) return std::nullopt;
  core::Error error = last_;
  if (!error.context.empty()) error.context += "; ";
  error.context += "this failed " + std::to_string(failures_) + " times in a row and is tried again in " +
                   std::to_string(left.count()) + " ms";
  return error;
}

}  // namespace heddle::guest

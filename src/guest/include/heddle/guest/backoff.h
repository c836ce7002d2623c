// Backoff: how long something that fails whenever it is started is left alone.
#pragma once

#include <optional>

#include "heddle/core/clock.h"
#include "heddle/core/error.h"

namespace heddle::guest {

/// After the second failure in a row for a tenth of a second, and for twice as long after each one that follows, up to
/// five seconds. Not thread-safe.
class Backoff {
 public:
  void succeeded() noexcept { failures_ = 0; }
  void failed(core::Error error);

  /// The last failure and when the next try is due, as long as it is not.
  [[nodiscard]] std::optional<core::Error> refusal() const;

 private:
  unsigned failures_ = 0;
  core::Error last_;
  core::TimePoint next_;
};

}  // namespace heddle::guest

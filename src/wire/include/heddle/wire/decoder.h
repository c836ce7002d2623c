// Decoder: bytes of an untrusted peer in, frames out. Pure: no descriptor, no clock, so it can be fuzzed as it is.
#pragma once

#include <optional>
#include <string_view>

#include "heddle/core/result.h"
#include "heddle/wire/frame.h"

namespace heddle::wire {

/// One direction of one connection. Not thread-safe.
///
/// The first violation (unknown type, length over its cap, sequence out of order, data beyond the credit) is final:
/// every later call gives the same Errc::protocol. Lengths are checked as soon as the header is whole, before anything
/// is allocated for the payload (WIRE-1, WIRE-2).
class Decoder {
 public:
  /// Allows the peer `bytes` more of data payload. Without credit any data frame is a violation.
  void grant(std::uint64_t bytes) noexcept;
  /// Takes back what has not been used: after a run, what was granted for it.
  void revoke() noexcept { credit_ = 0; }

  /// Bytes as they came from the socket, in any portions. Memory held is at most one header, one capped payload and
  /// this portion.
  void feed(std::string_view bytes);

  /// The next whole frame; nothing when more bytes are needed.
  [[nodiscard]] core::Result<std::optional<Frame>> next();

  /// True when the stream may end here: no frame is half received.
  [[nodiscard]] bool at_boundary() const noexcept { return pending_.size() == offset_; }

 private:
  core::Error violation(std::string_view what);

  std::string pending_;
  std::size_t offset_ = 0;
  std::uint32_t sequence_ = 0;
  std::uint64_t credit_ = 0;
  std::optional<core::Error> broken_;
};

/// The header for a payload of this size. `size` must be within the type's cap.
[[nodiscard]] std::string encode_header(FrameType type, std::uint32_t size, std::uint32_t sequence);

}  // namespace heddle::wire

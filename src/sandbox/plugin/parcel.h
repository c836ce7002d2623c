// The binary form of what crosses between a host and a backend's process: numbers of eight bytes and texts with their
// length before them, both little-endian, in a fixed order. Texts are any bytes: a backend's text is bounded later, by
// the effect.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/core/result.h"
#include "heddle/sandbox/spi/capabilities.h"
#include "heddle/sandbox/spi/outcome.h"
#include "heddle/sandbox/spi/request.h"

namespace heddle::sandbox::plugin {

class Packer {
 public:
  Packer& number(std::uint64_t value);
  Packer& text(std::string_view value);
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what a Packer wrote, of a peer that is not believed: after the first thing that does not fit everything is
/// empty and finish() is false.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}
  [[nodiscard]] std::uint64_t number(std::uint64_t most = UINT64_MAX);
  [[nodiscard]] std::string text();
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] bool finish() const noexcept { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

[[nodiscard]] std::string pack_capabilities(const spi::Capabilities& capabilities);
[[nodiscard]] core::Result<spi::Capabilities> unpack_capabilities(std::string_view bytes);

/// Without the stop, which travels by itself.
[[nodiscard]] std::string pack_request(const spi::Request& request);
[[nodiscard]] core::Result<spi::Request> unpack_request(std::string_view bytes);

/// Enumerators arrive as they were given, those that are none too: what an outcome means is the effect's to decide.
[[nodiscard]] std::string pack_outcome(const spi::Outcome& outcome);
[[nodiscard]] core::Result<spi::Outcome> unpack_outcome(std::string_view bytes);

}  // namespace heddle::sandbox::plugin

// Times and sizes as people type them: "2s", "500ms", "64MiB", "65536".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/core/result.h"

namespace heddle::core {

struct DurationRange {
  std::chrono::milliseconds lowest;
  std::chrono::milliseconds highest;
};
struct SizeRange {
  std::uint64_t lowest;
  std::uint64_t highest;
};

/// A number with a unit, ms, s, m or h: "1.5s". Parts of a millisecond are dropped. Errc::invalid_argument names the
/// option, what was given and what may be given.
[[nodiscard]] Result<std::chrono::milliseconds> parse_duration(std::string_view option, std::string_view text,
                                                               DurationRange range);

/// A number of bytes, or one with a unit: B, kB, KB, MB, GB (powers of 1000), KiB, MiB, GiB (powers of 1024). Parts of
/// a byte are dropped.
[[nodiscard]] Result<std::uint64_t> parse_size(std::string_view option, std::string_view text, SizeRange range);

/// A whole number.
[[nodiscard]] Result<std::uint64_t> parse_count(std::string_view option, std::string_view text, SizeRange range);

/// The shortest exact spelling: "2s", "1500ms", "64MiB", "1000B".
[[nodiscard]] std::string duration_text(std::chrono::milliseconds duration);
[[nodiscard]] std::string size_text(std::uint64_t bytes);

}  // namespace heddle::core

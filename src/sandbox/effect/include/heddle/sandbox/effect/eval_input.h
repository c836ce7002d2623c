// SandboxEvalInput: what a caller asks of the sandbox effect.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/core/result.h"
#include "heddle/effect/core/content_address.h"

namespace heddle::sandbox {

/// Where a member is empty, or above it, the effect's own limit holds. Zero is no limit but a mistake.
struct EvalLimits {
  std::optional<std::chrono::milliseconds> wall_clock;  ///< at most kMaxWallClock
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> input_bytes;   ///< of the input's compact JSON text
  std::optional<std::uint64_t> output_bytes;  ///< of the result's
};

inline constexpr std::chrono::hours kMaxWallClock{24};

struct SandboxEvalInput {
  effect::ContentAddress script;
  std::string input_json = "null";        ///< any JSON value, as text
  std::optional<std::string> shape_json;  ///< a JSON Schema, draft 7
  EvalLimits limits;

  /// {"script":"sha256:…","input":…,"shape":…,"limits":{"wallClockMs":…,"memoryBytes":…,"inputBytes":…,"outputBytes":…}};
  /// all but `script` may be missing, nothing else may be there. Errc::malformed says which member is wrong.
  /// `input` is taken as it stands: what is wrong with its value is the effect's to say, on a channel.
  [[nodiscard]] static core::Result<SandboxEvalInput> parse(std::string_view json);
  /// What parse() reads, of an input and a shape that are JSON.
  [[nodiscard]] std::string to_json() const;
};

}  // namespace heddle::sandbox

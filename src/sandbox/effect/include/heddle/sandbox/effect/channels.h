// The typed channels of a sandboxed evaluation, a closed list, and the table that says which outcome of a backend gives
// which. What is not in the table is untyped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "heddle/effect/core/failure.h"
#include "heddle/sandbox/spi/outcome.h"

namespace heddle::sandbox {

enum class Channel : std::uint8_t {
  script_error,            ///< "scriptError": name?, message
  limit_exceeded,          ///< "limitExceeded": kind
  input_too_large,         ///< "inputTooLarge"
  input_not_serializable,  ///< "inputNotSerializable"
  shape_mismatch,          ///< "shapeMismatch"
};

enum class Limit : std::uint8_t { cpu, memory, wall_clock, output };

[[nodiscard]] std::string_view channel_name(Channel channel) noexcept;
[[nodiscard]] std::string_view limit_name(Limit limit) noexcept;  ///< "cpu", "memory", "wallClock", "output"

[[nodiscard]] std::string_view level_name(spi::ConsoleLevel level) noexcept;  ///< "log", "info", …

/// [{"level":"log","text":"…"}]
[[nodiscard]] std::string console_json(const spi::Remarks& remarks);

/// All five, in the order of the enumeration.
[[nodiscard]] std::span<const std::string_view> channel_names() noexcept;

/// A typed failure of an evaluation. All text in it is bounded and storable.
struct SandboxFailure {
  Channel channel = Channel::script_error;
  std::optional<Limit> limit;       ///< limit_exceeded only
  std::optional<std::string> name;  ///< script_error only: of the thrown error, where it has one
  std::string message;              ///< script_error: the script's own; else one line that says what happened
  std::string hint;                 ///< what can be done, where more is known than the channel says; in no fact
  std::uint32_t line = 0;           ///< script_error: where, from 1; 0 when unknown. Advisory, and in no fact.
  std::uint32_t column = 0;
};

/// As a runtime records it; `detail_json` has `kind`, or `name` and `message`, or `message`.
[[nodiscard]] effect::TypedFailure to_typed(const SandboxFailure& failure);
/// What a flow got on one of the five channels; nothing when it is on another (a ring's, such as effectDenied).
[[nodiscard]] std::optional<SandboxFailure> from_typed(const effect::TypedFailure& failure);

enum class Meaning : std::uint8_t {
  value,      ///< the value goes on to the output ceiling and the shape
  channel,    ///< a typed failure on the row's channel
  retryable,  ///< untyped, and the same call may be tried again
};

/// A row: what an outcome of a backend means.
struct OutcomeRow {
  spi::Outcome::Kind kind;
  std::optional<spi::LimitKind> limit;  ///< for Kind::limit
  Meaning meaning;
  std::optional<Channel> channel;
  std::optional<Limit> reported;  ///< for Channel::limit_exceeded
};

[[nodiscard]] std::span<const OutcomeRow> outcome_table() noexcept;

/// The row of an outcome; null when it is malformed: a kind or a limit that is none of the enumeration's.
[[nodiscard]] const OutcomeRow* row_of(const spi::Outcome& outcome) noexcept;

}  // namespace heddle::sandbox

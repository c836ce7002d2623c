// What the pool and a worker say to each other over their channel: each message once, with both of its directions.
// Beside what all programs say (heddle/wire/hello.h):
//
//   host → worker   run, then script_bytes + input_bytes of data
//   worker → host   console, as the script writes to it
//   worker → host   value_bytes of data, then done
//
// A stop travels by signal, since a busy worker does not read: kSoftStopSignal and kHardStopSignal, sent with the run's
// number as their value. The host believes none of it further than that it is well formed: reading is strict.
#pragma once

#include <signal.h>

#include <cstdint>
#include <optional>
#include <string>

#include "heddle/wire/message.h"

namespace heddle::sandbox::protocol {

inline constexpr int kSoftStopSignal = SIGUSR1;
inline constexpr int kHardStopSignal = SIGUSR2;

struct RunOrder {
  std::uint32_t run = 0;  ///< from 1, one more each time
  std::uint64_t script_bytes = 0;
  std::uint64_t input_bytes = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t console_bytes = 0;
};

/// What a line of the console costs beside its text; the line that is cut may be without it.
inline constexpr std::uint64_t kConsoleLineBytes = 16;
/// A longer line is sent in pieces, each of which fits a control frame however it is escaped.
inline constexpr std::size_t kConsolePieceBytes = 8192;

struct ConsolePiece {
  std::uint32_t run = 0;
  std::uint32_t level = 0;  ///< log, info, warn, error, debug
  std::string text;
  bool more = false;  ///< the next piece goes on with this line
  bool cut = false;   ///< something did not fit; nothing comes after this line
};

enum class Ending : std::uint8_t { ok, threw, memory, output, input_too_large, stopped, fault };

struct Done {
  std::uint32_t run = 0;
  Ending ending = Ending::fault;
  std::uint64_t value_bytes = 0;  ///< ok: of data sent before this message
  std::optional<std::string> name;
  std::string message;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string hint;  ///< empty: not sent; of any ending, as is `note`
  std::string note;
};

[[nodiscard]] wire::Message to_message(const RunOrder& order);
[[nodiscard]] wire::Message to_message(const ConsolePiece& piece);
[[nodiscard]] wire::Message to_message(const Done& done);

// Each takes a message whose op() is the one that its name says; Errc::protocol for anything else.
[[nodiscard]] core::Result<RunOrder> read_run(wire::Message message);
[[nodiscard]] core::Result<ConsolePiece> read_console(wire::Message message);
[[nodiscard]] core::Result<Done> read_done(wire::Message message);

}  // namespace heddle::sandbox::protocol

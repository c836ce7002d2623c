// Hello: what each of Heddle's programs says first to the process that had it started, and what that process accepts.
// The same for the supervisor, the script worker, the exec stub and every guest to come.
//
//   program → host  ready version | failed step, errno, context     once, before anything else
//   host → program  ping number                                      answered by pong
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/wire/message.h"

namespace heddle::wire {

[[nodiscard]] Message ready_message();
/// The set-up step that failed. `step` and `context` are well-formed UTF-8.
[[nodiscard]] Message failed_message(std::string_view step, int sys_errno, std::string_view context);
/// The same of an Error.
[[nodiscard]] Message failed_message(const core::Error& error);

/// Ok if a program says that it is ready and is of our version. Errc::confinement with the step that failed as it tells
/// it; Errc::untrusted_program for another version, with what to do; Errc::protocol for anything else. `program` is its
/// path or name, for the message. A guest that says ready is not believed for that: jail::Guest::verify_confined().
[[nodiscard]] core::Result<void> accept_ready(Message message, std::string_view program);

/// The Error that a `failed` tells; its texts are bounded. Errc::protocol if that is not what the message is.
[[nodiscard]] core::Error read_failed(Message message);

[[nodiscard]] Message ping_message(std::uint32_t number);
[[nodiscard]] Message pong_message(std::uint32_t number);
[[nodiscard]] core::Result<std::uint32_t> read_ping(Message message);
[[nodiscard]] core::Result<std::uint32_t> read_pong(Message message);

}  // namespace heddle::wire

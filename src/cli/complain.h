// What the command says on standard error, and how it ends. Nothing is waited for here that somebody else waits for:
// the signals that cancel have their default action while standard error is written, so that one whose reader sleeps
// does not hold the command.
#pragma once

#include <string>
#include <string_view>

#include "heddle/core/result.h"
#include "output.h"

namespace heddle::cli {

/// `line` with "heddle: " before it and its end, made harmless for a terminal.
[[nodiscard]] std::string complaint(std::string_view line);
/// One complaint.
void complain(std::string_view line);
inline void complain(const core::Error& error) { complain(error.message()); }
/// Whole lines of our own making, as they are. False when they could not be written: who says that all is well must not
/// end with 0 then.
bool complain_as_is(std::string_view lines);

/// `what` was wrong with the command line, in one line that is not too long.
[[nodiscard]] core::Error usage(std::string_view what);

/// Writes what `output` still holds, and gives the exit code: `code`, or why it could not be written.
[[nodiscard]] int finish(Output& output, int code);

}  // namespace heddle::cli

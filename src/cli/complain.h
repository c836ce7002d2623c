// What the command says on standard error, and how it ends. Where standard error cannot be written there is nobody left
// to tell.
#pragma once

#include <string_view>

#include "heddle/core/result.h"
#include "output.h"

namespace heddle::cli {

/// One line, "heddle: " before it, made harmless for a terminal.
void complain(std::string_view line);
inline void complain(const core::Error& error) { complain(error.message()); }
/// Whole lines of our own making, as they are.
void complain_as_is(std::string_view lines);

/// `what` was wrong with the command line, in one line that is not too long.
[[nodiscard]] core::Error usage(std::string_view what);

/// Writes what `output` still holds, and gives the exit code: `code`, or why it could not be written.
[[nodiscard]] int finish(Output& output, int code);

}  // namespace heddle::cli

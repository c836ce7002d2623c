// What the command does with JSON text beside core/json.h: faults in words, values that a terminal may be shown.
#pragma once

#include <string>
#include <string_view>

#include "heddle/core/json.h"

namespace heddle::cli {

using core::check_json;
using core::JsonFault;
using core::quote_json;
using core::unquote_json;

/// "line 3, column 7: message" for a fault in a text.
[[nodiscard]] std::string fault_text(std::string_view text, const JsonFault& fault);

/// The same JSON value with escapes in place of characters that a terminal obeys or does not show (core::seen_as).
/// Harmless too where the text is no JSON after all; line breaks and tabs stay.
[[nodiscard]] std::string terminal_safe_json(std::string_view text);

/// `text` where it is JSON, on one line, and otherwise a string that holds it: what somebody else stored as JSON cannot
/// add members, or lines, to what it is put into.
[[nodiscard]] std::string embedded_json(std::string_view text);

}  // namespace heddle::cli

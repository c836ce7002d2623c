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

/// The same JSON value without DEL and C1 control characters, which a terminal may obey; for valid JSON text.
[[nodiscard]] std::string terminal_safe_json(std::string_view text);

}  // namespace heddle::cli

// What the command does with JSON text that core::check_json() has let pass: located, quoted, taken apart, never
// rebuilt.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/json.h"

namespace heddle::cli {

using core::check_json;
using core::JsonFault;

/// "line 3, column 7: message" for a fault in a text.
[[nodiscard]] std::string fault_text(std::string_view text, const JsonFault& fault);

/// A JSON string; ill-formed UTF-8 becomes U+FFFD.
[[nodiscard]] std::string quote_json(std::string_view text);

/// The characters of a JSON string that check_json() has let pass, quotation marks included; nothing when it has an
/// escaped lone surrogate, which no text can hold.
[[nodiscard]] std::optional<std::string> unquote_json(std::string_view quoted);

struct Member {
  std::string_view key;  ///< with its quotation marks
  std::string_view value;
};
/// The members of an object in order, as parts of its text, which has passed check_json() and is an object.
[[nodiscard]] std::vector<Member> members_of(std::string_view object);

/// The same JSON value without DEL and C1 control characters, which a terminal may obey; for valid JSON text.
[[nodiscard]] std::string terminal_safe_json(std::string_view text);

}  // namespace heddle::cli

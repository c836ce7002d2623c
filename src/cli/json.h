// JSON text on the host's side: checked, located and quoted, never rebuilt, so that what a user wrote and what a script
// returned keep every digit and the order of their keys. The grammar is RFC 8259's and nothing but it; a JSON library's
// parser would take a byte order mark and a NUL, refuse 1e400 and an escaped lone surrogate, and tell no positions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::cli {

struct JsonFault {
  std::size_t offset = 0;  ///< in bytes
  std::string message;     ///< one line
};

/// Nothing when `text` is exactly one JSON value in well-formed UTF-8. A level of nesting costs one bit of memory and
/// no stack, so that a bomb of brackets is only a value that is deep.
[[nodiscard]] std::optional<JsonFault> check_json(std::string_view text);

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

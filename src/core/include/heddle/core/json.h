// JSON text: checked, located, taken apart and quoted, never rebuilt, so that what a user wrote and what a script
// returned keep every digit and the order of their keys. The grammar is RFC 8259's and nothing but it; a JSON library's
// parser would take a byte order mark and what stands behind a NUL, refuse 1e400 and an escaped lone surrogate, and
// tell no positions. All scanning of JSON in Heddle is done here, by json_scan.h. Thread-safe: no function has state.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::core {

/// A value that is nested deeper is refused, whatever its length: what works on values recursively must not overflow.
inline constexpr std::size_t kMaxJsonDepth = 1000;
/// For kAnyJsonDepth a level of nesting costs one bit of memory and no stack: a bomb of brackets is only deep.
inline constexpr std::size_t kAnyJsonDepth = static_cast<std::size_t>(-1);

struct JsonFault {
  enum class Kind {
    encoding,  ///< not well-formed UTF-8
    syntax,    ///< not one JSON value
    too_deep,  ///< a value is nested deeper than was allowed; what stands behind it was not looked at
    refused,   ///< whoever was told of the parts wants no more (json_scan.h)
  };
  Kind kind = Kind::syntax;
  std::size_t offset = 0;  ///< in bytes
  std::string message;     ///< one line
};

/// Nothing when `text` is exactly one JSON value in well-formed UTF-8. An escaped lone surrogate is allowed, as the
/// grammar allows it: engines produce them, and as an escape it is plain ASCII.
[[nodiscard]] std::optional<JsonFault> check_json(std::string_view text, std::size_t max_depth = kAnyJsonDepth);

/// The same, for who only wants to know.
[[nodiscard]] bool is_json(std::string_view text, std::size_t max_depth = kMaxJsonDepth);
/// The same, and the value is an object.
[[nodiscard]] bool is_json_object(std::string_view text, std::size_t max_depth = kMaxJsonDepth);

[[nodiscard]] constexpr bool is_json_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// A member of an object, as parts of the object's text.
struct JsonMember {
  std::string_view name;  ///< with its quotation marks
  std::string_view value;
};

/// The members of an object in their order. `object` has passed is_json_object(); of other text it gives parts without
/// a meaning, but never one from outside of it. Costs time linear in the text, no stack and no memory, at any depth.
class JsonMembers {
 public:
  explicit JsonMembers(std::string_view object);
  /// Nothing after the last one.
  [[nodiscard]] std::optional<JsonMember> next();

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

/// The text of a member's value, or nothing. `name` is compared with the raw text between the quotes, which is enough
/// for names without escapes; the first of repeated ones counts. `object` as for JsonMembers.
[[nodiscard]] std::optional<std::string_view> json_member(std::string_view object, std::string_view name);

/// A member that is a string without escapes: what stands between its quotes. For words and codes that Heddle wrote.
[[nodiscard]] std::optional<std::string_view> json_word(std::string_view object, std::string_view name);

/// Appends a JSON string with its quotes, as JSON.stringify writes it. Text that is not well-formed UTF-8 gets U+FFFD
/// in place of what is not.
void append_json_string(std::string& out, std::string_view text);
[[nodiscard]] std::string quote_json(std::string_view text);

/// The characters of a JSON string that check_json() has let pass, quotation marks included; nothing when it has an
/// escaped lone surrogate, which no text can hold, or is no string.
[[nodiscard]] std::optional<std::string> unquote_json(std::string_view quoted);

/// JSON text in which every lone surrogate, escaped (`\ud800`) or encoded, and all else that is no UTF-8, became
/// U+FFFD. Everything else is as it was (JRN-4).
[[nodiscard]] std::string storable_json(std::string_view text);

}  // namespace heddle::core

// Recognises JSON text without building it. Facts keep values as text, so that they come back byte for byte (JRN-4).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::journal {

/// Arrays and objects may nest this deep: more than a script's result may.
inline constexpr std::size_t kMaxJsonDepth = 1024;

/// True for one JSON value by the grammar of RFC 8259 in well-formed UTF-8. An escaped lone surrogate is allowed, as
/// that grammar allows it: engines produce them, and as an escape it is plain ASCII. Allocates nothing; no recursion.
[[nodiscard]] bool is_json(std::string_view text) noexcept;

/// The same, and the value is an object.
[[nodiscard]] bool is_json_object(std::string_view text) noexcept;

/// The text of a member's value of an object that `is_json_object` accepts, or nothing. `name` is compared with the raw
/// text between the quotes, which is enough for names without escapes; the first of duplicates counts.
[[nodiscard]] std::optional<std::string_view> json_member(std::string_view object, std::string_view name) noexcept;

/// A member that is a string without escapes: what stands between its quotes. For words and codes that Heddle wrote.
[[nodiscard]] std::optional<std::string_view> json_word(std::string_view object, std::string_view name) noexcept;

/// Appends `text` as a JSON string with its quotes. `text` is well-formed UTF-8.
void append_json_string(std::string& out, std::string_view text);

}  // namespace heddle::journal

// JSON text, checked and located but never rebuilt, so that what a user wrote and what a script returned keep every
// digit and the order of their keys. The grammar is RFC 8259's and nothing but it; a JSON library's parser would take a
// byte order mark and what stands behind a NUL, refuse 1e400 and an escaped lone surrogate, and tell no positions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::core {

struct JsonFault {
  std::size_t offset = 0;  ///< in bytes
  std::string message;     ///< one line
};

/// Nothing when `text` is exactly one JSON value in well-formed UTF-8. A level of nesting costs one bit of memory and
/// no stack, so that a bomb of brackets is only a value that is deep.
[[nodiscard]] std::optional<JsonFault> check_json(std::string_view text);

[[nodiscard]] constexpr bool is_json_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace heddle::core

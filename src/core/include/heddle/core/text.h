// Text that came from a guest is bounded and made storable before anybody else sees it (JRN-4, SBX-6).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle::core {

/// A message or name of a guest's is at most this many UTF-16 code units.
inline constexpr std::size_t kMaxGuestTextUnits = 2048;

/// True for well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms, nothing past U+10FFFF).
[[nodiscard]] bool valid_utf8(std::string_view text) noexcept;

/// Offset of the first byte that is not well-formed UTF-8, or npos.
[[nodiscard]] std::size_t invalid_utf8_at(std::string_view text) noexcept;

/// Length in UTF-16 code units of well-formed UTF-8.
[[nodiscard]] std::size_t utf16_units(std::string_view text) noexcept;

/// At most `max_units` UTF-16 code units of well-formed UTF-8 without NUL, whatever came in: ill-formed sequences
/// (encoded lone surrogates too) and NUL become U+FFFD, and no character is cut in half.
[[nodiscard]] std::string bound_text(std::string_view text, std::size_t max_units = kMaxGuestTextUnits);

/// One line for a terminal: control characters (C0, C1, DEL) and line breaks become spaces, so that a guest's text
/// cannot drive the terminal that shows it.
[[nodiscard]] std::string printable_line(std::string_view text);

struct TextPosition {
  std::size_t line;    ///< from 1
  std::size_t column;  ///< from 1, in bytes
};
/// Where a byte offset stands in a text.
[[nodiscard]] TextPosition position_of(std::string_view text, std::size_t offset) noexcept;

}  // namespace heddle::core

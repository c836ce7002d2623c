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

/// The same, bounded by the bytes of what comes out.
[[nodiscard]] std::string bound_text_bytes(std::string_view text, std::size_t max_bytes);

struct CodePoint {
  char32_t code = 0;      ///< U+FFFD for an ill-formed sequence
  std::size_t bytes = 1;  ///< that it takes; at least 1
};
/// The character that begins at `at`, which is less than the text's size.
[[nodiscard]] CodePoint code_point_at(std::string_view text, std::size_t at) noexcept;

/// How a character behaves where people read it.
enum class Seen { as_it_is, control, hidden };
/// `control`: a terminal may obey it (C0, C1, DEL). `hidden`: it is not seen, or reorders or breaks what stands around
/// it: Unicode's default-ignorable characters (DerivedCoreProperties.txt: bidirectional controls, zero width, tags,
/// variation selectors, fillers), its line and paragraph separators, interlinear annotations.
[[nodiscard]] Seen seen_as(char32_t code) noexcept;

/// One line for people: control characters and line breaks become spaces, hidden characters U+FFFD, so that a guest's
/// text can neither drive the terminal that shows it nor look like what it is not (JAIL-22).
[[nodiscard]] std::string printable_line(std::string_view text);

struct TextPosition {
  std::size_t line;    ///< from 1
  std::size_t column;  ///< from 1, in bytes
};
/// Where a byte offset stands in a text.
[[nodiscard]] TextPosition position_of(std::string_view text, std::size_t offset) noexcept;

}  // namespace heddle::core

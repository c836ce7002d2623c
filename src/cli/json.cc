#include "json.h"

#include <fmt/format.h>

#include <algorithm>

#include "heddle/core/text.h"

namespace heddle::cli {
std::string fault_text(std::string_view text, const JsonFault& fault) {
  const auto position = core::position_of(text, fault.offset);
  return fmt::format("line {}, column {}: {}", position.line, position.column, fault.message);
}

std::string terminal_safe_json(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const core::CodePoint c = core::code_point_at(text, at);
    const bool layout = c.code == '\n' || c.code == '\t';
    if (layout || core::seen_as(c.code) == core::Seen::as_it_is) {
      safe += c.code == 0xFFFD ? std::string_view("\xEF\xBF\xBD") : text.substr(at, c.bytes);
    } else if (c.code < 0x10000) {
      safe += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(c.code));
    } else {
      const auto pair = static_cast<std::uint32_t>(c.code) - 0x10000;
      safe += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (pair >> 10U), 0xDC00 + (pair & 0x3FFU));
    }
    at += c.bytes;
  }
  return safe;
}

std::string embedded_json(std::string_view text) {
  if (check_json(text)) return quote_json(text);
  std::string line(text);
  // Line breaks can only stand between tokens; inside a string they are escapes.
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::replace(line.begin(), line.end(), '\r', ' ');
  return line;
}

}  // namespace heddle::cli

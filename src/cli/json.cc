#include "json.h"

#include <fmt/format.h>

#include "heddle/core/text.h"

namespace heddle::cli {
std::string fault_text(std::string_view text, const JsonFault& fault) {
  const auto position = core::position_of(text, fault.offset);
  return fmt::format("line {}, column {}: {}", position.line, position.column, fault.message);
}

std::string terminal_safe_json(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const auto next = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0U;
    if (byte == 0x7F) {
      safe += "\\u007f";
    } else if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {
      safe += fmt::format("\\u{:04x}", next);
      ++at;
    } else {
      safe += text[at];
    }
  }
  return safe;
}

}  // namespace heddle::cli

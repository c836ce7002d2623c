#include "heddle/core/text.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace heddle::core {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Character {
  std::size_t bytes;  // at least 1, even when ill-formed
  bool well_formed;
  bool astral;  // two UTF-16 units
};

bool continuation(unsigned char byte) { return (byte & 0xC0U) == 0x80U; }

// One character by table 3-7 of the Unicode standard. Of an ill-formed sequence the maximal part that could have begun
// a character is taken, so that each is replaced once.
Character decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const std::size_t left = text.size() - at;
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, true, false};
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {1, false, false};
  }
  if (left < 2 || byte(1) < low || byte(1) > high) return {1, false, false};
  for (std::size_t i = 2; i < length; ++i) {
    if (left <= i || !continuation(byte(i))) return {i, false, false};
  }
  return {length, true, length == 4};
}

// An encoded surrogate (ED A0..BF 80..BF) is three bytes but one replacement, as a lone surrogate is one unit.
bool encoded_surrogate(std::string_view text, std::size_t at) {
  return text.size() - at >= 3 && static_cast<unsigned char>(text[at]) == 0xED &&
         static_cast<unsigned char>(text[at + 1]) >= 0xA0 && continuation(static_cast<unsigned char>(text[at + 1])) &&
         continuation(static_cast<unsigned char>(text[at + 2]));
}

// How much of the text's beginning is ASCII other than NUL: nearly all text is nothing else, and needs no decoding.
std::size_t plain_bytes(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && static_cast<unsigned char>(text[at] - 1) < 0x7F) ++at;
  return at;
}

}  // namespace

std::size_t invalid_utf8_at(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    // Most text is ASCII for long stretches: eight bytes at a time while none has its high bit set.
    std::uint64_t eight = 0;
    while (text.size() - at >= sizeof eight) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080'8080'8080'8080U) != 0) break;
      at += sizeof eight;
    }
    if (at == text.size()) break;
    const Character c = decode(text, at);
    if (!c.well_formed) return at;
    at += c.bytes;
  }
  return std::string_view::npos;
}

bool valid_utf8(std::string_view text) noexcept { return invalid_utf8_at(text) == std::string_view::npos; }

std::size_t utf16_units(std::string_view text) noexcept {
  std::size_t units = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = decode(text, at);
    units += c.astral ? 2 : 1;
    at += c.bytes;
  }
  return units;
}

std::string bound_text(std::string_view text, std::size_t max_units) {
  const std::size_t plain = std::min(plain_bytes(text), max_units);
  std::string bounded(text.substr(0, plain));
  std::size_t units = plain;
  for (std::size_t at = plain; at < text.size();) {
    const Character c = decode(text, at);
    const std::size_t cost = c.astral ? 2 : 1;
    if (units + cost > max_units) break;
    units += cost;
    if (!c.well_formed || text[at] == '\0') {
      bounded += kReplacement;
      at += encoded_surrogate(text, at) ? 3 : c.bytes;
    } else {
      bounded += text.substr(at, c.bytes);
      at += c.bytes;
    }
  }
  return bounded;
}

std::string printable_line(std::string_view text) {
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = decode(text, at);
    const auto lead = static_cast<unsigned char>(text[at]);
    const bool c1 = c.bytes == 2 && lead == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0;
    if (!c.well_formed) {
      line += kReplacement;
    } else if (lead < 0x20 || lead == 0x7F || c1) {
      line += ' ';
    } else {
      line += text.substr(at, c.bytes);
    }
    at += c.bytes;
  }
  return line;
}

TextPosition position_of(std::string_view text, std::size_t offset) noexcept {
  TextPosition position{1, 1};
  for (std::size_t at = 0; at < offset && at < text.size(); ++at) {
    if (text[at] == '\n') {
      ++position.line;
      position.column = 1;
    } else {
      ++position.column;
    }
  }
  return position;
}

}  // namespace heddle::core

#include "heddle/core/text.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "linked.h"

namespace heddle::core {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Range {
  char32_t first;
  char32_t last;
};
// Ascending: Default_Ignorable_Code_Point, U+2028-2029, U+FFF9-FFFB; and the braille pattern without a dot.
constexpr Range kHidden[] = {
    {0x00AD, 0x00AD}, {0x034F, 0x034F}, {0x061C, 0x061C}, {0x115F, 0x1160},   {0x17B4, 0x17B5},   {0x180B, 0x180F},
    {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F}, {0x2800, 0x2800},   {0x3164, 0x3164},   {0xFE00, 0xFE0F},
    {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};

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

CodePoint code_point_at(std::string_view text, std::size_t at) noexcept {
  const Character c = decode(text, at);
  if (!c.well_formed) return {0xFFFD, c.bytes};
  const auto lead = static_cast<unsigned char>(text[at]);
  char32_t code = c.bytes == 1 ? lead : lead & (0x7FU >> c.bytes);
  for (std::size_t i = 1; i < c.bytes; ++i) code = code << 6U | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  return {code, c.bytes};
}

Seen seen_as(char32_t code) noexcept {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return Seen::control;
  const auto* range = std::find_if(std::begin(kHidden), std::end(kHidden), [&](Range r) { return code <= r.last; });
  return range != std::end(kHidden) && code >= range->first ? Seen::hidden : Seen::as_it_is;
}

std::string bound_text_bytes(std::string_view text, std::size_t max_bytes) {
  const std::size_t plain = std::min(plain_bytes(text), max_bytes);
  std::string bounded(text.substr(0, plain));
  for (std::size_t at = plain; at < text.size();) {
    const Character c = decode(text, at);
    const bool replaced = !c.well_formed || text[at] == '\0';
    const std::string_view piece = replaced ? kReplacement : text.substr(at, c.bytes);
    if (bounded.size() + piece.size() > max_bytes) break;
    bounded += piece;
    at += replaced && encoded_surrogate(text, at) ? 3 : c.bytes;
  }
  return bounded;
}

std::string printable_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    const Seen seen = seen_as(c.code);
    if (seen == Seen::control) {
      line += ' ';
    } else if (seen == Seen::hidden || c.code == 0xFFFD) {
      line += kReplacement;
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

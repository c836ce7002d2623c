#include "json_text.h"

#include <cstdint>

#include "heddle/core/text.h"

namespace heddle::engine {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The code unit of an escape `\uXXXX` at `at`, or -1.
std::int32_t escaped_unit(std::string_view text, std::size_t at) {
  if (text.size() - at < 6 || text[at] != '\\' || text[at + 1] != 'u') return -1;
  std::int32_t unit = 0;
  for (std::size_t i = at + 2; i < at + 6; ++i) {
    const char c = text[i];
    std::int32_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      digit = c - 'a' + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = c - 'A' + 10;
    } else {
      return -1;
    }
    unit = unit * 16 + digit;
  }
  return unit;
}

bool is_high(std::int32_t unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool is_low(std::int32_t unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

std::string replace_escapes(std::string_view text, std::size_t first) {
  std::string out;
  out.reserve(text.size());
  std::size_t copied = 0;
  for (std::size_t at = first; at != std::string_view::npos; at = text.find('\\', at)) {
    const std::int32_t unit = escaped_unit(text, at);
    if (is_high(unit) && is_low(at + 6 < text.size() ? escaped_unit(text, at + 6) : -1)) {
      at += 12;
    } else if (is_high(unit) || is_low(unit)) {
      out.append(text, copied, at - copied).append(kReplacement);
      at += 6;
      copied = at;
    } else {
      at += 2;
    }
    if (at >= text.size()) break;
  }
  return out.append(text, copied);
}

// Each byte that begins no character becomes one U+FFFD, except that an encoded surrogate's three become one.
std::string replace_encoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bad = core::invalid_utf8_at(text);
    out.append(text.substr(0, bad));
    if (bad == std::string_view::npos) break;
    text.remove_prefix(bad);
    out.append(kReplacement);
    const bool surrogate = text.size() >= 3 && text[0] == '\xED' && (text[1] & '\xE0') == '\xA0';
    text.remove_prefix(surrogate ? 3 : 1);
  }
  return out;
}

}  // namespace

std::string storable_json(std::string_view text) {
  const std::size_t escape = text.find('\\');
  std::string out = escape == std::string_view::npos ? std::string(text) : replace_escapes(text, escape);
  return core::valid_utf8(out) ? out : replace_encoded(out);
}

}  // namespace heddle::engine

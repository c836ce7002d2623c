#include "heddle/core/json.h"

#include <algorithm>
#include <cstdint>

#include "heddle/core/json_scan.h"
#include "heddle/core/text.h"
#include "linked.h"

namespace heddle::core {
namespace {

constexpr std::string_view kReplaced = "\xEF\xBF\xBD";

bool is_high(std::int32_t unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool is_low(std::int32_t unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

// The code unit of an escape `\uXXXX` at `at`, or -1.
std::int32_t escaped_unit(std::string_view text, std::size_t at) {
  if (at >= text.size() || text.size() - at < 6 || text[at] != '\\' || text[at + 1] != 'u') return -1;
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

void append_utf8(std::string& out, std::int32_t point) {
  const auto byte = [&](std::int32_t value) { out += static_cast<char>(static_cast<unsigned char>(value)); };
  if (point < 0x80) {
    byte(point);
  } else if (point < 0x800) {
    byte(0xC0 | point >> 6);
    byte(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    byte(0xE0 | point >> 12);
    byte(0x80 | (point >> 6 & 0x3F));
    byte(0x80 | (point & 0x3F));
  } else {
    byte(0xF0 | point >> 18);
    byte(0x80 | (point >> 12 & 0x3F));
    byte(0x80 | (point >> 6 & 0x3F));
    byte(0x80 | (point & 0x3F));
  }
}

// The end of the string that begins at `at`; of text that ends in it, the text's end.
std::size_t string_end(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\') ++at;
  }
  return text.size();
}

// What stands in a string is appended up to a byte that needs an escape.
std::size_t plain_run(std::string_view text, std::size_t at) {
  while (at < text.size() && static_cast<unsigned char>(text[at]) >= 0x20 && text[at] != '"' && text[at] != '\\') ++at;
  return at;
}

void append_escaped(std::string& out, std::string_view text) {
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetter = "\"\\bfnrt";
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (std::size_t at = 0;;) {
    const std::size_t end = plain_run(text, at);
    out.append(text, at, end - at);
    if (end == text.size()) return;
    const std::size_t found = kShort.find(text[end]);
    out += '\\';
    if (found != std::string_view::npos) {
      out += kLetter[found];
    } else {
      const auto byte = static_cast<unsigned char>(text[end]);
      out += "u00";
      out += kDigits[byte >> 4U];
      out += kDigits[byte & 15U];
    }
    at = end + 1;
  }
}

// Each byte that begins no character becomes one U+FFFD, except that an encoded surrogate's three become one.
std::string replace_encoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bad = invalid_utf8_at(text);
    out.append(text.substr(0, bad));
    if (bad == std::string_view::npos) break;
    text.remove_prefix(bad);
    out.append(kReplaced);
    const bool surrogate = text.size() >= 3 && text[0] == '\xED' && (text[1] & '\xE0') == '\xA0';
    text.remove_prefix(surrogate ? 3 : 1);
  }
  return out;
}

std::string replace_escapes(std::string_view text, std::size_t first) {
  std::string out;
  out.reserve(text.size());
  std::size_t copied = 0;
  for (std::size_t at = first; at < text.size(); at = text.find('\\', at)) {
    const std::int32_t unit = escaped_unit(text, at);
    if (is_high(unit) && is_low(escaped_unit(text, at + 6))) {
      at += 12;
    } else if (is_high(unit) || is_low(unit)) {
      out.append(text, copied, at - copied).append(kReplaced);
      at += 6;
      copied = at;
    } else {
      at += 2;
    }
    if (at >= text.size()) break;
  }
  return out.append(text, copied);
}

}  // namespace

std::optional<JsonFault> check_json(std::string_view text, std::size_t max_depth) {
  JsonDeaf deaf;
  return scan_json(text, deaf, max_depth);
}

bool is_json(std::string_view text, std::size_t max_depth) { return !check_json(text, max_depth); }

bool is_json_object(std::string_view text, std::size_t max_depth) {
  std::size_t at = 0;
  while (at < text.size() && is_json_space(text[at])) ++at;
  return at < text.size() && text[at] == '{' && is_json(text, max_depth);
}

JsonMembers::JsonMembers(std::string_view object) : text_(object), at_(object.find('{')) {
  at_ = at_ == std::string_view::npos ? text_.size() : at_ + 1;
}

std::optional<JsonMember> JsonMembers::next() {
  const auto skip = [this](char also) {
    while (at_ < text_.size() && (is_json_space(text_[at_]) || text_[at_] == also)) ++at_;
  };
  skip(',');
  if (at_ >= text_.size() || text_[at_] != '"') return std::nullopt;
  const std::size_t name_at = at_;
  at_ = string_end(text_, at_);
  const std::string_view name = text_.substr(name_at, at_ - name_at);
  skip(':');
  const std::size_t begin = at_;
  for (std::size_t depth = 0; at_ < text_.size();) {
    const char c = text_[at_];
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) break;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    at_ = c == '"' ? string_end(text_, at_) : at_ + 1;
  }
  std::size_t end = at_;
  while (end > begin && is_json_space(text_[end - 1])) --end;
  return JsonMember{name, text_.substr(begin, end - begin)};
}

std::optional<std::string_view> json_member(std::string_view object, std::string_view name) {
  JsonMembers members(object);
  while (const auto member = members.next()) {
    if (member->name.size() == name.size() + 2 && member->name.substr(1, name.size()) == name) return member->value;
  }
  return std::nullopt;
}

std::optional<std::string_view> json_word(std::string_view object, std::string_view name) {
  const auto value = json_member(object, name);
  if (!value || value->size() < 2 || value->front() != '"') return std::nullopt;
  return value->substr(1, value->size() - 2);
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  if (valid_utf8(text)) {
    append_escaped(out, text);
  } else {
    append_escaped(out, replace_encoded(text));
  }
  out += '"';
}

std::string quote_json(std::string_view text) {
  std::string quoted;
  append_json_string(quoted, text);
  return quoted;
}

LoneSurrogate decode_json_string(std::string& out, std::string_view quoted) {
  const std::string_view text = quoted.substr(1, quoted.size() - 2);
  LoneSurrogate lone = LoneSurrogate::none;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t slash = std::min(text.find('\\', at), text.size());
    out.append(text, at, slash - at);
    at = slash;
    if (at + 1 >= text.size()) break;
    constexpr std::string_view kLetter = "bfnrt";
    constexpr std::string_view kMeant = "\b\f\n\r\t";
    const char c = text[at + 1];
    if (c != 'u') {
      const std::size_t found = kLetter.find(c);
      out += found == std::string_view::npos ? c : kMeant[found];
      at += 2;
      continue;
    }
    const std::int32_t unit = escaped_unit(text, at);
    const std::int32_t next = is_high(unit) ? escaped_unit(text, at + 6) : -1;
    at += 6;
    if (is_low(next)) {
      append_utf8(out, 0x10000 + ((unit - 0xD800) << 10) + (next - 0xDC00));
      at += 6;
    } else if (is_high(unit) || is_low(unit)) {
      out += kReplaced;
      lone = LoneSurrogate::replaced;
    } else {
      append_utf8(out, unit);
    }
  }
  return lone;
}

std::optional<std::string> unquote_json(std::string_view quoted) {
  if (quoted.size() < 2 || quoted.front() != '"') return std::nullopt;
  std::string text;
  if (decode_json_string(text, quoted) == LoneSurrogate::replaced) return std::nullopt;
  return text;
}

std::string storable_json(std::string_view text) {
  const std::size_t escape = text.find('\\');
  std::string out = escape == std::string_view::npos ? std::string(text) : replace_escapes(text, escape);
  return valid_utf8(out) ? out : replace_encoded(out);
}

}  // namespace heddle::core

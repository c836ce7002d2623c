#include "json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "heddle/core/text.h"

namespace heddle::cli {
namespace {

using nlohmann::json;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

class Checker {
 public:
  explicit Checker(std::string_view text) : text_(text) {}

  std::optional<JsonFault> run() {
    // Each turn reads one value and what closes behind it.
    do {
      if (!begin_value() || !after_value()) return fault_;
    } while (!done_);
    return std::nullopt;
  }

 private:
  enum class Nesting : bool { array, object };

  bool fail(std::string message) {
    fault_.offset = at_;
    fault_.message = at_ < text_.size() ? std::move(message) : message + ", but the text ends";
    return false;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  // Opens as many arrays and objects as stand before the next scalar or empty container.
  bool begin_value() {
    for (;;) {
      skip_space();
      switch (peek()) {
        case '[':
          ++at_;
          skip_space();
          nesting_.push_back(static_cast<bool>(Nesting::array));
          if (peek() == ']') return true;
          continue;
        case '{':
          ++at_;
          skip_space();
          nesting_.push_back(static_cast<bool>(Nesting::object));
          if (peek() == '}') return true;
          if (!key()) return false;
          continue;
        case '"':
          return string();
        case 't':
          return word("true");
        case 'f':
          return word("false");
        case 'n':
          return word("null");
        default:
          return number();
      }
    }
  }

  // Closes what ends here; true before the next value or at the end of the text.
  bool after_value() {
    for (;;) {
      skip_space();
      if (nesting_.empty()) {
        done_ = true;
        return at_ == text_.size() || fail("there is more after the value");
      }
      const bool object = nesting_.back() == static_cast<bool>(Nesting::object);
      if (peek() == ',') {
        ++at_;
        skip_space();
        return !object || key();
      }
      if (peek() != (object ? '}' : ']'))
        return fail(object ? "',' or '}' must stand here" : "',' or ']' must stand here");
      ++at_;
      nesting_.pop_back();
    }
  }

  bool key() {
    if (peek() != '"') return fail("a key in quotation marks must stand here");
    if (!string()) return false;
    skip_space();
    if (peek() != ':') return fail("':' must stand here");
    ++at_;
    return true;
  }

  bool word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return fail("a JSON value must stand here");
    at_ += expected.size();
    return true;
  }

  bool digits() {
    if (!is_digit(peek())) return fail("a digit must stand here");
    while (is_digit(peek())) ++at_;
    return true;
  }

  bool number() {
    if (peek() != '-' && !is_digit(peek())) return fail("a JSON value must stand here");
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
    } else if (!digits()) {
      return false;
    }
    if (peek() == '.') {
      ++at_;
      if (!digits()) return false;
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) return false;
    }
    return true;
  }

  bool string() {
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) return fail("a control character in a string must be an escape");
      if (c == '\\' && !escape()) return false;
    }
    return fail("a quotation mark must end the string");
  }

  bool escape() {
    ++at_;
    if (peek() != 'u')
      return std::string_view("\"\\/bfnrt").find(peek()) != std::string_view::npos || fail("this escape is not JSON");
    for (int i = 0; i < 4; ++i) {
      ++at_;
      if (!is_hex(peek())) return fail("four hexadecimal digits must stand here");
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<bool> nesting_;
  bool done_ = false;
  JsonFault fault_;
};

// The end of the string that begins at `at`, in valid JSON.
std::size_t string_end(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

}  // namespace

std::optional<JsonFault> check_json(std::string_view text) {
  if (const auto at = core::invalid_utf8_at(text); at != std::string_view::npos)
    return JsonFault{at, fmt::format("byte {} is not valid UTF-8", at)};
  return Checker(text).run();
}

std::string fault_text(std::string_view text, const JsonFault& fault) {
  const auto position = core::position_of(text, fault.offset);
  return fmt::format("line {}, column {}: {}", position.line, position.column, fault.message);
}

std::string quote_json(std::string_view text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<std::string> unquote_json(std::string_view quoted) {
  const json value = json::parse(quoted, nullptr, false);
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

std::vector<Member> members_of(std::string_view object) {
  std::vector<Member> members;
  std::size_t at = object.find('{') + 1;
  const auto skip_space = [&] {
    while (at < object.size() && is_space(object[at])) ++at;
  };
  for (skip_space(); at < object.size() && object[at] == '"'; skip_space()) {
    const std::size_t key = at;
    at = string_end(object, at);
    const auto key_text = object.substr(key, at - key);
    skip_space();
    ++at;  // the colon
    skip_space();
    const std::size_t begin = at;
    for (std::size_t depth = 0; at < object.size();) {
      const char c = object[at];
      if (depth == 0 && (c == ',' || c == '}')) break;
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      at = c == '"' ? string_end(object, at) : at + 1;
    }
    std::size_t end = at;
    while (end > begin && is_space(object[end - 1])) --end;
    members.push_back({key_text, object.substr(begin, end - begin)});
    if (at < object.size() && object[at] == ',') ++at;
  }
  return members;
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

#include "heddle/core/json.h"

#include <vector>

#include "heddle/core/text.h"

namespace heddle::core {
namespace {

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
    while (at_ < text_.size() && is_json_space(text_[at_])) ++at_;
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

}  // namespace

std::optional<JsonFault> check_json(std::string_view text) {
  if (const auto at = invalid_utf8_at(text); at != std::string_view::npos)
    return JsonFault{at, "byte " + std::to_string(at) + " is not valid UTF-8"};
  return Checker(text).run();
}

}  // namespace heddle::core

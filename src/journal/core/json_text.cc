#include "heddle/journal/core/json_text.h"

#include <bitset>

#include "heddle/core/text.h"

namespace heddle::journal {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool hex_digit(char c) { return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  [[nodiscard]] bool done() const { return at_ == text_.size(); }
  [[nodiscard]] std::size_t at() const { return at_; }

  void blanks() {
    while (!done() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  }

  bool take(char c) {
    if (done() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool string() {
    if (!take('"')) return false;
    while (!done()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c == '\\' && !escape()) return false;
    }
    return false;
  }

  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      return digits();
    }
    return true;
  }

  // A value and whatever it holds. One bit a level says whether the level is an object.
  bool value() {
    std::bitset<kMaxJsonDepth> object;
    std::size_t depth = 0;
    for (;;) {
      blanks();
      if (done()) return false;
      const char c = text_[at_];
      if (c == '{' || c == '[') {
        if (depth == kMaxJsonDepth) return false;
        ++at_;
        object[depth++] = c == '{';
        blanks();
        if (!take(c == '{' ? '}' : ']')) {
          if (c == '{' && !name()) return false;
          continue;
        }
        --depth;
      } else if (!scalar(c)) {
        return false;
      }
      // A value has ended: close what ends with it, or go on to the next one.
      for (;; --depth) {
        if (depth == 0) return true;
        blanks();
        if (take(',')) {
          if (object[depth - 1] && !name()) return false;
          break;
        }
        if (!take(object[depth - 1] ? '}' : ']')) return false;
      }
    }
  }

  // A member's name and its colon.
  bool name() {
    blanks();
    if (!string()) return false;
    blanks();
    return take(':');
  }

 private:
  bool scalar(char c) {
    switch (c) {
      case '"':
        return string();
      case 't':
        return take_word("true");
      case 'f':
        return take_word("false");
      case 'n':
        return take_word("null");
      default:
        return number();
    }
  }

  bool digits() {
    const std::size_t begin = at_;
    while (!done() && digit(text_[at_])) ++at_;
    return at_ != begin;
  }

  bool escape() {
    if (done()) return false;
    const char c = text_[at_++];
    if (c != 'u') return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (done() || !hex_digit(text_[at_])) return false;
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_json(std::string_view text) noexcept {
  Scanner scanner(text);
  if (!scanner.value()) return false;
  scanner.blanks();
  return scanner.done() && core::valid_utf8(text);
}

bool is_json_object(std::string_view text) noexcept {
  Scanner scanner(text);
  scanner.blanks();
  return scanner.take('{') && is_json(text);
}

std::optional<std::string_view> json_member(std::string_view object, std::string_view name) noexcept {
  Scanner scanner(object);
  scanner.blanks();
  if (!scanner.take('{')) return std::nullopt;
  do {
    scanner.blanks();
    const std::size_t name_at = scanner.at();
    if (!scanner.string()) return std::nullopt;
    const std::string_view found = object.substr(name_at + 1, scanner.at() - name_at - 2);
    scanner.blanks();
    if (!scanner.take(':')) return std::nullopt;
    scanner.blanks();
    const std::size_t value_at = scanner.at();
    if (!scanner.value()) return std::nullopt;
    if (found == name) return object.substr(value_at, scanner.at() - value_at);
    scanner.blanks();
  } while (scanner.take(','));
  return std::nullopt;
}

std::optional<std::string_view> json_word(std::string_view object, std::string_view name) noexcept {
  const auto value = json_member(object, name);
  if (!value || value->size() < 2 || value->front() != '"') return std::nullopt;
  return value->substr(1, value->size() - 2);
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view digits_of_hex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += digits_of_hex[static_cast<unsigned char>(c) >> 4U];
      out += digits_of_hex[static_cast<unsigned char>(c) & 15U];
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace heddle::journal

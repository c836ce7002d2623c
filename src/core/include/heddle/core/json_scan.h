// The one scanner of JSON text, as a template over who is told of the parts (RFC 8259). json.h is what most need; this
// header is for who reads values on the way: the messages of a wire, the round trip of a value.
#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/json.h"
#include "heddle/core/text.h"

namespace heddle::core {

/// Whether each open level is an object: one bit a level, in memory of its own only past the first thousand.
class JsonLevels {
 public:
  [[nodiscard]] std::size_t depth() const { return depth_; }
  [[nodiscard]] bool in_object() const {
    return depth_ <= kNear ? near_[depth_ - 1] : static_cast<bool>(far_[depth_ - 1 - kNear]);
  }
  void open(bool object) {
    if (depth_ < kNear) {
      near_[depth_] = object;
    } else {
      far_.push_back(object);
    }
    ++depth_;
  }
  void close() {
    if (depth_ > kNear) far_.pop_back();
    --depth_;
  }

 private:
  static constexpr std::size_t kNear = 1024;
  std::bitset<kNear> near_;
  std::vector<bool> far_;
  std::size_t depth_ = 0;
};

/// Who is told of nothing.
struct JsonDeaf {
  static bool open(bool /*object*/) { return true; }
  static bool close(bool /*object*/) { return true; }
  static bool name(std::string_view /*quoted*/) { return true; }
  static bool string(std::string_view /*quoted*/) { return true; }
  static bool number(std::string_view /*text*/) { return true; }
  static bool word(std::string_view /*text*/) { return true; }
};

/// Tells `events` of each part in its order, as views into the text: strings and names with their quotes and escapes,
/// `word` is true, false or null. One of them that returns false ends the scan with JsonFault::Kind::refused. Events
/// come before the end of the text was seen, so they count only when scan() gives no fault. No recursion.
template <class Events>
class JsonScan {
 public:
  JsonScan(std::string_view text, Events& events, std::size_t max_depth)
      : text_(text), events_(events), max_depth_(max_depth) {}

  [[nodiscard]] std::optional<JsonFault> scan() {
    if (const std::size_t at = invalid_utf8_at(text_); at != std::string_view::npos) {
      return JsonFault{JsonFault::Kind::encoding, at, "byte " + std::to_string(at) + " is not valid UTF-8"};
    }
    // Each turn reads one value and what closes behind it.
    do {
      if (!begin_value() || !after_value()) return fault_;
    } while (!done_);
    return std::nullopt;
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

  bool fail(std::string_view message) {
    fault_.offset = at_;
    fault_.message = message;
    if (at_ >= text_.size()) fault_.message += ", but the text ends";
    return false;
  }
  bool told(bool go_on) {
    if (!go_on) {
      fault_ = {JsonFault::Kind::refused, at_, "refused"};
    }
    return go_on;
  }
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (at_ < text_.size() && is_json_space(text_[at_])) ++at_;
  }

  // Opens as many arrays and objects as stand before the next scalar or empty container.
  bool begin_value() {
    for (;;) {
      skip_space();
      const char c = peek();
      switch (c) {
        case '[':
        case '{':
          if (!open(c == '{')) return false;
          if (peek() == (c == '{' ? '}' : ']')) return true;
          if (c == '{' && !name()) return false;
          continue;
        case '"': {
          const std::size_t from = at_;
          return string() && told(events_.string(text_.substr(from, at_ - from)));
        }
        case 't':
          return word("true");
        case 'f':
          return word("false");
        case 'n':
          return word("null");
        default: {
          const std::size_t from = at_;
          return number() && told(events_.number(text_.substr(from, at_ - from)));
        }
      }
    }
  }

  bool open(bool object) {
    if (levels_.depth() >= max_depth_) {
      fault_ = {JsonFault::Kind::too_deep, at_, "nested more than " + std::to_string(max_depth_) + " levels deep"};
      return false;
    }
    if (!told(events_.open(object))) return false;
    ++at_;
    levels_.open(object);
    skip_space();
    return true;
  }

  // Closes what ends here; true before the next value or at the end of the text.
  bool after_value() {
    for (;;) {
      skip_space();
      if (levels_.depth() == 0) {
        done_ = true;
        return at_ == text_.size() || fail("there is more after the value");
      }
      const bool object = levels_.in_object();
      const char c = peek();
      if (c == ',') {
        ++at_;
        skip_space();
        return !object || name();
      }
      if (c != (object ? '}' : ']')) return fail(object ? "',' or '}' must stand here" : "',' or ']' must stand here");
      ++at_;
      levels_.close();
      if (!told(events_.close(object))) return false;
    }
  }

  bool name() {
    if (peek() != '"') return fail("a key in quotation marks must stand here");
    const std::size_t from = at_;
    if (!string() || !told(events_.name(text_.substr(from, at_ - from)))) return false;
    skip_space();
    if (peek() != ':') return fail("':' must stand here");
    ++at_;
    return true;
  }

  bool word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return fail("a JSON value must stand here");
    at_ += expected.size();
    return told(events_.word(expected));
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
    if (peek() != 'u') {
      return (peek() != '\0' && std::string_view("\"\\/bfnrt").find(peek()) != std::string_view::npos) ||
             fail("this escape is not JSON");
    }
    for (int i = 0; i < 4; ++i) {
      ++at_;
      if (!is_hex(peek())) return fail("four hexadecimal digits must stand here");
    }
    return true;
  }

  std::string_view text_;
  Events& events_;
  std::size_t max_depth_;
  std::size_t at_ = 0;
  JsonLevels levels_;
  bool done_ = false;
  JsonFault fault_;
};

/// Scans `text`; nothing when it is exactly one JSON value and all of it was told.
template <class Events>
[[nodiscard]] std::optional<JsonFault> scan_json(std::string_view text, Events& events,
                                                 std::size_t max_depth = kAnyJsonDepth) {
  return JsonScan<Events>(text, events, max_depth).scan();
}

enum class LoneSurrogate : bool { none, replaced };

/// Appends the characters of a JSON string that was scanned, without its quotes; an escaped lone surrogate becomes
/// U+FFFD, which is told.
LoneSurrogate decode_json_string(std::string& out, std::string_view quoted);

}  // namespace heddle::core

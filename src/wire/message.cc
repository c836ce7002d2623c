#include "heddle/wire/message.h"

#include <charconv>
#include <optional>

#include "heddle/core/json_scan.h"
#include "heddle/core/text.h"

namespace heddle::wire {
namespace {

constexpr std::size_t kMaxFields = 64;

core::Error refuse(std::string_view what) { return core::make_error(core::Errc::protocol, "read a message", what); }

}  // namespace

// What the scanner tells of (core/json_scan.h): the object is never built, so nothing nested costs memory. Each false
// ends the scan.
class MessageReader {
 public:
  bool open(bool object) {
    if (!object) return fail("an array");
    if (inside_) return fail("an object in an object");
    inside_ = true;
    return true;
  }
  static bool close(bool /*object*/) { return true; }
  bool name(std::string_view quoted) {
    auto name = text_of(quoted);
    if (!name) return false;
    if (fields_.size() >= kMaxFields) return fail("too many fields");
    if (fields_.find(*name) != fields_.end()) return fail("the field \"" + core::bound_text(*name, 64) + "\" twice");
    name_ = std::move(*name);
    return true;
  }
  bool string(std::string_view quoted) {
    auto text = text_of(quoted);
    return text && value(Message::Value(std::move(*text)));
  }
  bool number(std::string_view text) {
    std::uint64_t number = 0;
    if (text.front() == '-') return fail("a negative number");
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return fail("a number that is not whole");
    return value(Message::Value(number));
  }
  bool word(std::string_view text) {
    if (text == "null") return fail("null");
    return value(Message::Value(text == "true"));
  }

  core::Result<Message> finish() {
    if (!problem_.empty()) return refuse(problem_);
    const auto op = fields_.find(std::string_view("op"));
    if (op == fields_.end() || !std::holds_alternative<std::string>(op->second)) return refuse("no \"op\"");
    Message message(*std::get_if<std::string>(&op->second));
    fields_.erase(op);
    message.fields_ = std::move(fields_);
    return message;
  }

  bool fail(std::string_view what) {
    if (problem_.empty()) problem_ = what;
    return false;
  }

 private:
  std::optional<std::string> text_of(std::string_view quoted) {
    auto text = core::unquote_json(quoted);
    if (!text) (void)fail("a lone surrogate");
    return text;
  }
  bool value(Message::Value value) {
    if (!inside_) return fail("no object");
    fields_.emplace(std::move(name_), std::move(value));
    return true;
  }

  std::map<std::string, Message::Value, std::less<>> fields_;
  std::string name_;
  std::string problem_;
  bool inside_ = false;
};

core::Result<Message> Message::parse(std::string_view json) {
  MessageReader reader;
  if (const auto fault = core::scan_json(json, reader)) {
    (void)reader.fail("text that is not JSON at byte " + std::to_string(fault->offset));  // keeps an earlier reason
  }
  return reader.finish();
}

Message& Message::set(std::string_view name, std::string_view text) {
  HEDDLE_CHECK(core::valid_utf8(text));
  fields_.insert_or_assign(std::string(name), Value(std::string(text)));
  return *this;
}

Message& Message::set(std::string_view name, std::uint64_t number) {
  fields_.insert_or_assign(std::string(name), Value(number));
  return *this;
}

Message& Message::set(std::string_view name, bool flag) {
  fields_.insert_or_assign(std::string(name), Value(flag));
  return *this;
}

std::string Message::text() const {
  std::string text = R"({"op":)" + core::quote_json(op_);
  for (const auto& [name, value] : fields_) {
    text += ',' + core::quote_json(name) + ':';
    if (const auto* words = std::get_if<std::string>(&value)) {
      text += core::quote_json(*words);
    } else if (const auto* number = std::get_if<std::uint64_t>(&value)) {
      text += std::to_string(*number);
    } else {
      text += *std::get_if<bool>(&value) ? "true" : "false";
    }
  }
  return text + '}';
}

core::Result<void> Message::expect(std::string_view op) const {
  if (op_ == op) return {};
  return refuse("\"" + core::bound_text(core::printable_line(op_), 64) + "\" where \"" + std::string(op) +
                "\" was due");
}

core::Result<std::string> Message::take_string(std::string_view name) {
  const auto field = fields_.find(name);
  if (field == fields_.end() || !std::holds_alternative<std::string>(field->second)) {
    return refuse(op_ + " has no text \"" + std::string(name) + "\"");
  }
  std::string text = std::move(*std::get_if<std::string>(&field->second));
  fields_.erase(field);
  return text;
}

core::Result<std::uint64_t> Message::take_number(std::string_view name, std::uint64_t maximum) {
  const auto field = fields_.find(name);
  if (field == fields_.end() || !std::holds_alternative<std::uint64_t>(field->second)) {
    return refuse(op_ + " has no number \"" + std::string(name) + "\"");
  }
  const std::uint64_t number = *std::get_if<std::uint64_t>(&field->second);
  if (number > maximum) return refuse(op_ + ": \"" + std::string(name) + "\" is over " + std::to_string(maximum));
  fields_.erase(field);
  return number;
}

core::Result<bool> Message::take_bool(std::string_view name) {
  const auto field = fields_.find(name);
  if (field == fields_.end() || !std::holds_alternative<bool>(field->second)) {
    return refuse(op_ + " has no flag \"" + std::string(name) + "\"");
  }
  const bool flag = *std::get_if<bool>(&field->second);
  fields_.erase(field);
  return flag;
}

core::Result<void> Message::finish() const {
  if (fields_.empty()) return {};
  return refuse(op_ + " has an unknown field \"" + core::bound_text(fields_.begin()->first, 64) + "\"");
}

}  // namespace heddle::wire

#include "heddle/wire/message.h"

#include <nlohmann/json.hpp>

#include "heddle/core/text.h"

namespace heddle::wire {
namespace {

constexpr std::size_t kMaxFields = 64;

core::Error refuse(std::string_view what) { return core::make_error(core::Errc::protocol, "read a message", what); }

}  // namespace

// nlohmann's SAX interface: the object is never built, so nothing nested costs memory. Each false ends the parse.
class MessageReader {
 public:
  using Json = nlohmann::json;

  // NOLINTBEGIN(readability-identifier-naming): the names are the library's
  bool null() { return fail("null"); }
  bool boolean(bool flag) { return value(Message::Value(flag)); }
  bool number_integer(Json::number_integer_t) { return fail("a negative number"); }
  bool number_unsigned(Json::number_unsigned_t number) { return value(Message::Value(std::uint64_t{number})); }
  bool number_float(Json::number_float_t, const Json::string_t&) { return fail("a number that is not whole"); }
  bool string(Json::string_t& text) { return value(Message::Value(std::move(text))); }
  bool binary(Json::binary_t&) { return fail("binary"); }
  bool start_object(std::size_t) {
    if (inside_) return fail("an object in an object");
    inside_ = true;
    return true;
  }
  bool key(Json::string_t& name) {
    if (fields_.size() >= kMaxFields) return fail("too many fields");
    if (fields_.find(name) != fields_.end()) return fail("the field \"" + core::bound_text(name, 64) + "\" twice");
    name_ = std::move(name);
    return true;
  }
  bool end_object() { return true; }
  bool start_array(std::size_t) { return fail("an array"); }
  bool end_array() { return fail("an array"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) {
    return fail("text that is not JSON at byte " + std::to_string(position));
  }
  // NOLINTEND(readability-identifier-naming)

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
  // What the library lets pass and no other reader would: it takes a NUL for the end and skips a byte order mark.
  if (json.find('\0') != std::string_view::npos) return refuse("a NUL byte");
  if (json.substr(0, 3) == "\xEF\xBB\xBF") return refuse("a byte order mark");
  MessageReader reader;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &reader)) {
    (void)reader.fail("text that is not one JSON object");  // keeps an earlier reason
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
  std::string text = R"({"op":)" + nlohmann::json(op_).dump();
  for (const auto& [name, value] : fields_) {
    text += ',' + nlohmann::json(name).dump() + ':';
    if (const auto* words = std::get_if<std::string>(&value)) {
      text += nlohmann::json(*words).dump();
    } else if (const auto* number = std::get_if<std::uint64_t>(&value)) {
      text += std::to_string(*number);
    } else {
      text += *std::get_if<bool>(&value) ? "true" : "false";
    }
  }
  return text + '}';
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

// Message: a control frame's payload. One flat JSON object of strings, whole numbers and booleans, read strictly.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "heddle/core/result.h"

namespace heddle::wire {

/// Build: Message("run").set("id", 7U).text(). Read: parse(), then take_…() each field that the message has, then
/// finish(), which refuses fields that nobody took. Every reading error is Errc::protocol and names the field.
class Message {
 public:
  explicit Message(std::string_view op) : op_(op) {}

  /// Refuses: not one JSON object, nested values, floating point, null, a duplicate key, ill-formed UTF-8, trailing
  /// bytes, a missing or non-string "op", more than 64 fields.
  [[nodiscard]] static core::Result<Message> parse(std::string_view json);

  [[nodiscard]] const std::string& op() const noexcept { return op_; }

  /// `text` must be well-formed UTF-8 (HEDDLE_CHECK): senders bound their text first.
  Message& set(std::string_view name, std::string_view text);
  Message& set(std::string_view name, const char* text) { return set(name, std::string_view(text)); }
  Message& set(std::string_view name, std::uint64_t number);
  Message& set(std::string_view name, std::uint32_t number) { return set(name, std::uint64_t{number}); }
  Message& set(std::string_view name, bool flag);

  /// The JSON text.
  [[nodiscard]] std::string text() const;

  /// Errc::protocol unless op() is `op`.
  [[nodiscard]] core::Result<void> expect(std::string_view op) const;

  [[nodiscard]] bool has(std::string_view name) const { return fields_.find(name) != fields_.end(); }
  [[nodiscard]] core::Result<std::string> take_string(std::string_view name);
  [[nodiscard]] core::Result<std::uint64_t> take_number(std::string_view name, std::uint64_t maximum = UINT64_MAX);
  [[nodiscard]] core::Result<bool> take_bool(std::string_view name);
  [[nodiscard]] core::Result<void> finish() const;

 private:
  friend class MessageReader;
  using Value = std::variant<std::string, std::uint64_t, bool>;
  std::string op_;
  std::map<std::string, Value, std::less<>> fields_;
};

}  // namespace heddle::wire

#include "thrown.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "heddle/core/text.h"
#include "hints.h"

namespace heddle::engine {
namespace {

constexpr std::int32_t kMostErrors = 8;
constexpr int kMostCauses = 4;
// Enough of a stack to hold the frame that is in the script.
constexpr std::uint32_t kStackUnits = 8192;

// A string value's first units as storable text; `readable` is false when the engine could not give it.
bool bounded(Script& script, Value text, std::uint32_t units, std::string& out, bool& readable) {
  readable = false;
  Value head = kUndefined;
  if (!script.head(text, units, head)) return false;
  if (!is_string(head)) {
    Value ignored = 0;
    return script.take_exception(ignored);
  }
  std::string_view bytes;
  if (!script.utf8(head, bytes)) return false;
  out = core::bound_text(bytes, units);
  readable = true;
  return true;
}

// A property's value if it is a string. Getters may run, throw, or never come back; what they throw is dropped.
bool string_property(Script& script, Value object, Text name, std::uint32_t units, std::string& out, bool& found) {
  found = false;
  Value value = kUndefined;
  if (!script.property(object, name, value)) return false;
  if (tag_of(value) == Tag::exception) return script.take_exception(value);
  return !is_string(value) || bounded(script, value, units, out, found);
}

// A number after `text`'s first character; 0 when there is none.
std::uint32_t number_after(std::string_view text, std::size_t& used) {
  used = 0;
  if (text.empty() || text[0] != ':') return 0;
  std::uint32_t number = 0;
  const auto [end, failed] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (failed != std::errc()) return 0;
  used = static_cast<std::size_t>(end - text.data());
  return number;
}

// The first frame of a stack that is in the script: "at f (script.js:3:5)". True when no other frame is before it.
bool position(std::string_view stack, std::string_view source, RunResult& result) {
  const std::string_view file = kScriptFile;
  for (std::size_t at = stack.find(file); at != std::string_view::npos; at = stack.find(file, at)) {
    at += file.size();
    std::size_t used = 0;
    const std::uint32_t line = number_after(stack.substr(at), used);
    if (line == 0) continue;
    const auto lines = static_cast<std::uint64_t>(std::count(source.begin(), source.end(), '\n')) + 1;
    if (line > lines) return false;
    result.line = line;
    result.column = number_after(stack.substr(at + used), used);
    return stack.substr(0, at).find('\n') == std::string_view::npos;
  }
  return false;
}

// The engine says that something is no function; the source says what.
void name_callee(std::string_view source, RunResult& result) {
  if (result.message != "not a function" && result.message != "not a constructor") return;
  const std::string callee = callee_at(source, result.line, result.column);
  if (!callee.empty()) result.message = core::bound_text(callee + " is " + result.message);
}

bool describe_primitive(Script& script, Value thrown, RunResult& result) {
  bool readable = false;
  switch (tag_of(thrown)) {
    case Tag::symbol:
      result.message = "a symbol was thrown";
      return true;
    case Tag::undefined:
      result.message = "undefined was thrown";
      return true;
    case Tag::null:
      result.message = "null was thrown";
      return true;
    default:
      break;
  }
  Value text = thrown;
  if (!is_string(thrown) && !script.to_text(thrown, text)) return false;
  if (!is_string(text)) {
    result.message = "a value was thrown that has no text";
    return script.take_exception(text);
  }
  if (!bounded(script, text, core::kMaxGuestTextUnits, result.message, readable)) return false;
  if (!readable) result.message = "a value was thrown that cannot be read";
  return true;
}

// {code: 42} says more as JSON than as "[object Object]".
bool describe_as_json(Script& script, Value thrown, RunResult& result) {
  bool readable = false;
  Value text = kUndefined;
  if (!script.stringify(thrown, text)) return false;
  if (tag_of(text) == Tag::exception && !script.take_exception(text)) return false;
  if (is_string(text) && !bounded(script, text, core::kMaxGuestTextUnits, result.message, readable)) return false;
  if (!readable || result.message == "{}") result.message = "an object was thrown that is no Error and has no message";
  return true;
}

bool describe_one(Script& script, Value thrown, std::string_view source, RunResult& result, bool& is_error) {
  result.ending = Ending::threw;
  if (tag_of(thrown) != Tag::object) return describe_primitive(script, thrown, result);

  bool is_function = false;
  if (!script.is_error(thrown, is_error) || !script.is_function(thrown, is_function)) return false;
  // A function's name is the function's, not that of an error.
  if (!is_function &&
      !string_property(script, thrown, Text::name, core::kMaxGuestTextUnits, result.name, result.has_name)) {
    return false;
  }
  if (result.name.empty()) result.has_name = false;
  bool in_script = false;
  if (is_error) {
    std::string stack;
    bool found = false;
    if (!string_property(script, thrown, Text::stack, kStackUnits, stack, found)) return false;
    in_script = position(stack, source, result);
  }
  bool has_message = false;
  if (!string_property(script, thrown, Text::message, core::kMaxGuestTextUnits, result.message, has_message)) {
    return false;
  }
  if (in_script) name_callee(source, result);
  if (has_message || is_error) return true;
  if (is_function) {
    result.message = "a function was thrown";
    return true;
  }
  return describe_as_json(script, thrown, result);
}

// "TypeError: cannot read …": what an error refers to.
bool brief(Script& script, Value value, std::string& text) {
  RunResult part;
  bool is_error = false;
  if (!describe_one(script, value, {}, part, is_error)) return false;
  text = part.has_name ? part.name + (part.message.empty() ? "" : ": ") + part.message : part.message;
  return true;
}

// The errors of an aggregate, as many as are worth reading.
bool append_errors(Script& script, Value thrown, std::string& message) {
  Value errors = kUndefined;
  if (!script.property(thrown, Text::errors, errors)) return false;
  if (tag_of(errors) == Tag::exception) return script.take_exception(errors);
  if (tag_of(errors) != Tag::object) return true;
  Value length = kUndefined;
  if (!script.property(errors, Text::length, length)) return false;
  if (tag_of(length) == Tag::exception) return script.take_exception(length);
  if (tag_of(length) != Tag::integer) return true;
  const auto count = std::max(static_cast<std::int32_t>(static_cast<std::uint32_t>(length)), 0);
  for (std::int32_t i = 0; i < std::min(count, kMostErrors); ++i) {
    Value one = kUndefined;
    std::string text;
    if (!script.element(errors, static_cast<std::uint32_t>(i), one)) return false;
    if (tag_of(one) == Tag::exception) return script.take_exception(one);
    if (!brief(script, one, text)) return false;
    message += (message.empty() ? "" : "; ") + text;
  }
  if (count > kMostErrors) message += "; and " + std::to_string(count - kMostErrors) + " more";
  return true;
}

bool append_causes(Script& script, Value thrown, std::string& message) {
  for (int depth = 0; depth < kMostCauses; ++depth) {
    Value cause = kUndefined;
    std::string text;
    if (!script.property(thrown, Text::cause, cause)) return false;
    if (tag_of(cause) == Tag::exception) return script.take_exception(cause);
    if (tag_of(cause) == Tag::undefined) return true;
    if (!brief(script, cause, text)) return false;
    message += "; caused by " + text;
    if (tag_of(cause) != Tag::object) return true;
    thrown = cause;
  }
  return true;
}

}  // namespace

bool describe_thrown(Script& script, Value thrown, std::string_view source, RunResult& result) {
  bool is_error = false;
  if (!describe_one(script, thrown, source, result, is_error)) return false;
  if (!is_error) return true;
  if (!append_errors(script, thrown, result.message) || !append_causes(script, thrown, result.message)) return false;
  result.message = core::bound_text(result.message);
  return true;
}

}  // namespace heddle::engine

#include "json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "heddle/core/text.h"

namespace heddle::cli {
namespace {

using nlohmann::json;

// The end of the string that begins at `at`, in valid JSON.
std::size_t string_end(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

}  // namespace

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
    while (at < object.size() && core::is_json_space(object[at])) ++at;
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
    while (end > begin && core::is_json_space(object[end - 1])) --end;
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

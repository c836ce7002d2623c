#include "heddle/core/quote.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "heddle/core/text.h"

namespace heddle::core {
namespace {

bool plain_in_shell(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("/._-+,:@%").find(c) != std::string_view::npos;
}

}  // namespace

std::optional<std::string> toml_string(std::string_view text) {
  if (!valid_utf8(text)) return std::nullopt;
  std::string quoted = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    const auto code = static_cast<std::uint32_t>(c.code);
    const bool obeyed = code < 0x80 && std::string_view("$`!").find(text[at]) != std::string_view::npos;
    if (code == '"' || code == '\\') {
      (quoted += '\\') += text[at];
    } else if (obeyed || seen_as(c.code) != Seen::as_it_is) {
      std::array<char, 16> escape{};
      (void)std::snprintf(escape.data(), escape.size(), code < 0x10000 ? "\\u%04X" : "\\U%08X", code);
      quoted += escape.data();
    } else {
      quoted += text.substr(at, c.bytes);
    }
    at += c.bytes;
  }
  return quoted + '"';
}

std::optional<std::string> shell_word(std::string_view text) {
  if (!valid_utf8(text) || printable_line(text) != text) return std::nullopt;
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain_in_shell)) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + '\'';
}

std::string shown_command(std::string_view command, std::string_view path) {
  if (const auto word = shell_word(path)) return std::string(command) + " " + *word;
  return std::string(command) + " on it, whose name cannot be shown in a command";
}

}  // namespace heddle::core

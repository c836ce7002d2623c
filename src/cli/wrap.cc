#include "wrap.h"

#include <algorithm>
#include <array>

#include "heddle/core/text.h"

namespace heddle::cli {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

template <std::size_t N>
bool within(char32_t code, const std::array<Range, N>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [&](Range r) { return code >= r.first && code <= r.last; });
}

// The wide blocks of UAX #11, roughly.
constexpr std::array<Range, 9> kWide{{{0x1100, 0x115F},
                                      {0x2E80, 0xA4CF},
                                      {0xAC00, 0xD7A3},
                                      {0xF900, 0xFAFF},
                                      {0xFE30, 0xFE6F},
                                      {0xFF00, 0xFF60},
                                      {0xFFE0, 0xFFE6},
                                      {0x1F300, 0x1FAFF},
                                      {0x20000, 0x3FFFD}}};
constexpr std::array<Range, 6> kNoWidth{
    {{0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200D}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}}};

std::size_t width_of(char32_t code) { return within(code, kNoWidth) ? 0 : within(code, kWide) ? 2 : 1; }

// How many bytes of `text` fit into `columns`; at least one character.
std::size_t bytes_within(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t used = 0; at < text.size();) {
    const core::CodePoint c = core::code_point_at(text, at);
    used += width_of(c.code);
    if (used > columns && at > 0) break;
    at += c.bytes;
  }
  return at;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const core::CodePoint c = core::code_point_at(text, at);
    columns += width_of(c.code);
    at += c.bytes;
  }
  return columns;
}

void add_wrapped(std::string& out, std::string_view first, std::size_t indent, std::string_view words) {
  std::string line(first);
  std::size_t used = columns_of(line);
  bool empty = true;
  const auto next_line = [&] {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
    line.assign(indent, ' ');
    used = indent;
    empty = true;
  };
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    std::string_view word = words.substr(at, end - at);
    at = end + 1;
    while (!word.empty()) {
      const std::size_t width = columns_of(word);
      if (!empty && used + 1 + width > kTerminalColumns) next_line();
      const std::size_t room = used < kTerminalColumns ? kTerminalColumns - used : 1;
      const std::size_t taken = empty ? bytes_within(word, room) : word.size();
      if (!empty) line += ' ';
      used += (empty ? 0 : 1) + columns_of(word.substr(0, taken));
      line += word.substr(0, taken);
      word.remove_prefix(taken);
      empty = false;
      if (!word.empty()) next_line();
    }
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + '\n';
}

}  // namespace heddle::cli

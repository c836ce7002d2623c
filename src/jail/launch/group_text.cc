#include "group_text.h"

#include <charconv>

namespace heddle::jail {
namespace {

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// The next word; `text` loses it and the white space before it.
std::string_view take_word(std::string_view& text) {
  const std::size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return text = {};
  text.remove_prefix(begin);
  const std::size_t end = text.find_first_of(" \t\n");
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(word.size());
  return word;
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

bool octal(char c) { return c >= '0' && c <= '7'; }

// "\040" is a space.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 3 < text.size() && octal(text[at + 1]) && octal(text[at + 2]) && octal(text[at + 3])) {
      plain += static_cast<char>((text[at + 1] - '0') * 64 + (text[at + 2] - '0') * 8 + (text[at + 3] - '0'));
      at += 3;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

}  // namespace

std::optional<std::string> unified_path(std::string_view proc_cgroup) {
  while (!proc_cgroup.empty()) {
    const std::string_view line = take_line(proc_cgroup);
    if (line.substr(0, 4) == "0::/") return std::string(line.substr(3));
  }
  return std::nullopt;
}

std::optional<GroupMount> group_mount(std::string_view mountinfo) {
  std::optional<GroupMount> found;
  while (!mountinfo.empty()) {
    std::string_view line = take_line(mountinfo);
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    std::string_view after = line.substr(dash + 3);
    if (take_word(after) != "cgroup2") continue;
    for (int skipped = 0; skipped < 3; ++skipped) (void)take_word(line);
    const std::string_view root = take_word(line);
    GroupMount mount{unescape(root), unescape(take_word(line))};
    if (!found || (found->root != "/" && mount.root == "/")) found = std::move(mount);
  }
  return found;
}

std::optional<std::string> below_mount(const GroupMount& mount, const std::string& path) {
  if ((path + "/").find("/../") != std::string::npos || (mount.root + "/").find("/../") != std::string::npos) {
    return std::nullopt;
  }
  std::string rest = path;
  if (mount.root != "/") {
    if (path != mount.root && path.rfind(mount.root + "/", 0) != 0) return std::nullopt;
    rest = path.substr(mount.root.size());
  }
  if (rest == "/" || rest.empty()) return mount.point;
  return mount.point + rest;
}

bool has_word(std::string_view list, std::string_view word) {
  for (std::string_view next = take_word(list); !next.empty(); next = take_word(list)) {
    if (next == word) return true;
  }
  return false;
}

std::optional<std::uint64_t> keyed_number(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (take_word(line) == key) return whole_number(take_word(line));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> single_number(std::string_view text) { return whole_number(take_word(text)); }

std::optional<std::uint64_t> start_time(std::string_view stat) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  stat.remove_prefix(name_end + 1);
  for (int field = 3; field < 22; ++field) (void)take_word(stat);
  return whole_number(take_word(stat));
}

std::string owner_name(const GroupOwner& owner) {
  return std::to_string(owner.pid) + "-" + std::to_string(owner.start);
}

std::optional<GroupOwner> parse_owner(std::string_view name) {
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::optional<std::uint64_t> pid = whole_number(name.substr(0, dash));
  const std::optional<std::uint64_t> start = whole_number(name.substr(dash + 1));
  if (!pid || !start || *pid == 0 || *pid > INT32_MAX) return std::nullopt;
  return GroupOwner{*pid, *start};
}

}  // namespace heddle::jail

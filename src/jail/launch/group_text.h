// What the kernel writes about control groups, read. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::jail {

/// The path on the line "0::PATH" of /proc/self/cgroup (cgroups(7)).
[[nodiscard]] std::optional<std::string> unified_path(std::string_view proc_cgroup);

struct GroupMount {
  std::string root;   ///< what of the tree is mounted
  std::string point;  ///< where
};
/// The first cgroup2 mount of /proc/self/mountinfo (proc(5)), its octal escapes undone; one that shows the whole tree
/// comes before one that shows a part.
[[nodiscard]] std::optional<GroupMount> group_mount(std::string_view mountinfo);

/// Where the group `path` lies under the mount; nothing when the mount does not show it.
[[nodiscard]] std::optional<std::string> below_mount(const GroupMount& mount, const std::string& path);

/// A word in a list by white space, as in cgroup.controllers.
[[nodiscard]] bool has_word(std::string_view list, std::string_view word);

/// The number after `key` in a flat-keyed file ("oom_kill 3\n"); nothing when there is none.
[[nodiscard]] std::optional<std::uint64_t> keyed_number(std::string_view text, std::string_view key);

/// A file that holds one number.
[[nodiscard]] std::optional<std::uint64_t> single_number(std::string_view text);

/// Field 22 of /proc/PID/stat: when the process started, in ticks since boot. The name in field 2 may hold anything.
[[nodiscard]] std::optional<std::uint64_t> start_time(std::string_view stat);

/// The folder of one supervisor: who made it. A pid alone would be somebody else's one day.
struct GroupOwner {
  std::uint64_t pid = 0;
  std::uint64_t start = 0;
};
[[nodiscard]] std::string owner_name(const GroupOwner& owner);
[[nodiscard]] std::optional<GroupOwner> parse_owner(std::string_view name);

}  // namespace heddle::jail

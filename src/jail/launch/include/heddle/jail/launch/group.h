// What a control group (cgroup v2, cgroups(7)) limits for one guest, what of it was applied, and what it counted.
// Values only; they cross the supervisor's socket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "heddle/jail/confine/need.h"

namespace heddle::jail {

struct GroupLimit {
  std::uint64_t value = 0;
  Need need = Need::required;  ///< never Need::off: leave the limit out

  friend bool operator==(const GroupLimit& a, const GroupLimit& b) = default;
};

/// Limits on the guest with all its descendants together. None set: the guest gets no group.
struct GroupLimits {
  std::optional<GroupLimit> memory_bytes;  ///< memory.max; what goes over it is killed, as a whole
  std::optional<GroupLimit> swap_bytes;    ///< memory.swap.max; 0: none
  std::optional<GroupLimit> processes;     ///< pids.max: processes and threads
  std::optional<GroupLimit> cpu_percent;   ///< cpu.max: of one processor, 250 is two and a half
  /// A group even where none of the limits can be had: it ends all descendants at once, and holds no further group.
  Need own_group = Need::off;

  [[nodiscard]] bool any() const noexcept {
    return memory_bytes || swap_bytes || processes || cpu_percent || own_group != Need::off;
  }
  friend bool operator==(const GroupLimits& a, const GroupLimits& b) = default;
};

/// Numbers cross the supervisor's socket, and are the detail of Step::group_limit.
enum class GroupPart : std::uint8_t { memory, swap, processes, cpu, own_group };
inline constexpr std::size_t kGroupPartCount = static_cast<std::size_t>(GroupPart::own_group) + 1;

/// "memory.max": the control file of a part, "a group" for own_group.
const char* group_part_name(GroupPart part) noexcept;

/// Why there is no group, or a group without a limit. Stable numbers.
enum class GroupProblem : std::uint8_t {
  none = 0,
  switched_off = 1,       ///< by SupervisorOptions
  not_mounted = 2,        ///< no cgroup2 file system is mounted here
  hidden = 3,             ///< mounted, but our own group cannot be seen from here (cgroup namespaces)
  not_a_group = 4,        ///< the configured folder is no cgroup2 folder
  not_delegated = 5,      ///< its control files are another user's
  read_only = 6,          ///< mounted read-only, as in many containers
  holds_processes = 7,    ///< processes live in the group that would have to hand controllers down
  no_controller = 8,      ///< the controller is not there: cgroup version 1 owns it, or nobody handed it down
  no_file = 9,            ///< this kernel has no such control file
  kernel_refused = 10,    ///< anything else; the errno says what
  untrusted_folder = 11,  ///< the configured folder can be written by anybody
};
inline constexpr unsigned kGroupProblemCount = 12;

/// For people, with what to do.
const char* group_problem_text(GroupProblem problem) noexcept;

/// What came of GroupLimits for one guest (JAIL-13).
struct AppliedCgroup {
  struct Part {
    bool asked = false;
    std::optional<std::uint64_t> applied;  ///< the value that the kernel took
    GroupProblem problem = GroupProblem::none;
    int error = 0;  ///< errno, where one is to blame
  };
  std::string path;            ///< of the group, as the supervisor opened it; empty: the guest has none
  bool ends_together = false;  ///< memory.oom.group: out of memory ends all of the guest, not one process of it
  bool group_kill = false;     ///< cgroup.kill (Linux 5.14); otherwise frozen, and killed one by one
  std::array<Part, kGroupPartCount> parts;

  [[nodiscard]] const Part& part(GroupPart which) const { return parts.at(static_cast<std::size_t>(which)); }
  [[nodiscard]] Part& part(GroupPart which) { return parts.at(static_cast<std::size_t>(which)); }
};

/// What the group counted up to the guest's end.
struct CgroupUsage {
  std::uint64_t oom_kills = 0;               ///< memory.events: processes that an OOM killer took
  std::uint64_t processes_refused = 0;       ///< pids.events: forks refused by pids.max
  std::optional<std::uint64_t> peak_bytes;   ///< memory.peak (Linux 5.19): with page cache and kernel memory
  std::uint64_t cpu_microseconds = 0;        ///< of all descendants
  std::uint64_t throttled_microseconds = 0;  ///< time that cpu.max held it back
  std::uint64_t throttled_periods = 0;
};

}  // namespace heddle::jail

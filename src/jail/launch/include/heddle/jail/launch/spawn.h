// spawn: a program becomes a child process, confined as the plan says, or the step that failed is named and nothing
// runs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heddle/core/clock.h"
#include "heddle/core/fd.h"
#include "heddle/core/pidfd.h"
#include "heddle/jail/confine/namespace_set.h"
#include "heddle/jail/confine/step.h"
#include "heddle/jail/launch/group.h"
#include "heddle/jail/launch/notify.h"

namespace heddle::jail {

/// One setrlimit(2): soft and hard alike. Where the caller's own hard limit is lower, that one stays.
struct ResourceLimit {
  int resource = 0;         ///< RLIMIT_*
  std::uint64_t value = 0;  ///< in the resource's unit
};

enum class Confinement : std::uint8_t {
  helper,  ///< our own trusted program: clean descriptors, signals, session and environment, no more
  guest,   ///< all of Step
};

struct SpawnPlan {
  Confinement confinement = Confinement::guest;
  core::Fd program;                      ///< O_PATH is enough; started by descriptor, never by name
  std::vector<std::string> arguments;    ///< argv, its first included
  std::vector<std::string> environment;  ///< "NAME=value"; nothing else reaches the child
  core::Fd
      ruleset;  ///< guest only: a Landlock ruleset of the host's making; not valid: one that grants the program only
  std::vector<core::Fd> descriptors;      ///< become 3, 4, … in the child; all others are closed
  std::vector<ResourceLimit> limits;      ///< guest only
  std::optional<std::uint32_t> identity;  ///< guest only: uid and gid, when the caller is root; never 0
  NotifyRules notify;                     ///< guest only: carried for the supervisor, which adds the socket's end
  GroupLimits group_limits;               ///< for the supervisor, which makes the group
  core::Fd group;                         ///< folder of a control group to be born in; none: the caller's
  NamespaceOrder namespaces;              ///< guest only
  core::Deadline deadline = core::Deadline::never();  ///< for the supervisor, which ends the guest then
};

struct SpawnResult {
  Failure failure;          ///< step none: the child runs
  int landlock_abi = 0;     ///< of the first ruleset; 0 for a helper
  NamespaceSet namespaces;  ///< those that the child is in
  Failure no_namespaces;    ///< what refused them, when they were wanted if_available and are not there
  pid_t pid = 0;
  core::Pidfd child;  ///< the caller reaps it
};

/// At most this many descriptors in a plan.
inline constexpr std::size_t kMaxGuestDescriptors = 12;

/// Blocks until the child has called execve or failed; a failed child is reaped. The child shares the caller's memory
/// until then (CLONE_VM and CLONE_VFORK), so the caller's size costs nothing, and no handler of the caller's runs in
/// it. A guest dies with the calling *thread* (PR_SET_PDEATHSIG, prctl(2)): spawn guests from a single-threaded
/// process. Consumes the plan's descriptors.
[[nodiscard]] SpawnResult spawn(SpawnPlan&& plan) noexcept;
/// The same for a caller who has something more urgent to do than to close them: they stay the plan's, though at other
/// numbers. Until then the end of a socket that the child got is not seen to close with the child.
[[nodiscard]] SpawnResult spawn(SpawnPlan& plan) noexcept;

/// Kills nothing: how an ended child ended, reaping it. For a child that has not ended, or that somebody else has
/// reaped, the second member says so.
struct Ending {
  enum class State : std::uint8_t { alive, ended, lost };
  State state = State::alive;
  bool signalled = false;
  bool denial_quota = false;           ///< the supervisor sent the signal: too many denials
  bool timed_out = false;              ///< the supervisor sent the signal: its deadline had passed
  int code = 0;                        ///< exit status or signal
  std::uint64_t cpu_microseconds = 0;  ///< user and system time
  std::uint64_t peak_kib = 0;          ///< ru_maxrss: never below the caller's own at the time of the spawn
  std::optional<CgroupUsage> group;    ///< of a guest that had a control group; the supervisor reads it
};
[[nodiscard]] Ending reap(const core::Pidfd& child) noexcept;

}  // namespace heddle::jail

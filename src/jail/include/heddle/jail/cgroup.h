// Control groups as the host sees them: where the supervisor makes them, what was asked, what was applied, what was
// counted. The values are in launch/group.h. Guide: docs/guide/limits.md.
#pragma once

#include <string>

#include "heddle/jail/launch/group.h"

namespace heddle::jail {

struct CgroupOptions {
  enum class Parent : std::uint8_t {
    /// A group that systemd delegated to us (Delegate=, with DelegateSubgroup= or `host`), else for root the root
    /// of the cgroup2 mount.
    found,
    folder,  ///< `folder`: of a cgroup2 mount, owned by root or by us, and without processes
    none,    ///< guests get no groups: what is required is refused, what is if_available is reported
  };
  enum class Host : std::uint8_t {
    stays,
    /// The kernel lets no group that holds processes hand controllers down. Where ours is delegated and holds the host
    /// and its supervisor alone, both are moved to "heddle-host" below it, and stay there.
    may_move,
  };
  Parent parent = Parent::found;
  Host host = Host::stays;
  std::string folder;
};

/// A report for people: a line a part, "memory.max: 67108864" or "memory.max: not applied: why, and what to do".
[[nodiscard]] std::string describe(const AppliedCgroup& applied);

}  // namespace heddle::jail

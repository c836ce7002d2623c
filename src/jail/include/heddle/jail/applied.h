// AppliedPolicy: what confines a guest, as a value (JAIL-13). Read from the kernel and the supervisor, not from the
// guest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/jail/confine/namespace_set.h"
#include "heddle/jail/confine/step.h"
#include "heddle/jail/launch/group.h"
#include "heddle/jail/policy.h"

namespace heddle::jail {

/// What became of the notifications that a policy asked for.
enum class Notified : std::uint8_t {
  off,        ///< not asked for
  awaited,    ///< the guest has not come that far
  listening,  ///< refused calls get EPERM and are Denials
  killing,    ///< no listener to be had: a refused call ends a guest of Heddle's own, gives a program EPERM; its number
              ///< is unknown
};

struct AppliedNamespaces {
  Need wanted = Need::off;
  NamespaceSet set;  ///< those that the guest is in; empty when the host refused them
  Failure refused;   ///< step none, or the step that the host refused and why
};

struct AppliedPolicy {
  Profile profile = Profile::script;
  Limits limits;
  std::uint32_t uid = 0;      ///< whom the guest runs as
  bool own_identity = false;  ///< that user is this guest's alone
  /// ABI of the ruleset that confines the guest's files, and from 4 TCP, from 6 signals and abstract sockets.
  int landlock_abi = 0;
  AppliedNamespaces namespaces;
  AppliedCgroup cgroup;
  bool no_new_privs = false;
  unsigned filters = 0;  ///< seccomp programs of the guest's own, beside those of an outer container
  Notified notified = Notified::off;
  int notified_error = 0;  ///< Notified::killing: the errno that loading with a listener gave
  std::uint32_t denial_quota = 0;
  bool observes = false;  ///< what Landlock decides is told too
};

/// For people, one fact a line: "seccomp: 1 filter of its own; refused calls are notified, at most 64".
[[nodiscard]] std::vector<std::string> to_lines(const AppliedPolicy& applied);

}  // namespace heddle::jail

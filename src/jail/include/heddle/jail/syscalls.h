// The system calls of each profile, as a table: the filter is made from it, the tests check the filter against it, and
// docs/guide/syscalls.md is what the filters answer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/jail/profile.h"

namespace heddle::jail {

/// What the filter answers. A call that has no row, or whose condition does not hold, is refused: the supervisor is
/// told and answers EPERM, or, where nobody can be told (see policy.h, Notifications), it gets the table's Unheard. Any
/// call of a foreign architecture or of x32 ends the process always.
enum class Answer : std::uint8_t {
  allow,
  denied,   ///< EPERM, and the supervisor is told where it can be
  eperm,    ///< libraries try it and live with a refusal, or JAIL-5 says so
  enosys,   ///< programs and the C library know kernels without it, and fall back to another call
  enotsup,  ///< EOPNOTSUPP: programs know file systems without it, and do without
  /// allow. Where the policy observes (DenialOptions::observe) the supervisor is told and lets every one of these calls
  /// go on, so that whatever may not go on must have a row of its own with `eperm`: what has none is told too.
  observe,
  /// allow, and the supervisor is told where it can be, and lets it go on while the guest lives: afterwards nobody
  /// answers, the call fails (ENOSYS), and what a guest has left cannot multiply. Of fork(2), vfork(2) and clone(2),
  /// and what misses the row's conditions is refused by the supervisor by the same conditions (is_birth()).
  birth,
  /// The one program that the stub starts: the supervisor is told and lets the first such call through, and no other.
  /// Where nobody can be told: allow.
  first,
};

/// What a call that no row allows gets where nobody can be told.
enum class Unheard : std::uint8_t {
  kill,   ///< the process ends by SIGSYS
  eperm,  ///< a foreign program tries much that it can live without
};

/// On one argument: (argument & mask) == value. Arguments that the kernel takes as 32 bits are masked to 32, so that
/// set upper bits neither get a call past a condition nor matter.
struct Condition {
  unsigned argument = 0;
  std::uint64_t mask = 0;
  std::uint64_t value = 0;
};

struct SyscallRule {
  const char* name = nullptr;
  Answer answer = Answer::allow;
  const char* why = nullptr;
  Condition conditions[2] = {};  ///< all must hold; mask 0: none
};

struct SyscallTable {
  const SyscallRule* rules = nullptr;
  std::size_t count = 0;
  Unheard unheard = Unheard::kill;
  Profile profile = Profile::script;
  [[nodiscard]] const SyscallRule* begin() const noexcept { return rules; }
  [[nodiscard]] const SyscallRule* end() const noexcept { return rules + count; }
};

/// Several rows of one call are alternatives. Of the profile `script`; jail/unsafe has those of the others.
[[nodiscard]] SyscallTable syscall_table(Profile profile) noexcept;

}  // namespace heddle::jail

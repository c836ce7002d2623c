// The sealed memory that carries a guest's seccomp programs: this header, then `notifying` instructions, then
// `killing`, then `second` instructions, each a struct sock_filter.
#pragma once

#include <cstdint>

namespace heddle::jail {

/// Two programs for one list of calls. `notifying` answers what is refused with SECCOMP_RET_USER_NOTIF and is loaded
/// with a listener; `killing` ends the process instead, and is loaded where no listener can be had. 0 of the first:
/// the policy wants no listener.
struct FilterHeader {
  std::uint32_t notifying = 0;
  std::uint32_t killing = 0;
  /// What narrow_self() loads on top: takes calls away and lets all others on to the first. 0: the policy has none.
  std::uint32_t second = 0;
};

}  // namespace heddle::jail

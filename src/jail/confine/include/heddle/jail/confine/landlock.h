// Landlock system calls, sized by what the running kernel knows (landlock(7),
// Documentation/userspace-api/landlock.rst). Nothing here allocates or takes a lock: usable between clone and exec.
#pragma once

#include <cstdint>

namespace heddle::jail {

inline constexpr std::uint64_t kLandlockExecute = 1U << 0;
inline constexpr std::uint64_t kLandlockReadFile = 1U << 2;

/// The newest ABI whose rights Heddle handles. A newer kernel is used as this one, and reported so.
inline constexpr int kLandlockNewestAbi = 7;

/// ABI of the running kernel, or -errno: -ENOSYS not built in, -EOPNOTSUPP built in and switched off.
int landlock_abi() noexcept;

/// What a ruleset that denies everything handles at this ABI.
struct LandlockRights {
  std::uint64_t files = 0;    ///< LANDLOCK_ACCESS_FS_*
  std::uint64_t network = 0;  ///< LANDLOCK_ACCESS_NET_*: TCP bind and connect, from ABI 4
  std::uint64_t scopes = 0;   ///< LANDLOCK_SCOPE_*: abstract UNIX sockets and signals, from ABI 6
};
LandlockRights landlock_rights(int abi) noexcept;

/// A ruleset that denies all of landlock_rights(abi): its descriptor (close-on-exec), or -errno.
int landlock_deny_all(int abi) noexcept;

/// Allows `rights` on the file or folder that `object` is open on: 0 or -errno.
int landlock_allow(int ruleset, int object, std::uint64_t rights) noexcept;

/// Enforces the ruleset on the calling thread, for good. Needs no_new_privs. 0 or -errno.
int landlock_enforce(int ruleset) noexcept;

}  // namespace heddle::jail

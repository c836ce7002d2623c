#include "heddle/jail/confine/landlock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace heddle::jail {
namespace {

// Own definitions: Debian 12's headers end at ABI 2. Field for field those of the kernel's uapi/linux/landlock.h.
struct RulesetAttributes {
  std::uint64_t handled_access_fs;
  std::uint64_t handled_access_net;
  std::uint64_t scoped;
};
struct __attribute__((packed)) PathBeneath {
  std::uint64_t allowed_access;
  std::int32_t parent_fd;
};
constexpr unsigned kCreateVersion = 1U << 0;
constexpr unsigned kRulePathBeneath = 1;

constexpr std::uint64_t bits(unsigned count) { return (std::uint64_t{1} << count) - 1; }

}  // namespace

int landlock_abi() noexcept {
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kCreateVersion);
  return abi < 0 ? -errno : static_cast<int>(abi);
}

LandlockRights landlock_rights(int abi) noexcept {
  LandlockRights rights;
  rights.files = bits(13);                 // EXECUTE … MAKE_SYM
  if (abi >= 2) rights.files = bits(14);   // REFER
  if (abi >= 3) rights.files = bits(15);   // TRUNCATE
  if (abi >= 4) rights.network = bits(2);  // BIND_TCP, CONNECT_TCP
  if (abi >= 5) rights.files = bits(16);   // IOCTL_DEV
  if (abi >= 6) rights.scopes = bits(2);   // ABSTRACT_UNIX_SOCKET, SIGNAL
  return rights;
}

int landlock_deny_all(int abi) noexcept {
  const LandlockRights rights = landlock_rights(abi);
  const RulesetAttributes attributes{rights.files, rights.network, rights.scopes};
  std::size_t size = sizeof attributes;
  if (abi < 6) size = offsetof(RulesetAttributes, scoped);
  if (abi < 4) size = offsetof(RulesetAttributes, handled_access_net);
  const long fd = ::syscall(SYS_landlock_create_ruleset, &attributes, size, 0U);
  return fd < 0 ? -errno : static_cast<int>(fd);
}

int landlock_allow(int ruleset, int object, std::uint64_t rights) noexcept {
  const PathBeneath rule{rights, object};
  return ::syscall(SYS_landlock_add_rule, ruleset, kRulePathBeneath, &rule, 0U) == 0 ? 0 : -errno;
}

int landlock_enforce(int ruleset) noexcept {
  return ::syscall(SYS_landlock_restrict_self, ruleset, 0U) == 0 ? 0 : -errno;
}

}  // namespace heddle::jail

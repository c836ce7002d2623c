// Which namespaces a guest gets (namespaces(7)): a further layer around it, never the only one (JAIL-7).
#pragma once

#include <cstdint>
#include <string>

#include "heddle/jail/confine/need.h"

namespace heddle::jail {

/// Bits of a set.
enum class Namespace : std::uint8_t {
  user = 1U << 0,     ///< ids: maps the guest's own user and group id to themselves and nothing else
  pid = 1U << 1,      ///< the guest is process 1 of it and sees no other; its end is the end of all in it
  mount = 1U << 2,    ///< mounts of its own; see Root
  ipc = 1U << 3,      ///< System V and POSIX message queues, shared memory
  uts = 1U << 4,      ///< host name
  network = 1U << 5,  ///< no interface but a loopback that is down
};

/// A set of namespaces; a value.
class NamespaceSet {
 public:
  constexpr NamespaceSet() = default;
  constexpr explicit NamespaceSet(std::uint8_t bits) : bits_(bits) {}
  constexpr NamespaceSet with(Namespace one) const {
    return NamespaceSet(static_cast<std::uint8_t>(bits_ | static_cast<std::uint8_t>(one)));
  }
  [[nodiscard]] constexpr bool has(Namespace one) const { return (bits_ & static_cast<std::uint8_t>(one)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr std::uint8_t bits() const { return bits_; }
  friend constexpr bool operator==(NamespaceSet a, NamespaceSet b) = default;

 private:
  std::uint8_t bits_ = 0;
};

/// "user, pid, mount, ipc, uts"; "none" for the empty set.
[[nodiscard]] std::string to_text(NamespaceSet set);

/// All that cost little: everything but the network.
inline constexpr NamespaceSet kUsualNamespaces{0x1f};
inline constexpr NamespaceSet kAllNamespaces{0x3f};

/// What a guest in a mount namespace has as its root folder.
enum class Root : std::uint8_t {
  empty,  ///< an empty read-only file system: for static programs, which are started by descriptor
  host,   ///< the host's, as a copy whose mounts nobody else sees; Landlock alone decides about files
};

struct NamespaceOrder {
  Need need = Need::off;
  NamespaceSet set = kUsualNamespaces;  ///< `user` is part of it, or the request is refused
  Root root = Root::empty;              ///< with `mount` only
  friend bool operator==(const NamespaceOrder& a, const NamespaceOrder& b) = default;
};

}  // namespace heddle::jail

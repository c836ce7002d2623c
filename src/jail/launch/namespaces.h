// The child's namespaces: raw system calls for the time between clone and exec. Nothing here allocates or takes a lock.
//
// A host that is not root gets all of them, the user namespace among them, with clone(2), and the child has the rights
// in it that mounting takes. A host that is root makes the others with its own rights, sets up the mounts, gives its
// rights up for the guest's user id, and only then makes the user namespace: so that root is never mapped into one.
#pragma once

#include <cstdint>

#include "heddle/jail/confine/namespace_set.h"
#include "heddle/jail/confine/step.h"

namespace heddle::jail {

enum class Creator : std::uint8_t { root, user };

/// CLONE_NEW* for clone(2).
[[nodiscard]] unsigned clone_flags(NamespaceSet set, Creator creator) noexcept;

/// Whether a failure means that the host refuses namespaces, and not that something else went wrong.
[[nodiscard]] bool refuses_namespaces(const Failure& failure) noexcept;

/// clone(2) with CLONE_NEW* failed: for the sake of the namespaces?
[[nodiscard]] Step failed_clone(int error) noexcept;

/// The calling process's folder in /proc, before the root folder changes: for write_maps(). Close-on-exec.
[[nodiscard]] Failure open_map_folder(int& folder) noexcept;

/// What is mounted from here on stays in this mount namespace.
[[nodiscard]] Failure make_mounts_private() noexcept;

/// The root and working folder become an empty read-only file system. Needs a mount namespace of its own.
[[nodiscard]] Failure enter_empty_root() noexcept;

/// A user namespace for a process that has become an ordinary user already.
[[nodiscard]] Failure unshare_user() noexcept;

/// Maps the calling process's own user and group id to themselves (user_namespaces(7)).
[[nodiscard]] Failure write_maps(int folder, std::uint32_t user, std::uint32_t group) noexcept;

}  // namespace heddle::jail

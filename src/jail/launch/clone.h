// System calls that the C library has no way to make: clone3(2) for a child that shares our memory on a stack of its
// own, born inside a control group; and one that leaves errno alone.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace heddle::jail {

struct CloneOrders {
  std::uint64_t flags = 0;  ///< CLONE_*, without an exit signal; CLONE_INTO_CGROUP is added
  void* stack = nullptr;    ///< its lowest address
  std::size_t stack_bytes = 0;
  int group = -1;  ///< descriptor of the group's folder
  int (*child)(void*) = nullptr;
  void* argument = nullptr;
};

/// The child's pid with its pidfd, or minus the errno: ENOSYS where the kernel, an outer filter or this machine's
/// instruction set has no way. What `child` returns is its exit status. The child's exit signal is SIGCHLD.
[[nodiscard]] pid_t clone_into_group(const CloneOrders& orders, int& pidfd) noexcept;

/// recvmsg(2) for a child whose parent goes on meanwhile: the result or minus the errno, which is not set. ENOSYS where
/// this machine's instruction set is not known here.
[[nodiscard]] long quiet_receive(int socket, msghdr* header, int flags) noexcept;

}  // namespace heddle::jail

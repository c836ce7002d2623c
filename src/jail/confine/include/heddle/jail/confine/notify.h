// How a guest program tells the supervisor which system calls its filter refuses: a filter with a listener
// (seccomp_unotify(2)). The guest loads it and passes the listener over a socket that the supervisor made for this
// purpose, while only Heddle's own code has run in the guest; both ends are closed before the first byte is read from
// the host.
//
//   supervisor → guest   required | if_available: it has opened the guest's memory, for paths, while it still may
//   guest → supervisor   listening + the listener   |   killing, errno: none to be had, the stricter filter is on
//
// Nobody waits for the other: the first word lies there before the guest's program has started up, and a call that is
// refused before the supervisor has taken the second one waits in the kernel.
//
// Why not pidfd_getfd(2): it needs the right to trace the guest, which root without CAP_SYS_PTRACE, a container's
// filter or Yama's ptrace_scope 2 and 3 take away; and the guest would have to stay dumpable with its filter on.
#pragma once

#include <cstdint>

namespace heddle::jail {

/// The guest's end of the socket (AF_UNIX, SOCK_SEQPACKET), where its policy wants notifications.
inline constexpr int kNotifyFd = 5;

enum class NotifyWord : std::uint8_t {
  required = 1,      ///< without a listener no guest
  if_available = 2,  ///< without a listener: refused calls end the guest, and their numbers stay unknown
  listening = 3,     ///< one descriptor comes along
  killing = 4,       ///< a second byte: the errno that loading the filter with a listener gave
};

/// Each: 0 or -errno; a peer that is gone or says something else is -EPROTO. Nothing here allocates.
int notify_order(NotifyWord& order) noexcept;
int notify_pass(int listener) noexcept;
int notify_give_up(int error) noexcept;

}  // namespace heddle::jail

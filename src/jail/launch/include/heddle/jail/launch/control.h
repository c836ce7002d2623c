// The socket between host and supervisor: AF_UNIX, SOCK_SEQPACKET; one packet is one wire::Message with its
// descriptors. Both ends are Heddle's and of one version; the host asks, the supervisor answers, one at a time.
//
//   hello                                                        → ready version (heddle/wire/hello.h)
//   groups  parent, host, folder                                 → groups removed (left by supervisors that are gone)
//   spawn   arg.N, env.N, limits, uid?, ruleset,                 → spawned id, pid, uid?, landlock, namespaces,
//           namespaces, notify, quota, observed, one_program,      refused, errno, group.…
//           held_ids, births, deadline, group.…
//           + program, ruleset?, fds…                              + the guest's pidfd
//                                                                | failed step, errno, detail
//   prepare namespaces, group.…, uid?                            → prepared kept | failed step, errno, detail
//   deadline id, deadline                                        (no reply)
//   status  id                                                   → status state, signalled, quota, late, code, cpu_us,
//                                                                  peak_kib, group.…
//   notify  id                                                   → notify state, errno
//   denials id                                                   → denials total, dropped, unobserved, left, denial.N
//   close   id                                                   (no reply)
//
// A deadline is in nanoseconds of CLOCK_MONOTONIC, which both ends share; 0 is none.
//
// A child that is made ahead has a user id already. `kept`: the one that came is that of a child that waits. A spawn
// that such a child becomes says which id that is; the one that came with the request is the next child's from then on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heddle/core/clock.h"
#include "heddle/core/fd.h"
#include "heddle/core/result.h"
#include "heddle/jail/launch/spawn.h"
#include "heddle/wire/message.h"

namespace heddle::jail {

/// Where the supervisor finds its descriptors.
inline constexpr int kControlFd = 3;  ///< its end of the socket
inline constexpr int kHostFd = 4;     ///< the host's pidfd

struct Packet {
  wire::Message message;
  std::vector<core::Fd> descriptors;
};

/// Blocks for as long as the socket's buffer is full. Errc::disconnected when the peer is gone.
[[nodiscard]] core::Result<void> send_packet(const core::Fd& socket, const wire::Message& message,
                                             const std::vector<const core::Fd*>& descriptors);

/// Waits until the deadline (Errc::timed_out). Errc::disconnected at the end of the connection. Before it sleeps it
/// looks `looks` times, and lets others run in between: for a packet that is about to come, which is there sooner than
/// a processor that has gone to sleep.
[[nodiscard]] core::Result<Packet> receive_packet(const core::Fd& socket, core::Deadline deadline, unsigned looks = 0);

/// A guest's user id, as a field of a message, and back.
void encode_identity(std::optional<std::uint32_t> identity, wire::Message& message);
[[nodiscard]] core::Result<std::optional<std::uint32_t>> decode_identity(wire::Message& message);

/// The spawn request, without its descriptors, and back.
[[nodiscard]] wire::Message encode_spawn(const SpawnPlan& plan);
[[nodiscard]] core::Result<SpawnPlan> decode_spawn(Packet packet);

/// What a child is made ahead for: of a plan, the namespaces and the group's limits.
struct GuestKind {
  NamespaceOrder namespaces;
  GroupLimits group_limits;
  friend bool operator==(const GuestKind& a, const GuestKind& b) = default;
};
struct PrepareOrder {
  GuestKind kind;
  std::optional<std::uint32_t> identity;  ///< as in a plan
};
inline constexpr std::size_t kMaxPrepared = 4;
[[nodiscard]] wire::Message encode_prepare(const PrepareOrder& order);
[[nodiscard]] core::Result<PrepareOrder> decode_prepare(wire::Message message);

/// A guest's deadline, as a field of a message, and back.
void encode_deadline(core::Deadline deadline, wire::Message& message);
[[nodiscard]] core::Result<core::Deadline> decode_deadline(wire::Message& message);

/// How a guest ended, as fields of a message, and back.
void encode_ending(const Ending& ending, wire::Message& message);
[[nodiscard]] core::Result<Ending> decode_ending(wire::Message& message);

/// How far a guest's notifications have come.
struct NotifyReport {
  NotifyState state = NotifyState::off;
  int error = 0;  ///< NotifyState::killing: why there is no listener
};
[[nodiscard]] wire::Message encode_notify(const Notifier& notifier);
[[nodiscard]] core::Result<NotifyReport> decode_notify(wire::Message& message);

/// A guest's refused calls, moved out of the log. At most kDenialsAPacket records at a time: ask again while
/// some are left.
struct DenialReport {
  std::uint64_t total = 0;
  std::uint64_t dropped = 0;
  std::uint64_t observed_dropped = 0;
  std::uint64_t left = 0;  ///< calls that the records stand for which still wait
  std::vector<DenialRecord> records;
};
inline constexpr std::size_t kDenialsAPacket = 16;
[[nodiscard]] wire::Message encode_denials(DenialLog& log);
[[nodiscard]] core::Result<DenialReport> decode_denials(wire::Message message);

}  // namespace heddle::jail

// The numbers and the first steps that host and far side agree on.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "heddle/core/fd.h"
#include "heddle/core/result.h"
#include "heddle/sandbox/plugin/backend_process.h"

namespace heddle::sandbox::plugin {

inline constexpr int kCallsFd = 3;   ///< in the far side: a socket (SOCK_SEQPACKET) that brings calls
inline constexpr int kMemoryFd = 4;  ///< the sealed bytes of the backend, where there are any

/// What comes over kCallsFd: a call, with the socket that it is made over, or the stop of one.
struct Knock {
  enum class Kind : std::uint8_t { call = 1, stop = 2 };
  Kind kind;
  std::uint64_t id;
};
inline constexpr std::size_t kKnockBytes = 9;

[[nodiscard]] core::Result<void> send_knock(const core::Fd& calls, Knock knock, const core::Fd* socket);

struct Received {
  Knock knock{Knock::Kind::stop, 0};
  core::Fd socket;
};
/// Blocks; Errc::disconnected when the host hung up.
[[nodiscard]] core::Result<Received> receive_knock(const core::Fd& calls);

/// In a process group of its own, with no descriptor but 0 (empty), 1 and 2 (our standard error), 3 and 4.
[[nodiscard]] core::Result<pid_t> spawn_server(const ServerCommand& command, const core::Fd& calls,
                                               const core::Fd* memory);

}  // namespace heddle::sandbox::plugin

// Link: the connection to one supervisor process, shared by the Supervisor object and its guests.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <set>

#include "heddle/core/clock.h"
#include "heddle/core/fd.h"
#include "heddle/core/pidfd.h"
#include "heddle/core/result.h"
#include "heddle/jail/launch/control.h"

namespace heddle::jail {

/// Thread-safe.
class Link {
 public:
  Link(core::Fd socket, pid_t pid, core::Pidfd process, core::Duration request_timeout)
      : socket_(std::move(socket)), pid_(pid), process_(std::move(process)), request_timeout_(request_timeout) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() { end(); }

  /// One request, one reply. After the first failure the supervisor is ended and every later call gives the same kind
  /// of Error.
  [[nodiscard]] core::Result<Packet> ask(const wire::Message& request, const std::vector<const core::Fd*>& descriptors,
                                         core::Deadline deadline, unsigned looks = 0);
  [[nodiscard]] core::Result<Packet> ask(const wire::Message& request,
                                         const std::vector<const core::Fd*>& descriptors = {}) {
    return ask(request, descriptors, core::Deadline::after(request_timeout_));
  }

  /// For what the supervisor only has to look up.
  [[nodiscard]] core::Result<Packet> ask_briefly(const wire::Message& request) {
    constexpr unsigned kLooks = 100;  // some 50 microseconds
    return ask(request, {}, core::Deadline::after(request_timeout_), kLooks);
  }

  /// A request that has no reply.
  [[nodiscard]] core::Result<void> tell(const wire::Message& request) noexcept;

  /// Closes the connection, upon which the supervisor ends its guests and itself; waits, and kills it if it does not.
  void end() noexcept;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  /// Filters that the supervisor itself runs under, and its guests with it: what an outer container has put on all of
  /// us. Filters belong to threads, so the host's own number would not do. Read once, after the handshake.
  [[nodiscard]] core::Result<void> read_outer_filters();
  [[nodiscard]] unsigned outer_filters() const noexcept { return outer_filters_; }

  /// User ids of guests: the range and those in use.
  std::uint32_t first_identity = 0;  // 0: guests keep the host's own id
  std::uint32_t identity_count = 0;
  [[nodiscard]] core::Result<std::uint32_t> take_identity();
  void give_back_identity(std::uint32_t identity) noexcept;

 private:
  [[nodiscard]] core::Result<void> send_locked(const wire::Message& request,
                                               const std::vector<const core::Fd*>& descriptors,
                                               core::Deadline deadline);
  [[nodiscard]] core::Error broken(const core::Error& cause);
  void end_locked() noexcept;

  std::mutex mutex_;
  core::Fd socket_;
  const pid_t pid_;
  core::Pidfd process_;
  const core::Duration request_timeout_;
  unsigned outer_filters_ = 0;
  std::string death_;  // how the supervisor ended, once it has

  std::mutex identity_mutex_;
  std::uint32_t next_identity_ = 0;
  std::set<std::uint32_t> identities_;
};

}  // namespace heddle::jail

// The supervisor's side of a guest's refused system calls: takes over the listener, answers each call with EPERM, and
// keeps what the kernel said of it until the host asks (seccomp_unotify(2)).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <string>

#include "heddle/core/fd.h"

namespace heddle::jail {

/// One refused call. Number, architecture and arguments are the kernel's. `bytes` is what lay in the guest's memory at
/// that moment, which the guest could have changed since: observed, never proof.
struct DenialRecord {
  enum class Object : std::uint8_t { none, path, address };
  int number = 0;
  std::uint32_t architecture = 0;  ///< AUDIT_ARCH_
  std::uint64_t arguments[6] = {};
  Object object = Object::none;
  std::string bytes;  ///< a path without its NUL, or a struct sockaddr; at most kMaxObservedBytes
};
inline constexpr std::size_t kMaxObservedBytes = 512;

/// Denials that wait for the host: the first ones are kept, and those that find no room are counted.
class DenialLog {
 public:
  static constexpr std::size_t kRoom = 128;
  void add(DenialRecord record);
  /// The oldest; false when there is none.
  bool take(DenialRecord& record);
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  std::deque<DenialRecord> records_;
  std::uint64_t total_ = 0;
  std::uint64_t dropped_ = 0;
};

/// How far a guest's notifications have come. Numbers cross the supervisor's socket.
enum class NotifyState : std::uint8_t {
  off,        ///< its policy asks for none
  awaited,    ///< the guest has not confined itself yet, or ended before it did
  listening,  ///< the supervisor holds the listener
  killing,    ///< no listener to be had: refused calls end the guest
};

enum class NotifyOrder : std::uint8_t { off, if_available, required };

/// Where a call's interesting pointer is, for the calls that have one.
struct ObjectArgument {
  DenialRecord::Object object = DenialRecord::Object::none;
  unsigned pointer = 0;  ///< number of the argument
  unsigned length = 0;   ///< of an address
};
[[nodiscard]] ObjectArgument object_argument(int number) noexcept;

/// One guest's. The supervisor polls socket() and listener(), calls take_message() and serve() when they are readable,
/// and kills the guest when it is told to. One thread.
class Notifier {
 public:
  Notifier() = default;
  /// `socket`: the supervisor's end of the pair whose other end is the guest's kNotifyFd.
  Notifier(NotifyOrder order, std::uint32_t quota, pid_t guest, core::Fd socket)
      : order_(order), state_(NotifyState::awaited), quota_(quota), guest_(guest), socket_(std::move(socket)) {}

  enum class Verdict : std::uint8_t {
    go_on,
    listen,  ///< from now on listener() is to be watched as well
    closed,  ///< the descriptor that was readable is of no use any more
    kill,    ///< the guest has broken the rules, or used up its quota
  };

  /// The guest said something on socket().
  [[nodiscard]] Verdict take_message() noexcept;
  /// A refused call waits at listener().
  [[nodiscard]] Verdict serve() noexcept;
  /// The guest has ended. Denials and state stay.
  void end() noexcept;

  [[nodiscard]] const core::Fd& socket() const noexcept { return socket_; }
  [[nodiscard]] const core::Fd& listener() const noexcept { return listener_; }
  [[nodiscard]] NotifyState state() const noexcept { return state_; }
  [[nodiscard]] int error() const noexcept { return error_; }  ///< NotifyState::killing: why there is no listener
  [[nodiscard]] bool quota_spent() const noexcept { return quota_spent_; }
  [[nodiscard]] DenialLog& log() noexcept { return log_; }

 private:
  [[nodiscard]] Verdict greeted() noexcept;
  [[nodiscard]] Verdict conclude(NotifyState state) noexcept;
  void observe(DenialRecord& record) const;

  NotifyOrder order_ = NotifyOrder::off;
  NotifyState state_ = NotifyState::off;
  std::uint32_t quota_ = 0;
  pid_t guest_ = 0;
  bool greeted_ = false;
  bool quota_spent_ = false;
  int error_ = 0;
  core::Fd socket_;
  core::Fd memory_;  // the guest's, opened while it let itself be looked at
  core::Fd listener_;
  DenialLog log_;
};

}  // namespace heddle::jail

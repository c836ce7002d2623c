// The supervisor's side of a guest's refused system calls: takes over the listener, answers each call with EPERM (but
// see NotifyRules), and keeps what the kernel said of it until the host asks (seccomp_unotify(2)).
//
// A call that is let go on runs as the guest made it, with memory that the guest could have changed meanwhile. So
// nothing goes on because of what its pointers point at: only calls that the filter would have let through by
// themselves, and that Landlock decides about afterwards; and what makes a process, by number and flags.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "heddle/core/fd.h"

struct seccomp_notif;  // linux/seccomp.h

namespace heddle::jail {

/// One call that was refused, or left to Landlock. Number, architecture and arguments are the kernel's. `bytes` is what
/// lay in the guest's memory at that moment, which the guest could have changed since: observed, never proof.
struct DenialRecord {
  enum class Object : std::uint8_t { none, path, address };
  int number = 0;
  std::uint32_t architecture = 0;  ///< AUDIT_ARCH_
  std::uint64_t arguments[6] = {};
  Object object = Object::none;
  bool left_to_landlock = false;  ///< the call went on
  std::uint64_t count = 1;        ///< calls that this record stands for
  std::string bytes;              ///< a path without its NUL, or a struct sockaddr; at most kMaxObservedBytes
  std::string folder;             ///< where a path that is not absolute starts; at most kMaxObservedBytes
};
inline constexpr std::size_t kMaxObservedBytes = 512;

/// Records that wait for the host. Of what was refused the first ones are kept, and those that find no room are
/// counted. What was left to Landlock is kept apart and after them: each call once, with how often it was made.
class DenialLog {
 public:
  static constexpr std::size_t kRoom = 128;
  static constexpr std::size_t kObservedRoom = 1024;
  void add(DenialRecord record);
  void observe(DenialRecord record);
  /// The oldest; false when there is none.
  bool take(DenialRecord& record);
  /// Calls that the records stand for which have not been taken.
  [[nodiscard]] std::uint64_t waiting() const noexcept { return records_.size() + observed_waiting_; }
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }  ///< refused
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }
  [[nodiscard]] std::uint64_t observed_dropped() const noexcept { return observed_dropped_; }

 private:
  std::deque<DenialRecord> records_;
  std::map<std::uint64_t, std::pair<std::string, DenialRecord>> observed_;  // by arrival; with its key
  std::map<std::string, std::uint64_t> arrivals_;                           // by all that makes a difference
  std::uint64_t arrived_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t observed_dropped_ = 0;
  std::uint64_t observed_waiting_ = 0;
};

/// How far a guest's notifications have come. Numbers cross the supervisor's socket.
enum class NotifyState : std::uint8_t {
  off,        ///< its policy asks for none
  awaited,    ///< the guest has not confined itself yet, or ended before it did
  listening,  ///< the supervisor holds the listener
  killing,    ///< no listener to be had: refused calls end the guest
};

enum class NotifyOrder : std::uint8_t { off, if_available, required };

/// What the supervisor does about one guest's calls.
struct NotifyRules {
  NotifyOrder order = NotifyOrder::off;
  std::uint32_t quota = 0;    ///< the denial with this number ends the guest
  std::vector<int> observed;  ///< native numbers that go on, for Landlock to decide; all others are refused
  /// The first execveat(fd, …, AT_EMPTY_PATH) of a child of the guest's own process goes on, and no other.
  bool one_program = false;
  /// A call of the setuid(2) family that asks for nothing but the ids that the guest has is answered with success, as
  /// the kernel would, and is no denial. Nothing is done, so it does not matter that nothing is looked at but numbers.
  bool held_ids = false;
  /// What makes a process goes on (is_birth()), untold. Once the listener is closed it fails.
  bool births = false;
};
inline constexpr std::size_t kMaxObservedCalls = 64;

/// fork(2), vfork(2), and clone(2) of a process with none of kBirthFlagsRefused.
[[nodiscard]] bool is_birth(int number, std::uint64_t flags) noexcept;
/// Of clone(2): namespaces, another parent than the caller, a tracer.
inline constexpr std::uint64_t kBirthFlagsRefused = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                                    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_PARENT |
                                                    CLONE_PTRACE;

struct HeldIds {
  std::uint32_t user = 0;
  std::uint32_t group = 0;
};
/// What a call of the setuid(2) family that leaves `ids` as they are gives; none for one that would not, or another
/// call.
[[nodiscard]] std::optional<std::int64_t> result_of_keeping(HeldIds ids, int number,
                                                            const std::uint64_t (&arguments)[6]) noexcept;

/// Where a call's interesting pointer is, for the calls that have one.
struct ObjectArgument {
  static constexpr unsigned kNone = 6;
  DenialRecord::Object object = DenialRecord::Object::none;
  unsigned pointer = 0;     ///< number of the argument
  unsigned length = 0;      ///< of an address
  unsigned folder = kNone;  ///< of a path: the descriptor that it starts from; kNone: the working folder
};
[[nodiscard]] ObjectArgument object_argument(int number) noexcept;
/// The second path, of the calls that have two; Object::none for others.
[[nodiscard]] ObjectArgument second_path(int number) noexcept;

/// One guest's. The supervisor polls socket() and listener(), calls take_message() and serve() when they are readable,
/// and kills the guest when it is told to. One thread.
class Notifier {
 public:
  Notifier() = default;
  /// `socket`: the supervisor's end of the pair whose other end is the guest's kNotifyFd.
  /// `ids`: the guest's real, effective and saved ones, all the same.
  Notifier(NotifyRules rules, pid_t guest, HeldIds ids, core::Fd socket)
      : rules_(std::move(rules)), state_(NotifyState::awaited), guest_(guest), ids_(ids), socket_(std::move(socket)) {}

  enum class Verdict : std::uint8_t {
    go_on,
    listen,  ///< from now on listener() is to be watched as well
    closed,  ///< the descriptor that was readable is of no use any more
    kill,    ///< the guest has broken the rules, or used up its quota
  };

  /// The guest has been spawned: opens its memory and tells it to go on. `kill`: it could not be told.
  [[nodiscard]] Verdict begin() noexcept;
  /// The guest said something on socket(), which is closed once it has said all.
  [[nodiscard]] Verdict take_message() noexcept;
  /// listener() is ready; `events`: for what (poll(2)). `closed` once nobody is left under the filter.
  [[nodiscard]] Verdict serve(std::uint32_t events) noexcept;
  /// The guest has ended: what is open is the caller's to close, socket() and listener() too. Denials and state stay.
  void end(std::vector<core::Fd>& open);

  [[nodiscard]] const core::Fd& socket() const noexcept { return socket_; }
  [[nodiscard]] const core::Fd& listener() const noexcept { return listener_; }
  [[nodiscard]] NotifyState state() const noexcept { return state_; }
  [[nodiscard]] int error() const noexcept { return error_; }  ///< NotifyState::killing: why there is no listener
  [[nodiscard]] bool quota_spent() const noexcept { return quota_spent_; }
  [[nodiscard]] DenialLog& log() noexcept { return log_; }

 private:
  [[nodiscard]] Verdict conclude(NotifyState state, Verdict verdict) noexcept;
  [[nodiscard]] bool starts_the_program(const seccomp_notif& call) const;
  [[nodiscard]] bool observes(const seccomp_notif& call) const;
  void look(DenialRecord& record, pid_t caller, ObjectArgument where) const;
  [[nodiscard]] Verdict answer(std::uint64_t id, bool goes_on) noexcept;
  [[nodiscard]] Verdict answer_done(std::uint64_t id, std::int64_t result) noexcept;

  NotifyRules rules_;
  NotifyState state_ = NotifyState::off;
  pid_t guest_ = 0;
  HeldIds ids_;
  bool quota_spent_ = false;
  bool started_ = false;  // the one program
  int error_ = 0;
  core::Fd socket_;
  core::Fd memory_;  // the guest's, opened while it let itself be looked at
  core::Fd listener_;
  DenialLog log_;
};

}  // namespace heddle::jail

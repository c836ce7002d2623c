// Policy: what a guest may do. Default-deny: what no line of a policy grants is refused.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/fd.h"
#include "heddle/core/result.h"
#include "heddle/jail/confine/namespace_set.h"
#include "heddle/jail/launch/group.h"
#include "heddle/jail/syscalls.h"

namespace heddle::jail {

/// Resource limits of each process (setrlimit(2)), soft and hard alike, where a lower hard limit of the host's stays;
/// and of all of a guest together (`group`).
struct Limits {
  std::uint64_t data_bytes = 256U << 20;  ///< RLIMIT_DATA: heap and private writable mappings; not address space
  std::uint64_t stack_bytes = 8U << 20;   ///< RLIMIT_STACK
  std::chrono::seconds cpu{3600};         ///< RLIMIT_CPU of the process's whole life; SIGKILL at the end
  std::uint64_t open_files = 16;          ///< RLIMIT_NOFILE: descriptors below this number
  std::uint64_t processes = 1;            ///< RLIMIT_NPROC of the guest's user; not for a host that is root in disguise
  std::uint64_t file_bytes = 0;           ///< RLIMIT_FSIZE
  GroupLimits group;                      ///< its control group; by default it has none

  friend bool operator==(const Limits& a, const Limits& b) = default;
};

/// RLIMIT_SIGPENDING of the profile `program`: queued signals and timers, which the kernel counts per user. In a user
/// namespace they are the program's own, and count as the host user's up to this number. Without one those of all
/// processes of that user are compared with it. Heddle's own guests can make neither.
inline constexpr std::uint64_t kPendingSignals = 256;

/// Whether the supervisor learns which calls the filter refuses (seccomp_unotify(2), Linux 5.0). With them a refused
/// call gets EPERM and is a Denial; without them it ends a script by SIGSYS, gives a program EPERM, and its number
/// stays unknown.
enum class Notifications : std::uint8_t {
  off,           ///< not asked for
  if_available,  ///< where the kernel has them and nobody listens already; Guest::applied() says which it was
  required,      ///< without them the guest does not start (Step::filter_load)
};

struct DenialOptions {
  Notifications notifications = Notifications::if_available;
  std::uint32_t quota = 64;  ///< the denial with this number ends the guest (Death::Kind::denial_quota); at least 1
  /// Calls that the filter lets through and Landlock decides (opens, renames, …) are told too, for the record, and let
  /// go on: Denial::left_to_landlock. They do not count against the quota. Each costs a notification.
  bool observe = false;
};

/// Immutable; copies share one state and may be used from several threads.
class Policy {
 public:
  /// The profile `script`. Builds the system call filter once: keep the Policy, and copy it. Errc::invalid_argument for
  /// a limit under which no program can start.
  /// Namespaces cost about as much as a start without them, and the network's as much again (`./dev bench`): what has
  /// no socket needs none.
  [[nodiscard]] static core::Result<Policy> script(const Limits& limits = {}, const DenialOptions& denials = {},
                                                   const NamespaceOrder& namespaces = {Need::if_available});

  [[nodiscard]] Profile profile() const noexcept { return state_->table.profile; }
  /// What the filter is made from.
  [[nodiscard]] const SyscallTable& table() const noexcept { return state_->table; }
  [[nodiscard]] const Limits& limits() const noexcept { return state_->limits; }
  [[nodiscard]] const NamespaceOrder& namespaces() const noexcept { return state_->namespaces; }
  /// The guest's whole environment, "NAME=value".
  [[nodiscard]] const std::vector<std::string>& environment() const noexcept { return state_->environment; }
  [[nodiscard]] const DenialOptions& denials() const noexcept { return state_->denials; }
  /// The seccomp program that notifies, an array of struct sock_filter; empty with Notifications::off.
  [[nodiscard]] std::string_view filter() const noexcept { return state_->filter; }
  /// The one that is loaded where nobody can be notified.
  [[nodiscard]] std::string_view killing_filter() const noexcept { return state_->killing_filter; }
  /// The one that a guest loads on top with narrow_self(); empty where the profile has none.
  [[nodiscard]] std::string_view second_filter() const noexcept { return state_->second_filter; }
  /// The calls that the supervisor is told of and lets go on (DenialOptions::observe), ascending.
  [[nodiscard]] const std::vector<int>& observed() const noexcept { return state_->observed; }
  /// The supervisor lets one execveat through, the stub's.
  [[nodiscard]] bool one_program() const noexcept { return state_->one_program; }
  /// The supervisor is told of each process that the guest makes, and lets it go on (Answer::birth).
  [[nodiscard]] bool births() const noexcept { return state_->births; }
  /// All of them in sealed memory, as it is passed to guests.
  [[nodiscard]] const core::Fd& sealed_filter() const noexcept { return state_->sealed_filter; }
  /// A Landlock ruleset that grants paths. Not valid: nothing but the guest's own program.
  [[nodiscard]] const core::Fd& ruleset() const noexcept { return state_->ruleset; }

 private:
  friend class UnsafePolicy;    // of jail/unsafe, a target of its own: whoever weakens links it
  friend class ThreadedPolicy;  // of the same
  struct State {
    SyscallTable table;
    SyscallTable taken;  ///< what the second filter takes away; no row: there is none
    Limits limits;
    NamespaceOrder namespaces;
    std::vector<std::string> environment;
    DenialOptions denials;
    std::string filter;
    std::string killing_filter;
    std::string second_filter;
    std::vector<int> observed;
    bool one_program = false;
    bool births = false;
    core::Fd sealed_filter;
    core::Fd ruleset;
  };
  /// Checks what is common to all profiles and builds the filter.
  [[nodiscard]] static core::Result<Policy> make(State state);
  explicit Policy(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace heddle::jail

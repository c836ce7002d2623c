// Guest: a confined process, seen from the host.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "heddle/core/clock.h"
#include "heddle/core/pidfd.h"
#include "heddle/core/result.h"
#include "heddle/jail/applied.h"
#include "heddle/jail/confine/step.h"
#include "heddle/jail/denial.h"
#include "heddle/jail/launch/group.h"
#include "heddle/jail/policy.h"

namespace heddle::jail {

/// Why a host ends a guest: it decides what the Death is called.
enum class KillReason : std::uint8_t { asked, time_out };

/// How a guest ended. Numbers come from the kernel through the supervisor.
struct Death {
  enum class Kind : std::uint8_t {
    exited = 0,           ///< by itself; `code` is its status
    signalled = 1,        ///< by a signal that we did not send; `code` is its number (SIGSYS: the filter)
    killed = 2,           ///< by Guest::kill()
    with_supervisor = 3,  ///< the supervisor ended, and it with it; nothing else is known
    /// The kernel's OOM killer took it or one of its descendants, over its own limit or the machine's (with a group
    /// whose memory is limited; without one such an end is `signalled`). Goes before a kill of ours at the same moment.
    out_of_memory = 4,
    /// By itself, not with status 0, after its group's limit refused it a process. One that was refused and lived with
    /// it has only group->processes_refused.
    process_limit = 5,
    timed_out = 6,     ///< by the supervisor at its deadline, or by Guest::kill(KillReason::time_out)
    denial_quota = 7,  ///< by the supervisor: as many denials as its policy lets it have; take_denials() names them
  };
  Kind kind = Kind::with_supervisor;
  int code = 0;
  bool by_signal = false;                 ///< what `code` is
  std::chrono::microseconds cpu{0};       ///< user and system time; of its group where it has one
  std::uint64_t peak_bytes = 0;           ///< resident; not below what the supervisor itself has
  std::optional<CgroupUsage> group = {};  ///< what its control group counted
};

/// For people, after "it": "ran out of memory: the kernel killed it at 64 MiB; give it …".
[[nodiscard]] std::string describe(const Death& death);

/// "out_of_memory": stable words for reports.
const char* death_name(Death::Kind kind) noexcept;

/// Move-only. One thread at a time may use it; several guests may be used from several threads.
class Guest {
 public:
  Guest(Guest&& other) noexcept = default;
  Guest& operator=(Guest&& other) noexcept;
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;
  /// close().
  ~Guest() { close(); }

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// The user and group id that it was given; 0: the host's own.
  [[nodiscard]] std::uint32_t identity() const noexcept { return identity_; }
  /// Readable when the guest has ended. Signals go through it.
  [[nodiscard]] const core::Pidfd& process() const noexcept { return process_; }

  /// The namespaces that it is in, or what refused them (JAIL-7, JAIL-13).
  [[nodiscard]] const AppliedNamespaces& namespaces() const noexcept { return namespaces_; }

  /// Its control group, and what of the policy's limits for it was applied and what not (JAIL-13).
  [[nodiscard]] const AppliedCgroup& cgroup() const noexcept { return cgroup_; }

  /// JAIL-16, before the first byte is sent: reads from the kernel that no_new_privs is on, that a filter of the
  /// guest's own is (filters that the supervisor already had, as a container's, do not count), that it has one thread,
  /// runs as the user that it was given and is in the group that it was given; and from the supervisor that it holds
  /// the guest's listener, or knows that there is none and the policy lives with that. Errc::confinement otherwise, and
  /// when /proc cannot be read. Call it when the guest says that it is ready.
  [[nodiscard]] core::Result<void> verify_confined() const;

  /// The same after the guest has said that narrow_self() was done, and before anything is sent that is for code that
  /// is not Heddle's: reads from the kernel that it has two filters of its own. Errc::confinement otherwise.
  [[nodiscard]] core::Result<void> verify_narrowed() const;

  /// What confines it. Complete once verify_confined() was ok. Of a living guest; Errc::not_found when it has ended.
  [[nodiscard]] core::Result<AppliedPolicy> applied() const;

  /// From now on this is the guest's deadline, in place of the one before: the supervisor ends it then, whatever the
  /// host does (JAIL-18), and Death::kind is timed_out. It does not wait for the supervisor. Errc::disconnected when
  /// that is gone, and the guest with it.
  [[nodiscard]] core::Result<void> set_deadline(core::Deadline deadline);

  /// The calls that it was refused since the last time, oldest first, and after them those that were left to Landlock;
  /// asks the supervisor. Also of a guest that has ended, until close(). Of one that ended by SIGSYS (see wait()) the
  /// last is of unknown number. No more than the supervisor keeps of a guest, and none more once `deadline` has passed,
  /// so that a guest that makes them faster than they are taken holds nobody: Denials::left says what still waits.
  /// Errc::disconnected when the supervisor is gone, and what it knew with it.
  [[nodiscard]] core::Result<Denials> take_denials(core::Deadline deadline = core::Deadline::never());

  /// CPU time used up to now by the living guest; Errc::not_found when it has ended (then see Death).
  [[nodiscard]] core::Result<std::chrono::nanoseconds> cpu_time() const;

  /// SIGKILL, without waiting. No guest can refuse it. The first reason stays. Its descendants end with it when it has
  /// a group.
  void kill(KillReason reason = KillReason::asked) noexcept;

  /// Waits until the guest has ended: nothing when the deadline came first. Gives the same answer from then on.
  [[nodiscard]] core::Result<std::optional<Death>> wait(core::Deadline deadline);

  /// Kills the guest if it still lives, and gives its process back to the kernel. Waits for its end.
  void close() noexcept;

 private:
  friend class Supervisor;
  Guest(std::shared_ptr<class Link> link, std::uint64_t id, pid_t pid, core::Pidfd process, std::uint32_t identity,
        const Policy& policy, const AppliedNamespaces& namespaces, int landlock_abi, AppliedCgroup cgroup)
      : link_(std::move(link)),
        id_(id),
        pid_(pid),
        process_(std::move(process)),
        identity_(identity),
        table_(policy.table()),
        limits_(policy.limits()),
        denials_(policy.denials()),
        namespaces_(namespaces),
        landlock_abi_(landlock_abi),
        cgroup_(std::move(cgroup)) {}

  [[nodiscard]] core::Result<void> verify_notified() const;
  [[nodiscard]] core::Result<void> verify_group() const;

  std::shared_ptr<class Link> link_;  // empty once closed or moved from
  std::uint64_t id_ = 0;
  pid_t pid_ = 0;
  core::Pidfd process_;
  std::uint32_t identity_ = 0;
  SyscallTable table_;
  Limits limits_;
  DenialOptions denials_;
  bool unknown_told_ = false;  // the one denial that nobody was notified of
  AppliedNamespaces namespaces_;
  int landlock_abi_ = 0;
  AppliedCgroup cgroup_;
  std::optional<KillReason> killed_;
  std::optional<Death> death_;
  mutable clockid_t cpu_clock_ = 0;  // 0 (CLOCK_REALTIME): not asked for yet
};

/// The Error for a step that a guest program could not do (as it reports it itself).
[[nodiscard]] core::Error refused(const Failure& failure);

}  // namespace heddle::jail

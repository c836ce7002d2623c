// Supervisor: the host's side of heddle-supervisor, the one process that spawns, watches and reaps guests (JAIL-15).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heddle/core/clock.h"
#include "heddle/core/fd.h"
#include "heddle/core/result.h"
#include "heddle/jail/cgroup.h"
#include "heddle/jail/guest.h"
#include "heddle/jail/policy.h"
#include "heddle/jail/program.h"

namespace heddle::jail {

/// User ids for guests, when the host is root: each living guest has one of its own.
struct IdentityRange {
  std::uint32_t first = 0;  ///< 0: a random block inside 0x70000000–0x7fff0000, or inside what a user namespace maps
  std::uint32_t count = 4096;
};

struct SupervisorOptions {
  std::string program;  ///< path of heddle-supervisor; empty: helper_path("heddle-supervisor")
  std::chrono::milliseconds start_timeout{10'000};
  std::chrono::milliseconds request_timeout{30'000};
  IdentityRange identities;
  CgroupOptions cgroup;  ///< what killed supervisors left there is removed at the start
};

/// The program that `options` name, checked (see open_program).
[[nodiscard]] core::Result<Program> open_supervisor(const SupervisorOptions& options);

/// Thread-safe: requests are made one at a time. A dead supervisor is Errc::disconnected from then on, and all its
/// guests are dead too: start a new one, as guest::Host does.
class Supervisor {
 public:
  /// Errc::untrusted_program: not ours to trust (see open_program), or of another version. The process has its own
  /// session, an empty environment and no descriptor of the host's but its socket and the host's pidfd.
  [[nodiscard]] static core::Result<Supervisor> start(const SupervisorOptions& options = {});
  /// The same of a program that has been opened: the one that open_supervisor() gave.
  [[nodiscard]] static core::Result<Supervisor> start(const Program& program, const SupervisorOptions& options);

  Supervisor(Supervisor&&) noexcept = default;
  Supervisor& operator=(Supervisor&&) noexcept = default;
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  /// Ends every guest that is still there, and waits for that.
  ~Supervisor();

  /// Starts `program` under `policy` with `arguments` after argv[0]; `channel` becomes its descriptor kChannelFd.
  /// Either the guest runs with every step done, or an Error names the step and nothing ran: Errc::confinement, or
  /// Errc::unsupported when this machine lacks what the policy needs. Before anything is sent to the guest:
  /// Guest::verify_confined().
  [[nodiscard]] core::Result<Guest> spawn(const Policy& policy, const Program& program,
                                          const std::vector<std::string>& arguments, core::Fd channel) {
    return spawn(policy, program, arguments, std::move(channel), {});
  }
  /// The same with more descriptors, which follow kFilterFd, and with a deadline at which the supervisor ends it,
  /// ready or not (Guest::set_deadline() replaces it).
  [[nodiscard]] core::Result<Guest> spawn(const Policy& policy, const Program& program,
                                          const std::vector<std::string>& arguments, core::Fd channel,
                                          const std::vector<core::Fd>& more,
                                          core::Deadline deadline = core::Deadline::never());

  /// Has a child ready for a guest under `policy`, or under another with the same namespaces and group limits, and from
  /// then on makes the next one whenever such a guest has been spawned and nothing has been asked for a millisecond.
  /// That takes the making of process, namespaces, root and group out of spawn(), and changes nothing about the guest.
  /// Each kind costs one waiting process and its namespaces, and a user id of the range, or one of this user's
  /// processes where the host is not root; at most four kinds (Errc::exhausted). Not for guests with Root::host, whose
  /// mounts would be those of an earlier time (Errc::unsupported). An Error names the step that failed; spawn() does
  /// without then.
  [[nodiscard]] core::Result<void> prepare(const Policy& policy);

  /// The process, for diagnostics and tests.
  [[nodiscard]] pid_t pid() const noexcept;

 private:
  explicit Supervisor(std::shared_ptr<class Link> link) : link_(std::move(link)) {}
  std::shared_ptr<class Link> link_;
};

}  // namespace heddle::jail

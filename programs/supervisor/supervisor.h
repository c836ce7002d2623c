// The supervisor's state and loop. One thread. Of a guest's data only what its refused calls
// point at passes through, uninterpreted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "heddle/core/fd.h"
#include "heddle/core/pidfd.h"
#include "heddle/core/result.h"
#include "heddle/jail/launch/cgroup.h"
#include "heddle/jail/launch/control.h"
#include "heddle/jail/launch/prepared.h"
#include "heddle/jail/launch/spawn.h"

namespace heddle::supervisor {

/// Spawns, reaps and ends guests on the host's request, and ends all of them when the host is gone (JAIL-12, JAIL-15).
class Supervisor {
 public:
  Supervisor(core::Fd control, core::Fd host) : control_(std::move(control)), host_(core::Pidfd(std::move(host))) {}
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor() { end_all(); }

  /// Returns when the host has closed the connection or has ended; an Error is a broken host or kernel. Guests are gone
  /// once the object is.
  [[nodiscard]] core::Result<void> run();

 private:
  struct Guest {
    core::Pidfd process;
    jail::Ending ending;
    jail::Notifier notifier;
    jail::ControlGroup group;
    core::Fd mounts;  // its mount namespace
    core::Deadline deadline = core::Deadline::never();
    bool late = false;       // ended at its deadline
    bool forgotten = false;  // closed by the host before its end was seen
    pid_t pid = 0;
    bool leaves = false;  // may leave processes that no pid namespace ends
  };

  // A kind of guest that a child is kept ready for.
  struct Kind {
    jail::GuestKind guests;
    std::optional<std::uint32_t> identity;  // of the child, or of the next one
    bool given_up = false;                  // no child until it is asked for again
    std::unique_ptr<jail::Prepared> child;  // none: to be made when nothing else is to be done
    jail::ControlGroup group;
    jail::AppliedCgroup applied;
  };

  // What of a guest's an event is about; with its id the key in the epoll set.
  enum class Source : std::uint8_t { process, socket, listener };
  [[nodiscard]] static std::uint64_t event_key(std::uint64_t id, Source source) {
    return id << 2U | static_cast<std::uint64_t>(source);
  }

  [[nodiscard]] core::Result<void> watch(const core::Fd& fd, std::uint64_t key);
  void unwatch(const core::Fd& fd);
  [[nodiscard]] core::Result<void> serve();
  [[nodiscard]] core::Result<void> spawn(jail::Packet packet);
  [[nodiscard]] core::Result<void> status(wire::Message& request);
  [[nodiscard]] core::Result<void> close(wire::Message& request);
  [[nodiscard]] core::Result<void> notify(wire::Message& request);
  [[nodiscard]] core::Result<void> denials(wire::Message& request);
  [[nodiscard]] core::Result<void> deadline(wire::Message& request);
  void set_deadline(std::uint64_t id, Guest& guest, core::Deadline deadline);
  [[nodiscard]] int until_deadline(int milliseconds) const;
  void end_late_guests();
  [[nodiscard]] core::Result<Guest*> find(wire::Message& request, std::uint64_t& id);
  [[nodiscard]] core::Result<void> handle(std::uint64_t key, std::uint32_t events);
  [[nodiscard]] core::Result<void> notified(std::uint64_t id, Source source, std::uint32_t events);
  [[nodiscard]] core::Result<void> groups(wire::Message& request);
  [[nodiscard]] core::Result<void> prepare(wire::Message request);
  [[nodiscard]] std::vector<Kind>::iterator find_kind(const jail::GuestKind& guests);
  [[nodiscard]] jail::Failure make_ready(Kind& kind);
  /// True when nothing is left to be made ahead.
  [[nodiscard]] bool all_ready() const;
  void make_one_ready();
  /// Starts the guest from a child that is ready for its kind, which is the caller's then, or from nothing.
  [[nodiscard]] jail::SpawnResult launch(jail::SpawnPlan& plan, std::unique_ptr<jail::Prepared>& ready,
                                         jail::ControlGroup& group, jail::AppliedCgroup& applied);
  [[nodiscard]] jail::Failure make_group(const jail::GroupLimits& limits, jail::ControlGroup& group,
                                         jail::AppliedCgroup& applied, core::Fd& folder);
  void look_at(std::uint64_t id);
  void give_up(jail::ControlGroup group);
  [[nodiscard]] bool remove_dying();
  /// What an ended guest may have left where no pid namespace ends it.
  void end_leftovers();
  /// True when no ended guest has left a process, as far as is known.
  [[nodiscard]] bool sweep();
  void end_all();

  core::Fd control_;
  core::Pidfd host_;
  core::Fd epoll_;
  std::unique_ptr<jail::GroupTree> groups_;
  std::vector<jail::ControlGroup> dying_;  // of ended guests, whose descendants are not gone yet
  std::map<std::uint64_t, Guest> guests_;
  std::set<std::pair<core::TimePoint, std::uint64_t>> deadlines_;  // of living guests that have one
  std::vector<Kind> kinds_;
  std::vector<core::Fd> left_open_;  // of ended guests, to be closed when nothing is asked for
  int sweeps_ = 0;                   // looks for what ended guests have left that are still to be made
  std::uint64_t next_id_ = 1;
};

}  // namespace heddle::supervisor

#include "heddle/jail/guest.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "denial_reader.h"
#include "heddle/core/text.h"
#include "heddle/jail/confine/landlock.h"
#include "heddle/jail/launch/control.h"
#include "link.h"
#include "process_status.h"

namespace heddle::jail {
namespace {

using core::Errc;
constexpr std::chrono::seconds kCloseGrace{30};
constexpr std::size_t kMostTaken = DenialLog::kRoom + DenialLog::kObservedRoom;

core::Result<NotifyReport> ask_notified(Link& link, std::uint64_t id) {
  wire::Message request("notify");
  request.set("id", id);
  HEDDLE_ASSIGN(Packet reply, link.ask(request));
  return decode_notify(reply.message);
}

Death::Kind kind_of(const Ending& ending, std::optional<KillReason> killed) {
  const bool sigkill = ending.signalled && ending.code == SIGKILL;
  const bool refused_processes = ending.group && ending.group->processes_refused > 0;
  if (sigkill && ending.group && ending.group->oom_kills > 0) return Death::Kind::out_of_memory;
  if (sigkill && ending.denial_quota) return Death::Kind::denial_quota;
  if (sigkill && ending.timed_out) return Death::Kind::timed_out;
  if (sigkill && killed) return *killed == KillReason::time_out ? Death::Kind::timed_out : Death::Kind::killed;
  if (!ending.signalled && ending.code == 0) return Death::Kind::exited;
  if (refused_processes) return Death::Kind::process_limit;
  return ending.signalled ? Death::Kind::signalled : Death::Kind::exited;
}

Death as_death(const Ending& ending, std::optional<KillReason> killed) {
  Death death;
  death.kind = kind_of(ending, killed);
  death.code = ending.code;
  death.by_signal = ending.signalled;
  death.cpu = std::chrono::microseconds(ending.cpu_microseconds);
  death.peak_bytes = ending.peak_kib << 10U;
  death.group = ending.group;
  if (death.group) death.cpu = std::max(death.cpu, std::chrono::microseconds(death.group->cpu_microseconds));
  return death;
}

}  // namespace

Guest& Guest::operator=(Guest&& other) noexcept {
  if (this == &other) return *this;
  close();
  link_ = std::move(other.link_);
  id_ = other.id_;
  pid_ = other.pid_;
  process_ = std::move(other.process_);
  identity_ = other.identity_;
  table_ = other.table_;
  limits_ = other.limits_;
  denials_ = other.denials_;
  cgroup_ = std::move(other.cgroup_);
  namespaces_ = other.namespaces_;
  landlock_abi_ = other.landlock_abi_;
  killed_ = other.killed_;
  unknown_told_ = other.unknown_told_;
  death_ = other.death_;
  cpu_clock_ = other.cpu_clock_;
  return *this;
}

core::Result<void> Guest::verify_confined() const {
  if (!link_) return core::make_error(Errc::closed, "verify a guest's confinement");
  const core::Result<ProcessStatus> read = read_status(pid_, process_);
  if (!read.ok()) return not_confined(read.error().message());
  HEDDLE_TRY(judge_confined(read.value(), link_->outer_filters(), identity_ != 0 ? identity_ : ::getuid()));
  HEDDLE_TRY(verify_group());
  return verify_notified();
}

core::Result<void> Guest::verify_narrowed() const {
  if (!link_) return core::make_error(Errc::closed, "verify a guest's second filter");
  const core::Result<ProcessStatus> status = read_status(pid_, process_);
  if (!status.ok()) return not_confined(status.error().message());
  if (status.value().seccomp_filters < link_->outer_filters() + 2) {
    return not_confined("it has not loaded its second system call filter");
  }
  return {};
}

core::Result<void> Guest::verify_group() const {
  if (cgroup_.path.empty()) return {};
  const core::Result<std::string> group = read_group(pid_, process_);
  if (!group.ok()) return not_confined(group.error().message());
  // The tail that the supervisor made: what is above it is seen differently from another cgroup namespace.
  const std::size_t tail = cgroup_.path.rfind("/heddle/");
  const std::string expected_tail = cgroup_.path.substr(tail == std::string::npos ? 0 : tail);
  if (group.value().size() < expected_tail.size() ||
      group.value().compare(group.value().size() - expected_tail.size(), std::string::npos, expected_tail) != 0) {
    return not_confined("it is in the control group " + core::bound_text(group.value(), 256) + " and not in its own");
  }
  return {};
}

core::Result<void> Guest::verify_notified() const {
  if (denials_.notifications == Notifications::off) return {};
  HEDDLE_ASSIGN(const NotifyReport report, ask_notified(*link_, id_));
  if (report.state == NotifyState::listening) return {};
  if (report.state == NotifyState::killing && denials_.notifications == Notifications::if_available) return {};
  return not_confined(report.state == NotifyState::killing ? "its refused calls are notified to nobody"
                                                           : "its listener is not in the supervisor's hands");
}

core::Result<AppliedPolicy> Guest::applied() const {
  if (!link_) return core::make_error(Errc::closed, "read what confines a guest");
  HEDDLE_ASSIGN(const ProcessStatus status, read_status(pid_, process_));
  HEDDLE_ASSIGN(const NotifyReport report, ask_notified(*link_, id_));
  AppliedPolicy applied;
  applied.profile = table_.profile;
  applied.limits = limits_;
  applied.uid = status.uids[1];
  applied.own_identity = identity_ != 0;
  applied.landlock_abi = landlock_abi_;
  applied.namespaces = namespaces_;
  applied.cgroup = cgroup_;
  applied.no_new_privs = status.no_new_privs == 1;
  applied.filters = status.seccomp_filters - std::min(status.seccomp_filters, link_->outer_filters());
  applied.notified = static_cast<Notified>(report.state);
  applied.notified_error = report.error;
  applied.denial_quota = denials_.quota;
  applied.observes = denials_.observe;
  return applied;
}

core::Result<void> Guest::set_deadline(core::Deadline deadline) {
  if (!link_) return core::make_error(Errc::closed, "set a guest's deadline");
  wire::Message request("deadline");
  request.set("id", id_);
  encode_deadline(deadline, request);
  return link_->tell(request);
}

core::Result<Denials> Guest::take_denials(core::Deadline deadline) {
  if (!link_) return core::make_error(Errc::closed, "ask for a guest's denials");
  Denials taken;
  do {
    wire::Message request("denials");
    request.set("id", id_);
    HEDDLE_ASSIGN(Packet reply, link_->ask(request));
    HEDDLE_ASSIGN(const DenialReport report, decode_denials(std::move(reply.message)));
    for (const DenialRecord& record : report.records) taken.denials.push_back(read_denial(table_, record));
    taken.total = report.total;
    taken.dropped = report.dropped;
    taken.observed_dropped = report.observed_dropped;
    taken.left = report.left;
  } while (taken.left != 0 && taken.denials.size() < kMostTaken && !deadline.passed());
  if (death_ && death_->kind == Death::Kind::signalled && death_->code == SIGSYS) {
    ++taken.total;
    if (!unknown_told_) taken.denials.push_back(unknown_denial(table_));
    unknown_told_ = true;
  }
  return taken;
}

core::Result<std::chrono::nanoseconds> Guest::cpu_time() const {
  // The clock's number holds a pid, which is the guest's for as long as the guest has not been reaped.
  timespec time{};
  const int error = cpu_clock_ != 0 ? 0 : ::clock_getcpuclockid(pid_, &cpu_clock_);
  const bool read = error == 0 && ::clock_gettime(cpu_clock_, &time) == 0;
  if (process_.has_exited()) return core::make_error(Errc::not_found, "read a guest's CPU time", "it has ended");
  if (!read) return core::system_error(error != 0 ? error : errno, "read a guest's CPU time");
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void Guest::kill(KillReason reason) noexcept {
  if (!link_ || death_) return;
  if (!killed_ && !process_.has_exited()) killed_ = reason;
  (void)process_.send_signal(SIGKILL);  // fails only when it has ended
}

core::Result<std::optional<Death>> Guest::wait(core::Deadline deadline) {
  if (death_) return death_;
  if (!link_) return core::make_error(Errc::closed, "wait for a guest");
  if (!process_.wait_exit(deadline)) return std::optional<Death>();
  wire::Message request("status");
  request.set("id", id_);
  core::Result<Packet> reply = link_->ask_briefly(request);
  if (!reply.ok()) {
    death_ = Death{};
    return death_;
  }
  HEDDLE_ASSIGN(const Ending ending, decode_ending(reply.value().message));
  death_ = ending.state == Ending::State::ended ? as_death(ending, killed_) : Death{};
  return death_;
}

void Guest::close() noexcept {
  if (!link_) return;
  kill();
  // SIGKILL cannot be refused; the wait is for the kernel to take the process down. One that hangs in the kernel is
  // left to the supervisor, and its user id is not used again.
  const bool ended = process_.wait_exit(core::Deadline::after(kCloseGrace));
  if (ended && !death_) (void)wait(core::Deadline::never());
  wire::Message request("close");
  request.set("id", id_);
  (void)link_->tell(request);  // a supervisor that cannot be told is gone, and has nothing to forget
  if (ended && identity_ != 0) link_->give_back_identity(identity_);
  link_.reset();
  process_ = core::Pidfd();
}

}  // namespace heddle::jail

// Control groups where cgroup2 has memory, pids and cpu: what the limits do, and how deaths are told apart.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>

#include "heddle/jail/launch/cgroup.h"
#include "proofs.h"

namespace heddle::kernels {
namespace {

using Kind = jail::Death::Kind;
using jail::GroupLimit;
using jail::Need;

constexpr std::chrono::seconds kLong{60};
constexpr std::uint64_t kMemory = 32U << 20;
constexpr std::uint64_t kProcesses = 4;

jail::Limits grouped() {
  jail::Limits limits;
  limits.data_bytes = 1U << 30;
  limits.processes = 256;
  limits.group.memory_bytes = GroupLimit{kMemory, Need::required};
  limits.group.swap_bytes = GroupLimit{0, Need::if_available};
  limits.group.processes = GroupLimit{kProcesses, Need::required};
  limits.group.own_group = Need::required;
  return limits;
}

jail::Limits ungrouped() {
  jail::Limits limits = grouped();
  limits.group = {};
  limits.data_bytes = 64U << 20;
  return limits;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Ended {
  jail::Death death;
  jail::AppliedCgroup applied;
  std::uint64_t children = 0;
};

// A guest in `mode`, told to go on, up to its end; or killed `after` it is ready.
core::Result<Ended> end_of(const World& world, jail::Supervisor& supervisor, const char* mode,
                           const jail::Limits& limits, void (*after)(Started&)) {
  HEDDLE_ASSIGN(Started started, world.start_guest(supervisor, "heddle-test-guest", {mode}, limits));
  wire::Message ready = next_message(started.channel);
  if (ready.op() != "ready") return core::make_error(core::Errc::protocol, "wait for a guest", ready.op());
  Ended ended;
  if (ready.has("children")) {
    HEDDLE_ASSIGN(ended.children, ready.take_number("children"));
  }
  ended.applied = started.guest.cgroup();
  after(started);
  HEDDLE_ASSIGN(const std::optional<jail::Death> death, started.guest.wait(core::Deadline::after(kLong)));
  if (!death) return core::make_error(core::Errc::timed_out, "wait for a guest", "it does not end");
  ended.death = *death;
  return ended;
}

void go(Started& started) {
  started.channel.queue(wire::Message("go"));
  (void)started.channel.wait_flushed(core::Deadline::after(kLong));
}
void let_go(Started& started) { const wire::Channel closed = std::move(started.channel); }
void shoot(Started& started) { (void)started.guest.process().send_signal(SIGKILL); }
void kill_it(Started& started) { started.guest.kill(); }
void time_out(Started& started) { started.guest.kill(jail::KillReason::time_out); }
void nothing(Started&) {}

Finding wrong(const Ended& ended) {
  return fail(std::string(jail::death_name(ended.death.kind)) + ": " + jail::describe(ended.death) + " " +
              jail::describe(ended.applied));
}

// Removed already, or soon: the supervisor tries again and again.
bool vanishes(const std::string& path) {
  const core::Deadline deadline = core::Deadline::after(kLong);
  while (::access(path.c_str(), F_OK) == 0) {
    if (deadline.passed()) return false;
    ::usleep(5000);
  }
  return true;
}

}  // namespace

Finding group_memory(const World& world) {
  auto supervisor = world.start_supervisor();
  if (!supervisor.ok()) return fail(supervisor.error().message());
  const auto free = end_of(world, supervisor.value(), "eat", ungrouped(), go);
  if (!free.ok()) return not_started(free.error());
  // Control: without the group it gets as far as its own limit, and ends by itself.
  if (free.value().death.kind != Kind::exited || free.value().death.code != 4) return wrong(free.value());
  const auto hungry = end_of(world, supervisor.value(), "eat", grouped(), go);
  if (!hungry.ok()) return not_started(hungry.error());
  if (hungry.value().death.kind != Kind::out_of_memory) return wrong(hungry.value());
  if (!hungry.value().applied.ends_together) return fail("memory.oom.group was not set");
  if (!vanishes(hungry.value().applied.path)) return fail("the group is left");
  return yes();
}

Finding group_processes(const World& world) {
  auto supervisor = world.start_supervisor();
  if (!supervisor.ok()) return fail(supervisor.error().message());
  // Control: in a group all the same, which ends what it has borne.
  jail::Limits unlimited = ungrouped();
  unlimited.group.own_group = Need::required;
  const auto free = end_of(world, supervisor.value(), "breed", unlimited, nothing);
  if (!free.ok()) return not_started(free.error());
  if (free.value().death.kind != Kind::exited || free.value().children != 64) return wrong(free.value());
  const auto limited = end_of(world, supervisor.value(), "breed", grouped(), nothing);
  if (!limited.ok()) return not_started(limited.error());
  if (limited.value().children != kProcesses - 1) return fail(std::to_string(limited.value().children) + " children");
  if (limited.value().death.kind != Kind::process_limit) return wrong(limited.value());
  if (!vanishes(limited.value().applied.path)) return fail("the group is left, and its descendants in it");
  return yes();
}

Finding group_deaths(const World& world) {
  struct Row {
    Kind kind;
    void (*after)(Started&);
  };
  constexpr Row kRows[] = {
      {Kind::exited, let_go}, {Kind::signalled, shoot}, {Kind::killed, kill_it}, {Kind::timed_out, time_out}};
  auto supervisor = world.start_supervisor();
  if (!supervisor.ok()) return fail(supervisor.error().message());
  for (const Row& row : kRows) {
    const auto ended = end_of(world, supervisor.value(), "confined", grouped(), row.after);
    if (!ended.ok()) return not_started(ended.error());
    if (ended.value().death.kind != row.kind) return wrong(ended.value());
  }
  return yes();
}

Finding group_peak(const World& world) {
  auto supervisor = world.start_supervisor();
  if (!supervisor.ok()) return fail(supervisor.error().message());
  const auto ended = end_of(world, supervisor.value(), "eat", grouped(), go);
  if (!ended.ok()) return not_started(ended.error());
  if (!ended.value().death.group) return fail("nothing was counted");
  const std::optional<std::uint64_t> peak = ended.value().death.group->peak_bytes;
  if (!peak) return not_enforced("no memory.peak");
  if (*peak < kMemory / 2 || *peak > kMemory) return fail(std::to_string(*peak) + " bytes");
  return yes(std::to_string(*peak >> 20U) + " MiB");
}

Finding group_cpu(const World& world) {
  auto supervisor = world.start_supervisor();
  if (!supervisor.ok()) return fail(supervisor.error().message());
  jail::Limits limits = grouped();
  limits.group.cpu_percent = GroupLimit{10, Need::required};
  const auto ended = end_of(world, supervisor.value(), "spin", limits, [](Started& started) {
    ::sleep(2);
    started.guest.kill();
  });
  if (!ended.ok()) return not_started(ended.error());
  if (!ended.value().death.group || ended.value().death.group->throttled_periods == 0) return fail("not held back");
  return yes();
}

Finding group_is_what_was_asked(const World& world) {
  auto supervisor = world.start_supervisor();
  if (!supervisor.ok()) return fail(supervisor.error().message());
  auto started = world.start_guest(supervisor.value(), "heddle-test-guest", {"confined"}, grouped());
  if (!started.ok()) return not_started(started.error());
  if (next_message(started.value().channel).op() != "ready") return fail("it is not ready");
  const auto verified = started.value().guest.verify_confined();
  if (!verified.ok()) return fail(verified.error().message());
  const jail::AppliedCgroup& applied = started.value().guest.cgroup();
  const std::string pid = std::to_string(started.value().guest.pid()) + "\n";
  if (text_of(applied.path + "/cgroup.procs") != pid) return fail("it is not in its group");
  if (text_of(applied.path + "/memory.max") != std::to_string(kMemory) + "\n") return fail("memory.max");
  if (text_of(applied.path + "/pids.max") != std::to_string(kProcesses) + "\n") return fail("pids.max");
  const bool kill = ::access((applied.path + "/cgroup.kill").c_str(), F_OK) == 0;
  if (kill != applied.group_kill) return fail("the report is wrong about cgroup.kill");
  return yes();
}

// Needs no guest: the mechanism itself, on every kernel.
Finding group_is_ended(const World&) {
  const std::string parent =
      "/sys/fs/cgroup/heddle-" + std::string(::getenv("HEDDLE_USER") ? ::getenv("HEDDLE_USER") : "");
  const auto folder = jail::GroupFolder::open(parent);
  if (!folder.ok()) return skipped("only in the guest kernels: " + folder.error().message());
  for (const bool freeze : {true, false}) {
    const int made = folder.value().make_below("proof");
    if (made != 0) return fail("make: " + core::errno_text(made));
    const auto group = folder.value().open_below("proof");
    if (!group.ok()) return fail(group.error().message());
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) ::pause();
    }
    const int moved = group.value().write("cgroup.procs", std::to_string(child));
    if (moved != 0) return fail("enter: " + core::errno_text(moved));
    if (freeze) {
      group.value().freeze_and_kill();
    } else {
      group.value().kill();
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) return fail("it ended otherwise");
    const int removed = folder.value().remove_below("proof");
    if (removed != 0) return fail("remove: " + core::errno_text(removed));
  }
  return yes();
}

}  // namespace heddle::kernels

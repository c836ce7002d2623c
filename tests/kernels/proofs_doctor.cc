// The doctor is compared with what the jail and the kernel then really do.
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "heddle/jail/doctor/doctor.h"
#include "proofs.h"

namespace heddle::kernels {
namespace {

using State = jail::Layer::State;

jail::Diagnosis ask_doctor() {
  jail::ProbeOptions options;
  options.supervisor = HEDDLE_LIBEXEC_DIR "/heddle-supervisor";
  options.worker = HEDDLE_LIBEXEC_DIR "/heddle-sandbox-worker";
  return jail::diagnose(jail::probe_machine(options));
}

jail::Layer layer_of(const jail::Diagnosis& diagnosis, std::string_view id) {
  for (const jail::Layer& layer : diagnosis.layers) {
    if (id == layer.id) return layer;
  }
  return {};
}

// A layer that the doctor calls missing is "not enforced", with its words; what it calls available or enforced is
// there.
Finding there(const char* id) {
  const jail::Layer layer = layer_of(ask_doctor(), id);
  if (layer.state != State::missing) return yes();
  if (layer.reason.empty() || layer.advice.empty()) return fail("no reason, or no advice");
  return not_enforced(std::string("doctor: ") + layer.reason);
}

std::string link_of(const std::string& path) {
  char target[128];
  const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
  return size < 0 ? "" : std::string(target, static_cast<std::size_t>(size));
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

Finding doctor_agrees(const World& world) {
  const jail::Diagnosis diagnosis = ask_doctor();
  const struct {
    const char* layer;
    Finding found;
  } rows[] = {
      {"landlock_files", landlock_files(world)},
      {"landlock_network", landlock_tcp(world)},
      {"landlock_scopes", landlock_signals(world)},
      {"worker", starts_or_refuses(world)},
  };
  for (const auto& row : rows) {
    const bool said = layer_of(diagnosis, row.layer).state == State::enforced;
    if (said != (row.found.verdict == Verdict::yes)) {
      return fail(std::string(row.layer) + ": it says " + (said ? "enforced" : "missing") + ", found " +
                  verdict_name(row.found.verdict) + " " + row.found.note + layer_of(diagnosis, row.layer).reason);
    }
  }
  const Finding start = starts_or_refuses(world);
  if (diagnosis.script_worker != (start.verdict == Verdict::yes)) return fail("it is wrong about scripts");
  return start;
}

// kApplied against a living guest. "bare": one that may still be looked at.
Finding doctor_knows_what_is_applied(const World& world) {
  auto supervisor = world.start_supervisor();
  if (!supervisor.ok()) return fail(supervisor.error().message());
  auto started = world.start_guest(supervisor.value(), "heddle-test-guest", {"bare"});
  if (!started.ok()) return not_started(started.error());
  if (next_message(started.value().channel).op() != "ready") return fail("it is not ready");
  const std::string guest = "/proc/" + std::to_string(started.value().guest.pid());
  if (layer_of(ask_doctor(), "namespace_user").state != State::missing) {
    const std::string theirs = link_of(guest + "/ns/mnt");
    if (theirs.empty()) return fail("its namespaces cannot be seen");
    if ((theirs != link_of("/proc/self/ns/mnt")) != jail::kApplied.namespaces) {
      return fail("kApplied.namespaces is wrong");
    }
  }
  jail::Limits limits;
  limits.group.memory_bytes = jail::GroupLimit{std::uint64_t{1} << 30, jail::Need::if_available};
  auto grouped = world.start_guest(supervisor.value(), "heddle-test-guest", {"bare"}, limits);
  if (!grouped.ok()) return not_started(grouped.error());
  if (next_message(grouped.value().channel).op() != "ready") return fail("the one in a group is not ready");
  const std::string of_guest = text_of("/proc/" + std::to_string(grouped.value().guest.pid()) + "/cgroup");
  const bool said = layer_of(ask_doctor(), "cgroup").state == State::enforced;
  if (said != (of_guest != text_of("/proc/self/cgroup"))) {
    return fail(std::string("the doctor says that groups are ") + (said ? "used" : "not used") + ": " + of_guest);
  }
  auto confined = world.start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
  if (!confined.ok()) return not_started(confined.error());
  if (next_message(confined.value().channel).op() != "ready") return fail("the confined one is not ready");
  const auto applied = confined.value().guest.applied();
  if (!applied.ok()) return fail(applied.error().message());
  const bool notified = applied.value().notified == jail::Notified::listening;
  const bool told = layer_of(ask_doctor(), "seccomp_notify").state != State::missing && jail::kApplied.notifications;
  if (notified != told) return fail("kApplied.notifications is wrong");
  return yes();
}

Finding doctor_sees_the_group(const World&) { return there("cgroup"); }
Finding doctor_sees_group_kill(const World&) { return there("cgroup_kill"); }
Finding doctor_sees_namespaces(const World&) { return there("namespace_user"); }

}  // namespace heddle::kernels

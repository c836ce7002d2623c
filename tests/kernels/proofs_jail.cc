// The jail as the host sees it: starting, verifying, telling how a guest ended, leaving nothing behind.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "heddle/jail/confine/landlock.h"
#include "heddle/jail/launch/spawn.h"
#include "proofs.h"

namespace heddle::kernels {
namespace {

constexpr std::chrono::seconds kLong{60};
constexpr int kSetMdwe = 65;  // PR_SET_MDWE
constexpr int kGuests = 3;

struct KnownAbi {
  const char* kernel;
  int lowest;
  int highest;
};
// Debian's configuration of each kernel; the last one moves on.
constexpr KnownAbi kKnown[] = {{"5.10", 0, 0}, {"6.1", 2, 2}, {"6.12", 6, 6}, {"7", 8, 99}};

// A guest that has said what `op` expects, or why not.
core::Result<Started> guest_that_says(const World& world, jail::Supervisor& supervisor, const char* mode) {
  HEDDLE_ASSIGN(Started started, world.start_guest(supervisor, "heddle-test-guest", {mode}));
  const wire::Message ready = next_message(started.channel);
  if (ready.op() != "ready") {
    return core::make_error(core::Errc::start_up, "wait for a guest", "it said " + ready.op());
  }
  return started;
}

struct Family {
  pid_t supervisor = 0;
  pid_t guests[kGuests] = {};
};

// In a forked child: a host with guests. Writes its family, all 0 when it has none, and waits to be killed.
void be_a_host(const World& world, const core::Fd& report) {
  Family family;
  std::vector<Started> guests;
  auto supervisor = world.start_supervisor();
  for (pid_t& pid : family.guests) {
    if (!supervisor.ok()) break;
    auto started = guest_that_says(world, supervisor.value(), "confined");
    if (!started.ok()) break;
    pid = started.value().guest.pid();
    guests.push_back(std::move(started).value());
  }
  if (guests.size() == kGuests) family.supervisor = supervisor.value().pid();
  const std::string_view bytes(reinterpret_cast<const char*>(&family), sizeof family);
  if (!core::write_all(report, bytes).ok()) ::_exit(1);
  for (;;) ::pause();
}

enum class Victim : unsigned char { host, supervisor };

// JAIL-12: who is killed cannot tidy up; the others must be gone all the same.
Finding nothing_outlives(const World& world, Victim victim) {
  auto probe = world.start_supervisor();
  if (!probe.ok()) return fail(probe.error().message());
  const auto possible = world.start_guest(probe.value(), "heddle-test-guest", {"confined"});
  if (!possible.ok()) return not_started(possible.error());

  auto pipe = core::pipe_pair();
  if (!pipe.ok()) return fail(pipe.error().message());
  const pid_t pid = ::fork();
  if (pid == 0) be_a_host(world, pipe.value().second);
  if (pid < 0) return fail("no child");
  const auto host = core::Pidfd::open(pid);
  Family family;
  const bool told = ::read(pipe.value().first.get(), &family, sizeof family) == static_cast<ssize_t>(sizeof family);
  std::vector<core::Pidfd> processes;
  for (const pid_t guest : {family.supervisor, family.guests[0], family.guests[1], family.guests[2]}) {
    auto process = core::Pidfd::open(guest);
    if (told && guest > 0 && process.ok()) processes.push_back(std::move(process).value());
  }
  Finding finding = yes();
  if (!host.ok() || processes.size() != kGuests + 1) {
    finding = fail("the host has no guests");
  } else {
    (void)(victim == Victim::host ? host.value() : processes[0]).send_signal(SIGKILL);
    for (const core::Pidfd& process : processes) {
      if (!process.wait_exit(core::Deadline::after(kLong))) finding = fail("a process is left");
    }
    if (victim == Victim::supervisor && host.value().has_exited()) finding = fail("the host ended too");
  }
  if (host.ok()) (void)host.value().send_signal(SIGKILL);
  (void)::waitpid(pid, nullptr, 0);
  return finding;
}

}  // namespace

Finding landlock_version(const World& world) {
  const int abi = jail::landlock_abi();
  for (const KnownAbi& known : kKnown) {
    if (world.kernel() != known.kernel) continue;
    const int found = abi < 0 ? 0 : abi;
    if (found < known.lowest || found > known.highest) return fail("ABI " + std::to_string(abi));
  }
  if (abi < 0) return not_enforced(core::errno_text(-abi));
  return yes("ABI " + std::to_string(abi));
}

Finding starts_or_refuses(const World& world) {
  auto supervisor = world.start_supervisor();
  if (!supervisor.ok()) return fail(supervisor.error().message());
  auto started = world.start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
  if (!started.ok()) {
    if (started.error().step != "landlock_version") return fail(started.error().message());
    return not_started(started.error());
  }
  wire::Message ready = next_message(started.value().channel);
  if (ready.op() != "ready") return fail("it said " + ready.op());
  const auto abi = ready.take_number("abi");
  // What is reported is what the kernel has, or the newest that Heddle knows.
  if (!abi.ok() || static_cast<int>(abi.value()) != jail::landlock_abi()) return fail("it reports a wrong ABI");
  return yes();
}

Finding verifies(const World& world) {
  auto supervisor = world.start_supervisor();
  if (!supervisor.ok()) return fail(supervisor.error().message());
  auto confined = world.start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
  if (!confined.ok()) return not_started(confined.error());
  if (next_message(confined.value().channel).op() != "ready") return fail("it is not ready");
  const auto verified = confined.value().guest.verify_confined();
  if (!verified.ok()) return fail(verified.error().message());
  auto bare = world.start_guest(supervisor.value(), "heddle-test-guest", {"bare"});
  if (!bare.ok()) return fail(bare.error().message());
  if (next_message(bare.value().channel).op() != "ready") return fail("it is not ready");
  const auto caught = bare.value().guest.verify_confined();
  if (caught.ok() || caught.error().code != core::Errc::confinement) return fail("a guest without a filter passes");
  return yes();
}

Finding memory_stays_plain(const World& world) {
  auto supervisor = world.start_supervisor();
  if (!supervisor.ok()) return fail(supervisor.error().message());
  auto started = world.start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
  if (!started.ok()) return not_started(started.error());
  wire::Message ready = next_message(started.value().channel);
  const auto reported = ready.take_bool("mdwe");
  if (!reported.ok()) return fail("it does not report");
  const bool there = in_child([] { return ::prctl(kSetMdwe, 1UL, 0, 0, 0) == 0 ? 0 : 1; }) == 0;
  if (there != reported.value()) return fail("the report is wrong");
  return there ? yes() : not_enforced("seccomp");
}

Finding passes_no_descriptor(const World&) {
  auto pair = core::stream_pair();
  const auto program = jail::open_program(HEDDLE_TEST_LIBEXEC_DIR "/heddle-test-attacker");
  if (!pair.ok() || !program.ok()) return fail("cannot begin");
  // What a careless host leaves open, high and low.
  const int careless = ::dup2(0, 700);
  jail::SpawnPlan plan;
  plan.confinement = jail::Confinement::helper;
  auto opened = program.value().fd().duplicate();
  if (careless < 0 || !opened.ok()) return fail("cannot begin");
  plan.program = std::move(opened).value();
  plan.arguments = {"attacker", "free", "facts"};
  plan.descriptors.push_back(std::move(pair.value().second));
  const jail::SpawnResult child = jail::spawn(std::move(plan));
  ::close(careless);
  if (child.failure.step != jail::Step::none) return fail(jail::step_name(child.failure.step));
  auto channel = wire::Channel::adopt(std::move(pair.value().first));
  if (!channel.ok()) return fail(channel.error().message());
  wire::Message facts = next_message(channel.value());
  (void)child.child.wait_exit(core::Deadline::after(kLong));
  (void)jail::reap(child.child);
  const auto open = facts.take_string("descriptors");
  if (!open.ok() || open.value() != "0 1 2 3 ") return fail(open.ok() ? open.value() : facts.op());
  return yes();
}

Finding tells_deaths_apart(const World& world) {
  using Kind = jail::Death::Kind;
  auto supervisor = world.start_supervisor();
  if (!supervisor.ok()) return fail(supervisor.error().message());
  for (const Kind wanted : {Kind::exited, Kind::signalled, Kind::killed}) {
    auto started = world.start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
    if (!started.ok()) return not_started(started.error());
    jail::Guest& guest = started.value().guest;
    if (next_message(started.value().channel).op() != "ready") return fail("it is not ready");
    if (wanted == Kind::exited) {
      const wire::Channel closed = std::move(started.value().channel);
    } else if (wanted == Kind::signalled) {
      (void)guest.process().send_signal(SIGKILL);
    } else {
      guest.kill();
    }
    const auto death = guest.wait(core::Deadline::after(kLong));
    if (!death.ok() || !death.value()) return fail("it does not end");
    if (death.value()->kind != wanted) return fail("one death is taken for another");
  }
  return yes();
}

// tests/jail itself, of which what depends on the kernel's way of failing: an injected error for every step, a guest
// that lies, a foreign program behind the stub, and a second filter. Its other tests show nothing that the claims here
// do not, and would take minutes in an emulated machine.
Finding failed_steps(const World& world) {
  if (world.kernel().empty()) return skipped("here it is a test by itself");
  const Finding start = starts_or_refuses(world);
  if (start.verdict != Verdict::yes) return start;
  const std::string log = world.folder() + "/suite";
  const int status = in_child([&log] {
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (out < 0 || ::dup2(out, 1) < 0 || ::dup2(out, 2) < 0) return 126;
    ::execl(HEDDLE_JAIL_SUITE, "suite", "--gtest_filter=Steps.*:Verify.*:Program.*:Threaded.*", nullptr);
    return 127;
  });
  std::ifstream lines(log);
  std::string failed;
  std::string passed;
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    text += line + "\n";
    if (line.rfind("[  FAILED  ] ", 0) == 0) failed += line.substr(13) + "; ";
    if (line.rfind("[  PASSED  ] ", 0) == 0) passed = line.substr(13);
  }
  if (status == 0 && !passed.empty()) return yes(passed);
  std::fputs(text.c_str(), stdout);
  return fail("status " + std::to_string(status) + ": " + failed);
}

Finding dies_with_the_host(const World& world) { return nothing_outlives(world, Victim::host); }
Finding dies_with_the_supervisor(const World& world) { return nothing_outlives(world, Victim::supervisor); }

}  // namespace heddle::kernels

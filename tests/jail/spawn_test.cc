#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "world.h"

namespace heddle::jail {
namespace {

using core::Errc;
using std::chrono::seconds;

// JAIL-12, JAIL-15, JAIL-16
TEST(Spawn, ConfinesVerifiesKillsAndReaps) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
  ASSERT_TRUE(started.ok()) << started.error().message();
  Guest& guest = started.value().guest;
  EXPECT_EQ(next_message(started.value().channel).op(), "ready");
  const auto verified = guest.verify_confined();
  EXPECT_TRUE(verified.ok()) << verified.error().message();
  EXPECT_FALSE(guest.wait(core::Deadline::at(core::Clock::now())).value().has_value());
  EXPECT_TRUE(guest.cpu_time().ok());

  guest.kill();
  const Death death = wait_death(guest);
  EXPECT_EQ(death.kind, Death::Kind::killed);
  EXPECT_EQ(death.code, SIGKILL);
  EXPECT_GT(death.peak_bytes, 0U);
  EXPECT_EQ(guest.cpu_time().error().code, Errc::not_found);
  EXPECT_EQ(wait_death(guest).kind, Death::Kind::killed);  // the same answer again
  const pid_t pid = guest.pid();
  guest.close();
  EXPECT_TRUE(gone(pid));
  EXPECT_EQ(wait_death(guest).kind, Death::Kind::killed);
  EXPECT_EQ(guest.verify_confined().error().code, Errc::closed);
}

// JAIL-12: told apart from our own kill.
TEST(Spawn, TellsExitAndSignalFromOurKill) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto exits = start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
  ASSERT_TRUE(exits.ok()) << exits.error().message();
  EXPECT_EQ(next_message(exits.value().channel).op(), "ready");
  { const wire::Channel closed = std::move(exits.value().channel); }
  const Death exited = wait_death(exits.value().guest);
  EXPECT_EQ(exited.kind, Death::Kind::exited);
  EXPECT_EQ(exited.code, 0);

  auto shot = start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
  ASSERT_TRUE(shot.ok()) << shot.error().message();
  ASSERT_TRUE(shot.value().guest.process().send_signal(SIGKILL).ok());
  EXPECT_EQ(wait_death(shot.value().guest).kind, Death::Kind::signalled);
}

// JAIL-8: the CPU limit is the kernel's, a spinning guest needs nobody to stop it.
TEST(Spawn, CpuLimitEndsASpinningGuest) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  Limits limits;
  limits.cpu = seconds(1);
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"spin"}, limits);
  ASSERT_TRUE(started.ok()) << started.error().message();
  const Death death = wait_death(started.value().guest);
  EXPECT_EQ(death.kind, Death::Kind::signalled);
  EXPECT_EQ(death.code, SIGKILL);
  EXPECT_GE(death.cpu, std::chrono::milliseconds(500));
}

// JAIL-12
TEST(Spawn, DestroyingTheSupervisorEndsItsGuests) {
  pid_t supervisor_pid = 0;
  std::vector<Started> guests;
  {
    auto supervisor = start_supervisor();
    ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
    supervisor_pid = supervisor.value().pid();
    for (int i = 0; i < 5; ++i) {
      auto started = start_guest(supervisor.value(), "heddle-test-guest", {i % 2 == 0 ? "spin" : "confined"});
      ASSERT_TRUE(started.ok()) << started.error().message();
      guests.push_back(std::move(started).value());
    }
  }
  EXPECT_TRUE(gone(supervisor_pid));
  for (Started& started : guests) {
    EXPECT_TRUE(gone(started.guest.pid()));
    EXPECT_EQ(wait_death(started.guest).kind, Death::Kind::with_supervisor);
  }
}

// JAIL-12, JAIL-15: seen by the host as an error that says so.
TEST(Spawn, ADeadSupervisorIsAnErrorThatSaysSo) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"spin"});
  ASSERT_TRUE(started.ok()) << started.error().message();
  ASSERT_EQ(::kill(supervisor.value().pid(), SIGKILL), 0);
  EXPECT_EQ(wait_death(started.value().guest).kind, Death::Kind::with_supervisor);
  const auto again = start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Errc::disconnected);
  EXPECT_NE(again.error().message().find("signal 9"), std::string::npos) << again.error().message();
}

// JAIL-15: requests may come from several threads.
TEST(Spawn, ThreadsShareASupervisor) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
        if (started.ok() && next_message(started.value().channel).op() == "ready" &&
            started.value().guest.verify_confined().ok()) {
          ++good;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 40);
}

// Runs in a child, since hard limits do not come back for an ordinary user. 0, or what went wrong.
int spawn_under_lower_limits() {
  const rlimit cpu{600, 600};
  const rlimit locked{0, 0};
  if (::setrlimit(RLIMIT_CPU, &cpu) != 0 || ::setrlimit(RLIMIT_MEMLOCK, &locked) != 0) return 1;
  auto supervisor = start_supervisor();
  if (!supervisor.ok()) return 2;
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
  if (!started.ok() || next_message(started.value().channel).op() != "ready") return 3;
  std::ifstream limits("/proc/" + std::to_string(started.value().guest.pid()) + "/limits");
  std::string line;
  while (std::getline(limits, line)) {
    if (line.find("Max cpu time              600                  600") == 0) return 0;
  }
  return 4;
}

// JAIL-8: a limit of the host's that is lower stays, and is no failure.
TEST(Spawn, WorksUnderLowerLimits) {
  EXPECT_EXIT(::_exit(spawn_under_lower_limits()), ::testing::ExitedWithCode(0), "");
}

// JAIL-11: text only; a bad argument is the caller's error, not the supervisor's end.
TEST(Spawn, RefusesArgumentsThatAreNoText) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  const auto bad = start_guest(supervisor.value(), "heddle-test-guest", {"\xff"});
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, Errc::invalid_argument);
  EXPECT_TRUE(start_guest(supervisor.value(), "heddle-test-guest", {"confined"}).ok());
}

// JAIL-15: of another version, not a supervisor at all, silent.
TEST(Spawn, RefusesAStrangeSupervisor) {
  auto other = start_supervisor(kTestPrograms + "heddle-test-old-supervisor");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Errc::untrusted_program);
  EXPECT_NE(other.error().message().find("0.0.1"), std::string::npos) << other.error().message();
  EXPECT_NE(other.error().message().find(HEDDLE_VERSION), std::string::npos) << other.error().message();

  auto no_supervisor = start_supervisor("/bin/true");
  ASSERT_FALSE(no_supervisor.ok());
  EXPECT_EQ(no_supervisor.error().code, Errc::disconnected) << no_supervisor.error().message();

  SupervisorOptions options;
  options.program = kTestPrograms + "heddle-test-guest";  // waits for frames, answers nothing
  options.start_timeout = std::chrono::milliseconds(300);
  auto silent = Supervisor::start(options);
  ASSERT_FALSE(silent.ok());

  auto missing = start_supervisor("/nonexistent/heddle-supervisor");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Errc::untrusted_program);
}

}  // namespace
}  // namespace heddle::jail

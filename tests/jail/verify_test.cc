// JAIL-16: the host believes the kernel, not the guest and not its own calls.
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "world.h"

namespace heddle::jail {
namespace {

using core::Errc;

core::Result<void> verdict(const std::vector<Injection>& injections, const char* mode,
                           Notifications notifications = Notifications::if_available) {
  const InjectedSupervisor injected(injections);
  HEDDLE_ASSIGN(Supervisor supervisor, start_supervisor(injected.path()));
  HEDDLE_ASSIGN(Started started, start_guest(supervisor, "heddle-test-guest", {mode}, {}, {notifications, 64}));
  EXPECT_EQ(next_message(started.channel).op(), "ready");  // it claims to be
  return started.guest.verify_confined();
}

void expect_refusal(const core::Result<void>& result, const char* why) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Errc::confinement);
  EXPECT_NE(result.error().message().find(why), std::string::npos) << result.error().message();
}

// JAIL-16: control first.
TEST(Verify, AcceptsAConfinedGuestUnderAnOuterFilter) {
  const auto result = verdict({{SYS_reboot, EPERM, {}}}, "confined");
  EXPECT_TRUE(result.ok()) << result.error().message();
}

TEST(Verify, RefusesAGuestThatNeverLoadedItsFilter) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"bare"});
  ASSERT_TRUE(started.ok()) << started.error().message();
  EXPECT_EQ(next_message(started.value().channel).op(), "ready");
  expect_refusal(started.value().guest.verify_confined(), "no system call filter");
}

TEST(Verify, AnOuterFilterDoesNotCount) { expect_refusal(verdict({{SYS_reboot, EPERM, {}}}, "bare"), "of its own"); }

// The call that loads the filter says that it did, and did not.
TEST(Verify, RefusesAFilterThatWasOnlyClaimed) {
  expect_refusal(verdict({{SYS_seccomp, 0, {{0, kAll, SECCOMP_SET_MODE_FILTER}}}}, "confined", Notifications::off),
                 "of its own");
}

// JAIL-11, JAIL-16: what it hands over is no listener, and the supervisor does not take it for one.
TEST(Verify, AListenerThatWasOnlyClaimedEndsTheGuest) {
  const InjectedSupervisor injected({{SYS_seccomp, 0, {{0, kAll, SECCOMP_SET_MODE_FILTER}}}});
  auto supervisor = start_supervisor(injected.path());
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
  ASSERT_TRUE(started.ok()) << started.error().message();
  (void)next_message(started.value().channel);  // it may say that it is ready before it is ended
  EXPECT_FALSE(started.value().guest.verify_confined().ok());
  const Death death = wait_death(started.value().guest);
  EXPECT_EQ(death.kind, Death::Kind::signalled);
  EXPECT_EQ(death.code, SIGKILL);
}

// JAIL-16: a guest that has a filter and never told the supervisor of its listener.
TEST(Verify, RefusesAGuestWhoseListenerNobodyHolds) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"mute"});
  ASSERT_TRUE(started.ok()) << started.error().message();
  EXPECT_EQ(next_message(started.value().channel).op(), "ready");
  expect_refusal(started.value().guest.verify_confined(), "listener is not in the supervisor's hands");
}

// The change of user is claimed and did not happen. Capabilities go all the same, so it comes as far as a filter.
TEST(Verify, RefusesAGuestThatRunsAsSomebodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root changes a guest's user";
  expect_refusal(verdict({{SYS_setresuid, 0, {}}}, "confined"), "runs as user 0");
}

TEST(Verify, RefusesAGuestThatHasEnded) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
  ASSERT_TRUE(started.ok()) << started.error().message();
  EXPECT_EQ(next_message(started.value().channel).op(), "ready");
  started.value().guest.kill();
  (void)wait_death(started.value().guest);
  EXPECT_EQ(started.value().guest.verify_confined().error().code, Errc::confinement);
}

}  // namespace
}  // namespace heddle::jail

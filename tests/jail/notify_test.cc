// JAIL-14: a refused call arrives at the host by name, with the kernel's arguments, and says what refused it.
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "world.h"

namespace heddle::jail {
namespace {

using core::Errc;

struct Attempt {
  int error = -1;  // as the guest saw it; -1: it did not come back
  Death death;
  Denials denials;
  core::Result<void> verified;
};

Attempt attempt(Supervisor& supervisor, const std::string& name, const std::string& parameter,
                const DenialOptions& options = {}) {
  Attempt result;
  auto started = start_guest(supervisor, "heddle-test-attacker", {"confined", name, parameter}, {}, options);
  EXPECT_TRUE(started.ok()) << started.error().message();
  if (!started.ok()) return result;
  wire::Channel& channel = started.value().channel;
  EXPECT_EQ(next_message(channel).op(), "armed");
  wire::Message message = next_message(channel);
  if (message.op() == "attack") result.error = static_cast<int>(message.take_number("errno").value());
  result.death = wait_death(started.value().guest);
  auto denials = started.value().guest.take_denials();
  EXPECT_TRUE(denials.ok()) << denials.error().message();
  if (denials.ok()) result.denials = std::move(denials).value();
  return result;
}

// EXE-3: a program of the host's is told that its own ids are set. A script asks for nothing of the kind, so that it is
// a denial whatever it asks for.
TEST(Notifications, AScriptIsDeniedItsOwnIdsToo) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  const Attempt leave = attempt(supervisor.value(), "leave_ids", "");
  EXPECT_EQ(leave.error, EPERM);
  EXPECT_EQ(leave.denials.total, 2U);
}

// JAIL-14
TEST(Notifications, NameTheCallAndItsArguments) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  const Attempt kill = attempt(supervisor.value(), "kill", std::to_string(::getpid()));
  EXPECT_EQ(kill.error, EPERM);
  EXPECT_EQ(kill.death.kind, Death::Kind::exited);
  ASSERT_EQ(kill.denials.denials.size(), 1U);
  const Denial& denial = kill.denials.denials[0];
  EXPECT_TRUE(denial.number_known);
  EXPECT_EQ(denial.number, SYS_kill);
  EXPECT_EQ(denial.syscall, "kill");
  EXPECT_EQ(denial.arguments[0], static_cast<std::uint64_t>(::getpid()));
  EXPECT_EQ(denial.arguments[1], 0U);
  EXPECT_EQ(denial.object, Denial::Object::none);
  EXPECT_EQ(denial.rule, "seccomp: not in the script profile's list");
  EXPECT_NE(denial.hint, "");
  EXPECT_EQ(kill.denials.total, 1U);
  EXPECT_EQ(kill.denials.dropped, 0U);
}

// JAIL-14: what was read of a caller that was gone by then may have been another's, and is not kept. The kernel's
// answer to the question whether it is still there is made a no.
TEST(Notifications, WhatWasReadOfACallerThatIsGoneIsNotKept) {
  const InjectedSupervisor injected({{SYS_ioctl, ENOENT, {{1, kAll, SECCOMP_IOCTL_NOTIF_ID_VALID}}}});
  auto supervisor = start_supervisor(injected.path());
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  const Attempt open = attempt(supervisor.value(), "read_file", "/etc/passwd");
  EXPECT_EQ(open.error, EPERM);
  ASSERT_EQ(open.denials.denials.size(), 1U);
  EXPECT_EQ(open.denials.denials[0].syscall, "openat");
  EXPECT_EQ(open.denials.denials[0].object, Denial::Object::none);
  EXPECT_EQ(open.denials.denials[0].observed, "");
  EXPECT_EQ(open.denials.denials[0].bytes, "");
  EXPECT_EQ(open.denials.denials[0].folder, "");
}

// JAIL-14: paths and addresses, observed.
TEST(Notifications, ShowPathsAndAddresses) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  const Attempt open = attempt(supervisor.value(), "read_file", "/etc/passwd");
  EXPECT_EQ(open.error, EPERM);
  ASSERT_EQ(open.denials.denials.size(), 1U);
  EXPECT_EQ(open.denials.denials[0].syscall, "openat");
  EXPECT_EQ(open.denials.denials[0].object, Denial::Object::path);
  EXPECT_EQ(open.denials.denials[0].observed, "/etc/passwd");
  EXPECT_EQ(to_line(open.denials.denials[0]), "openat /etc/passwd (observed): seccomp: a script has no files");

  for (const auto& [path, shown] : {std::pair{"/run/there", "unix:/run/there"}, {"@name", "unix:@name"}}) {
    const Attempt connect = attempt(supervisor.value(), "connect_unix", path);
    EXPECT_EQ(connect.error, EPERM);
    ASSERT_EQ(connect.denials.denials.size(), 2U);  // the socket, and then the inherited one
    EXPECT_EQ(connect.denials.denials[0].syscall, "socket");
    EXPECT_EQ(connect.denials.denials[1].syscall, "connect");
    EXPECT_EQ(connect.denials.denials[1].object, Denial::Object::address);
    EXPECT_EQ(connect.denials.denials[1].observed, shown);
  }
}

// JAIL-14: as many denials as the policy says, and the last is still named.
TEST(Notifications, TheQuotaEndsTheGuest) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  const Attempt within = attempt(supervisor.value(), "kill_often", "4", {Notifications::required, 5});
  EXPECT_EQ(within.error, EPERM);
  EXPECT_EQ(within.death.kind, Death::Kind::exited);
  EXPECT_EQ(within.denials.total, 4U);
  const Attempt spent = attempt(supervisor.value(), "kill_often", "5", {Notifications::required, 5});
  EXPECT_EQ(spent.error, -1);
  EXPECT_EQ(spent.death.kind, Death::Kind::denial_quota);
  EXPECT_EQ(spent.death.code, SIGKILL);
  EXPECT_EQ(spent.denials.total, 5U);
  EXPECT_EQ(spent.denials.denials.size(), 5U);
}

// JAIL-14: a flood costs the supervisor bounded memory; what was lost is counted.
TEST(Notifications, AFloodIsCountedNotKept) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  const Attempt flood = attempt(supervisor.value(), "kill_often", "1000", {Notifications::required, 2000});
  EXPECT_EQ(flood.error, EPERM);
  EXPECT_EQ(flood.denials.total, 1000U);
  EXPECT_EQ(flood.denials.denials.size(), 128U);
  EXPECT_EQ(flood.denials.dropped, 872U);
}

TEST(Notifications, ArePartOfWhatIsApplied) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
  ASSERT_TRUE(started.ok()) << started.error().message();
  ASSERT_EQ(next_message(started.value().channel).op(), "ready");
  ASSERT_TRUE(started.value().guest.verify_confined().ok());
  const AppliedPolicy applied = started.value().guest.applied().value();
  EXPECT_EQ(applied.notified, Notified::listening);
  EXPECT_EQ(applied.filters, 1U);
  EXPECT_TRUE(applied.no_new_privs);
  EXPECT_GT(applied.landlock_abi, 0);
  EXPECT_EQ(applied.own_identity, ::geteuid() == 0);
  EXPECT_EQ(started.value().guest.take_denials().value().total, 0U);
}

// What keeps a listener from being had: somebody further out has one (EBUSY), or a kernel without notifications.
struct Obstacle {
  const char* name;
  int error;
};
class NoListener : public ::testing::TestWithParam<Obstacle> {
 protected:
  NoListener()
      : injected_(
            GetParam().error == EBUSY
                ? std::vector<Injection>{}
                : std::vector<Injection>{{SYS_seccomp,
                                          GetParam().error,
                                          {{1, SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_FILTER_FLAG_NEW_LISTENER}}}},
            GetParam().error == EBUSY ? Outer::listens : Outer::nothing) {}
  core::Result<Supervisor> supervisor() { return start_supervisor(injected_.path()); }

 private:
  InjectedSupervisor injected_;
};
INSTANTIATE_TEST_SUITE_P(Obstacles, NoListener,
                         ::testing::Values(Obstacle{"Busy", EBUSY}, Obstacle{"OldKernel", EINVAL},
                                           Obstacle{"NoSeccompCall", ENOSYS}),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

// JAIL-13, JAIL-14: the call is refused all the same, the guest ends by it, and nobody pretends to know the number.
TEST_P(NoListener, FallsBackToKillingWhereThePolicyLetsIt) {
  auto supervisor = this->supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  const Attempt kill = attempt(supervisor.value(), "kill", std::to_string(::getpid()));
  EXPECT_EQ(kill.error, -1);
  EXPECT_EQ(kill.death.kind, Death::Kind::signalled);
  EXPECT_EQ(kill.death.code, SIGSYS);
  ASSERT_EQ(kill.denials.denials.size(), 1U);
  EXPECT_FALSE(kill.denials.denials[0].number_known);
  EXPECT_NE(kill.denials.denials[0].rule.find("number unknown"), std::string::npos);
  // An open gets its EPERM, as the C library expects.
  EXPECT_EQ(attempt(supervisor.value(), "read_file", "/etc/passwd").error, EPERM);

  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
  ASSERT_TRUE(started.ok()) << started.error().message();
  ASSERT_EQ(next_message(started.value().channel).op(), "ready");
  ASSERT_TRUE(started.value().guest.verify_confined().ok());
  const AppliedPolicy applied = started.value().guest.applied().value();
  EXPECT_EQ(applied.notified, Notified::killing);
  EXPECT_EQ(applied.notified_error, GetParam().error);
}

// JAIL-11
TEST_P(NoListener, RefusesToStartWhereThePolicyRequiresOne) {
  auto supervisor = this->supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"}, {}, {Notifications::required, 64});
  ASSERT_TRUE(started.ok()) << started.error().message();
  wire::Message message = next_message(started.value().channel);
  ASSERT_EQ(message.op(), "refused");
  EXPECT_EQ(message.take_number("step").value(), static_cast<unsigned>(Step::filter_load));
  EXPECT_EQ(message.take_number("errno").value(), static_cast<unsigned>(GetParam().error));
  EXPECT_FALSE(started.value().guest.verify_confined().ok());
}

TEST(Notifications, OffMeansThatNobodyIsAsked) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  const Attempt kill = attempt(supervisor.value(), "kill", std::to_string(::getpid()), {Notifications::off, 64});
  EXPECT_EQ(kill.death.code, SIGSYS);
  EXPECT_EQ(kill.denials.total, 1U);
}

// JAIL-15: with the supervisor goes what it knew; the guest is gone too.
TEST(Notifications, AreGoneWithTheSupervisor) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
  ASSERT_TRUE(started.ok()) << started.error().message();
  ASSERT_EQ(next_message(started.value().channel).op(), "ready");
  ASSERT_EQ(::kill(supervisor.value().pid(), SIGKILL), 0);
  EXPECT_EQ(started.value().guest.take_denials().error().code, Errc::disconnected);
}

}  // namespace
}  // namespace heddle::jail

// JAIL-11: every step made to fail in turn, by the kernel, in the product's own programs. The guest's payload is to say
// "ready"; it must never be heard, and the error must name the step.
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <set>

#include "group_world.h"
#include "heddle/jail/launch/spawn.h"
#include "step_row.h"

namespace heddle::jail {

void expect_refused(const Row& row, const Policy& policy) {
  expect_refused(row, policy, kTestPrograms + "heddle-test-guest", {});
}

namespace {

// Either half of a prepared child meets the failure, or the child that is made from nothing after it.
enum class Beginning : std::uint8_t { from_nothing, prepared };

void expect_refused(const Row& row, const Policy& policy, const std::string& program, const std::vector<core::Fd>& more,
                    Beginning beginning) {
  const InjectedSupervisor injected({row.injection});
  auto supervisor = start_supervisor(injected.path());
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  if (beginning == Beginning::prepared) {
    const auto ready = supervisor.value().prepare(policy);
    EXPECT_TRUE(ready.ok() || ready.error().step.find("prepare guests") == 0) << ready.error().message();
  }
  core::FdPair pair = core::stream_pair().value();
  auto channel = wire::Channel::adopt(std::move(pair.first)).value();
  const auto guest =
      supervisor.value().spawn(policy, open_program(program).value(), {"confined"}, std::move(pair.second), more);
  ASSERT_FALSE(guest.ok());
  EXPECT_EQ(guest.error().step, step_name(row.step)) << guest.error().message();
  EXPECT_EQ(guest.error().code, row.code) << guest.error().message();
  if (row.reported != kAnyErrno) {
    EXPECT_EQ(guest.error().sys_errno, row.reported.value_or(row.injection.error)) << guest.error().message();
  }
  EXPECT_NE(guest.error().message().find("not started"), std::string::npos) << guest.error().message();
  EXPECT_EQ(next_message(channel).op(), "gone");
}

}  // namespace

void expect_refused(const Row& row, const Policy& policy, const std::string& program,
                    const std::vector<core::Fd>& more) {
  expect_refused(row, policy, program, more, Beginning::from_nothing);
  SCOPED_TRACE("prepared");
  expect_refused(row, policy, program, more, Beginning::prepared);
}

namespace {

using core::Errc;

constexpr int kSetMdwe = 65;

// JAIL-9: with a group of the guest's own required.
std::vector<Row> group_rows() {
  return {
      {Step::group_parent, {SYS_fstatfs, EIO, {}}, Who::anybody, Errc::unsupported, kAnyErrno},
      {Step::group_create, {SYS_mkdirat, ENOSPC, {{2, kAll, 0700}}}, Who::groups},
      {Step::group_limit, {SYS_pwrite64, EINVAL, {{2, kAll, 1}}}, Who::groups},
      {Step::group_enter, {SYS_clone3, EACCES, {}}, Who::groups},
      {Step::clone, {SYS_clone3, EAGAIN, {}}, Who::groups},
  };
}

Injection prctl_fails(int option) { return {SYS_prctl, EPERM, {{0, kAll, static_cast<unsigned>(option)}}}; }

}  // namespace

// Steps of the supervisor and of the child: the error comes back from spawn().
std::vector<Row> spawn_rows() {
  std::vector<Row> rows = {
      {Step::null_device, {SYS_openat, EMFILE, {{2, kAll, O_RDWR | O_CLOEXEC | O_NOCTTY}}}},
      {Step::descriptors_high, {SYS_fcntl, EMFILE, {{1, kAll, F_DUPFD_CLOEXEC}}}},
      {Step::notify_socket, {SYS_socketpair, EMFILE, {}}},
      {Step::landlock_version, {SYS_landlock_create_ruleset, ENOSYS, {{2, kAll, 1}}}},
      {Step::landlock_version, {SYS_landlock_create_ruleset, EOPNOTSUPP, {{2, kAll, 1}}}},
      {Step::landlock_version, {SYS_landlock_create_ruleset, EPERM, {{2, kAll, 1}}}},
      {Step::landlock_create, {SYS_landlock_create_ruleset, EMFILE, {{2, kAll, 0}}}},
      {Step::landlock_rule, {SYS_landlock_add_rule, ENOMEM, {}}},
      {Step::child_stack, {SYS_mmap, ENOMEM, {{1, kAll, 64U << 10}, {3, kAll, MAP_PRIVATE | MAP_ANONYMOUS}}}},
      {Step::signals_blocked, {SYS_rt_sigprocmask, EPERM, {{0, kAll, SIG_BLOCK}}}},
      {Step::lifeline, {SYS_pipe2, EMFILE, {}}},
      {Step::clone, {SYS_clone, EAGAIN, {}}},
      {Step::dispositions, {SYS_rt_sigaction, EPERM, {{0, kAll, 64}}}},
      {Step::session, {SYS_setsid, EPERM, {}}},
      {Step::working_directory, {SYS_chdir, EACCES, {}}},
      {Step::stdio, {SYS_dup3, EMFILE, {{1, kAll, 2}}}},
      {Step::descriptors, {SYS_dup3, EMFILE, {{1, kAll, 60}}}},
      {Step::close_others, {SYS_close_range, ENOSYS, {}}},
      {Step::file_mask, {SYS_umask, EPERM, {}}},
      {Step::bounding_set, {SYS_prctl, EPERM, {{0, kAll, PR_CAPBSET_DROP}}}, Who::root},
      {Step::groups, {SYS_setgroups, EPERM, {}}, Who::root},
      {Step::group_id, {SYS_setresgid, EINVAL, {}}, Who::root},
      {Step::user_id, {SYS_setresuid, EAGAIN, {}}, Who::root},
      {Step::limits, {SYS_prlimit64, EPERM, {{1, kAll, RLIMIT_MSGQUEUE}}}},
      {Step::parent_death, prctl_fails(PR_SET_PDEATHSIG)},
      {Step::parent_alive, {SYS_read, 0, {{0, kAll, 62}}}, Who::anybody, Errc::confinement, ESRCH},
      {Step::no_new_privs, prctl_fails(PR_SET_NO_NEW_PRIVS)},
      {Step::landlock_restrict, {SYS_landlock_restrict_self, E2BIG, {{0, kAll, 61}}}},
      {Step::ambient_set, prctl_fails(PR_CAP_AMBIENT)},
      {Step::capabilities, {SYS_capset, EPERM, {}}},
      {Step::signal_mask, {SYS_rt_sigprocmask, EPERM, {{0, kAll, SIG_SETMASK}}}},
      {Step::execute, {SYS_execveat, EACCES, {}}},
  };
  for (Row& row : rows) {
    if (row.step == Step::landlock_version && row.injection.error != EPERM) row.code = Errc::unsupported;
  }
  return rows;
}

namespace {

// Steps of confine_self(): the guest itself says so, and ends.
std::vector<Row> confine_rows() {
  return {
      // A descriptor below 16 is the guest's; the child's ruleset is number 61.
      {Step::seal_restrict, {SYS_landlock_restrict_self, E2BIG, {{0, ~15U, 0}}}},
      {Step::no_exec_gain, prctl_fails(kSetMdwe)},
      {Step::not_dumpable, prctl_fails(PR_SET_DUMPABLE)},
      {Step::filter_check, {SYS_fcntl, EINVAL, {{1, kAll, F_GET_SEALS}}}},
      {Step::filter_read, {SYS_pread64, EIO, {}}},
      {Step::filter_close, {SYS_close, EIO, {{0, kAll, 4}}}},
      {Step::notify_order, {SYS_recvfrom, EIO, {{0, kAll, 5}}}},
      {Step::filter_load, {SYS_seccomp, EACCES, {{0, kAll, 1}}}},
      {Step::notify_pass, {SYS_sendmsg, EIO, {{0, kAll, 5}}}, Who::anybody, Errc::confinement, {}},
      {Step::notify_close, {SYS_close, EIO, {{0, kAll, 5}}}},
  };
}

void expect_refusals(const std::vector<Row>& rows, const Limits& limits) {
  const bool groups = GroupPlace::available();
  for (const Row& row : rows) {
    if (row.who == Who::root && ::geteuid() != 0) continue;
    if (row.who == Who::groups && !groups) continue;
    SCOPED_TRACE(step_name(row.step));
    expect_refused(row, Policy::script(limits).value());
  }
}

TEST(Steps, EverySpawnStepThatFailsIsNamedAndNothingRuns) { expect_refusals(spawn_rows(), {}); }

// JAIL-9
TEST(Steps, EveryGroupStepThatFailsIsNamedAndNothingRuns) {
  Limits limits;
  limits.group.own_group = Need::required;
  expect_refusals(group_rows(), limits);
  if (!GroupPlace::available()) GTEST_SKIP() << GroupPlace::missing();
}

// JAIL-9: a limit whose controller is not there, or cannot be handed down.
TEST(Steps, WithoutItsControllerARequiredLimitIsRefused) {
  if (!GroupPlace::available()) GTEST_SKIP() << GroupPlace::missing();
  const bool there = GroupPlace::has_controller("memory");
  const InjectedSupervisor injected({{SYS_pwrite64, EINVAL, {{2, kAll, sizeof "+memory" - 1}}}});
  auto supervisor = start_supervisor(injected.path());
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  Limits limits;
  limits.group.memory_bytes = GroupLimit{64U << 20, Need::required};
  const auto guest = start_guest(supervisor.value(), "heddle-test-guest", {"confined"}, limits);
  ASSERT_FALSE(guest.ok());
  EXPECT_EQ(guest.error().step, step_name(Step::group_controller)) << guest.error().message();
  EXPECT_EQ(guest.error().code, there ? Errc::confinement : Errc::unsupported) << guest.error().message();
  EXPECT_NE(guest.error().message().find("memory.max is required"), std::string::npos) << guest.error().message();
}

TEST(Steps, EveryConfineStepThatFailsIsNamedAndThePayloadNeverRuns) {
  for (const Row& row : confine_rows()) {
    SCOPED_TRACE(step_name(row.step));
    const InjectedSupervisor injected({row.injection});
    auto supervisor = start_supervisor(injected.path());
    ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
    auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
    ASSERT_TRUE(started.ok()) << started.error().message();
    wire::Message message = next_message(started.value().channel);
    ASSERT_EQ(message.op(), "refused");
    EXPECT_EQ(message.take_number("step").value(), static_cast<unsigned>(row.step));
    EXPECT_EQ(message.take_number("errno").value(), static_cast<unsigned>(row.injection.error));
    // At the last step all that can be verified from outside is true; that the guest is not ready it says itself.
    EXPECT_TRUE(row.step == Step::notify_close || !started.value().guest.verify_confined().ok());
    EXPECT_EQ(next_message(started.value().channel).op(), "gone");
    EXPECT_EQ(wait_death(started.value().guest).kind, Death::Kind::exited);
  }
}

// seal_create is the one call that the guest makes exactly as the supervisor does: no room for a descriptor instead.
TEST(Steps, NoSecondRulesetNoPayload) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  Limits limits;
  limits.open_files = 6;
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"}, limits);
  ASSERT_TRUE(started.ok()) << started.error().message();
  wire::Message message = next_message(started.value().channel);
  ASSERT_EQ(message.op(), "refused");
  EXPECT_EQ(message.take_number("step").value(), static_cast<unsigned>(Step::seal_create));
  EXPECT_EQ(message.take_number("errno").value(), static_cast<unsigned>(EMFILE));
}

TEST(Steps, AnInsaneRequestIsRefused) {
  const auto outcome = [](SpawnPlan plan) { return spawn(std::move(plan)).failure.step; };
  EXPECT_EQ(outcome(SpawnPlan{}), Step::request);
  const auto plan = [] {
    SpawnPlan sane;
    sane.program = open_program(kTestPrograms + "heddle-test-guest").value().fd().duplicate().value();
    sane.arguments = {"guest", "confined"};
    return sane;
  };
  SpawnPlan no_arguments = plan();
  no_arguments.arguments.clear();
  EXPECT_EQ(outcome(std::move(no_arguments)), Step::request);
  SpawnPlan bad_descriptor = plan();
  bad_descriptor.descriptors.emplace_back();
  EXPECT_EQ(outcome(std::move(bad_descriptor)), Step::request);
  // A guest never runs as root, and only root can choose whom it runs as.
  SpawnPlan wrong_identity = plan();
  if (::geteuid() != 0) wrong_identity.identity = 12345;
  EXPECT_EQ(outcome(std::move(wrong_identity)), Step::request);
  SpawnPlan root = plan();
  root.identity = 0;
  EXPECT_EQ(outcome(std::move(root)), Step::request);
}

// The table is whole: a new step without a row fails here.
TEST(Steps, EveryStepHasARow) {
  std::set<Step> covered = {Step::none,          Step::request, Step::seal_create, Step::group_controller,
                            Step::second_filter,  // threaded_test.cc
                            Step::handover};      // prepared_test.cc
  for (const auto& rows : {spawn_rows(), group_rows(), namespace_rows(), confine_rows()}) {
    for (const Row& row : rows) covered.insert(row.step);
  }
  for (unsigned step = 0; step < kStepCount; ++step) {
    EXPECT_EQ(covered.count(static_cast<Step>(step)), 1U) << step_name(static_cast<Step>(step));
    EXPECT_EQ(find_step(step_name(static_cast<Step>(step))), static_cast<Step>(step));
  }
  EXPECT_EQ(find_step("no such step"), Step::none);
  EXPECT_STREQ(step_name(static_cast<Step>(kStepCount)), "unknown");
}

// Control: the same programs under the same kind of filter, with nothing injected, do run.
TEST(Steps, ControlWithoutInjection) {
  const InjectedSupervisor injected({{SYS_reboot, EPERM, {}}});
  auto supervisor = start_supervisor(injected.path());
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
  ASSERT_TRUE(started.ok()) << started.error().message();
  EXPECT_EQ(next_message(started.value().channel).op(), "ready");
  EXPECT_TRUE(started.value().guest.verify_confined().ok());
}

// The kernel before 6.3 has no PR_SET_MDWE: said so, not refused.
TEST(Steps, WithoutMdweTheGuestSaysSo) {
  const InjectedSupervisor injected({{SYS_prctl, EINVAL, {{0, kAll, kSetMdwe}}}});
  auto supervisor = start_supervisor(injected.path());
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
  ASSERT_TRUE(started.ok()) << started.error().message();
  wire::Message message = next_message(started.value().channel);
  ASSERT_EQ(message.op(), "ready");
  EXPECT_FALSE(message.take_bool("mdwe").value());
}

}  // namespace
}  // namespace heddle::jail

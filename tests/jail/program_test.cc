// The profile `program` through the real stub: what is told of it, and which execve is let through.
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "group_world.h"
#include "program_world.h"

namespace heddle::jail {
namespace {

const std::string kAttacker = kTestPrograms + "heddle-test-attacker";

core::Result<ProgramOutcome> attack(Supervisor& supervisor, const std::string& name, const std::string& parameter = "",
                                    const ProgramNeeds& needs = plain_needs()) {
  return run_program(supervisor, {kAttacker, {"program", name, parameter}, needs});
}

const Denial* find(const Denials& denials, const std::string& syscall) {
  const auto found = std::find_if(denials.denials.begin(), denials.denials.end(),
                                  [&](const Denial& denial) { return denial.syscall == syscall; });
  return found == denials.denials.end() ? nullptr : &*found;
}

// JAIL-14: refused, named, and it lives.
TEST(Program, IsToldWhatItWasRefused) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto outcome = attack(supervisor.value(), "socket", "2");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().first.op(), "ended");
  EXPECT_EQ(outcome.value().output, "errno 1\n");
  ASSERT_TRUE(outcome.value().applied);
  EXPECT_EQ(outcome.value().applied->notified, Notified::listening);
  const Denial* denial = find(outcome.value().denials, "socket");
  ASSERT_NE(denial, nullptr);
  EXPECT_EQ(denial->arguments[0], 2U);
  EXPECT_EQ(denial->rule, "seccomp: a program makes no socket of any family, and reaches none by name");
  EXPECT_FALSE(denial->left_to_landlock);
}

// JAIL-14: of a descendant's own memory.
TEST(Program, PathsAreReadFromTheProcessThatMadeTheCall) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto outcome = attack(supervisor.value(), "change_mode", "/no/such/place");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().output, "errno 1\n");
  const Denial* denial = find(outcome.value().denials, "chmod");
  ASSERT_NE(denial, nullptr);
  EXPECT_EQ(denial->observed, "/no/such/place");
}

// EXE-3: a program that gives up rights that it never had, as GNU make does before each recipe, goes on.
TEST(Program, KeepsTheIdsThatItHasAndTakesNoOthers) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  for (const char* name : {"keep_ids", "leave_ids"}) {
    auto kept = attack(supervisor.value(), name);
    ASSERT_TRUE(kept.ok()) << kept.error().message();
    EXPECT_EQ(kept.value().output, "errno 0\n") << name;
    EXPECT_EQ(kept.value().denials.total, 0U) << name;
  }
  for (const char* id : {"0", "1", "59322", "4294967294"}) {
    auto taken = attack(supervisor.value(), "take_ids", id);
    ASSERT_TRUE(taken.ok()) << taken.error().message();
    EXPECT_EQ(taken.value().output, "errno 1\n") << id;
    EXPECT_EQ(taken.value().denials.total, 6U) << id;
    ASSERT_NE(find(taken.value().denials, "setresuid"), nullptr);
  }
}

// JAIL-6: exactly one execve. Control: the program itself ran, by the one.
TEST(Program, OnlyTheStubsExecIsLetThrough) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  for (const char* name : {"execveat", "execve"}) {
    auto outcome = attack(supervisor.value(), name);
    ASSERT_TRUE(outcome.ok()) << outcome.error().message();
    EXPECT_EQ(outcome.value().output, "errno 1\n") << name;
    ASSERT_NE(find(outcome.value().denials, name), nullptr) << name;
    EXPECT_EQ(outcome.value().denials.total, 1U) << name;
  }
  auto memory = attack(supervisor.value(), "memfd_create");
  ASSERT_TRUE(memory.ok()) << memory.error().message();
  EXPECT_EQ(memory.value().output, "errno 1\n");
}

// JAIL-6: with allow_exec any number, and Landlock decides.
TEST(Program, MayStartOthersWhereThePolicySaysSo) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  ProgramNeeds needs = plain_needs();
  needs.subprocesses = Subprocesses::allowed;
  auto outcome = attack(supervisor.value(), "execveat", "", needs);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().output, "executed\n");
  EXPECT_EQ(outcome.value().denials.total, 0U);
}

// JAIL-13, JAIL-14: where nobody can be told the refusal stands, the program lives, and its second start of itself is
// what the report says of it.
class NoListenerForAProgram : public ::testing::TestWithParam<int> {
 protected:
  NoListenerForAProgram()
      : injected_(
            GetParam() == EBUSY
                ? std::vector<Injection>{}
                : std::vector<Injection>{{SYS_seccomp,
                                          GetParam(),
                                          {{1, SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_FILTER_FLAG_NEW_LISTENER}}}},
            GetParam() == EBUSY ? Outer::listens : Outer::nothing) {}
  const InjectedSupervisor injected_;
};
INSTANTIATE_TEST_SUITE_P(Obstacles, NoListenerForAProgram, ::testing::Values(EBUSY, EINVAL),
                         [](const auto& parameter) { return parameter.param == EBUSY ? "Busy" : "OldKernel"; });

TEST_P(NoListenerForAProgram, RefusesAllTheSame) {
  auto supervisor = start_supervisor(injected_.path());
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  for (const char* name : {"socket", "execve", "ptrace", "change_mode", "memfd_create"}) {
    auto outcome = attack(supervisor.value(), name, name == std::string("socket") ? "2" : "");
    ASSERT_TRUE(outcome.ok()) << outcome.error().message();
    EXPECT_EQ(outcome.value().output, "errno 1\n") << name;
    ASSERT_TRUE(outcome.value().applied);
    EXPECT_EQ(outcome.value().applied->notified, Notified::killing);
    EXPECT_EQ(outcome.value().denials.total, 0U);
  }
  auto again = attack(supervisor.value(), "execveat");
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_EQ(again.value().output, "executed\n");
}

// JAIL-11
TEST_P(NoListenerForAProgram, RefusesToStartWhereThePolicyRequiresOne) {
  auto supervisor = start_supervisor(injected_.path());
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  ProgramNeeds needs = plain_needs();
  needs.denials.notifications = Notifications::required;
  auto outcome = attack(supervisor.value(), "socket", "2", needs);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().first.op(), "failed");
  EXPECT_EQ(outcome.value().first.take_string("step").value(), "filter_load");
  EXPECT_EQ(outcome.value().output, "");
}

// JAIL-14: a quota for what never comes to an end.
TEST(Program, TheQuotaEndsItAndAllItStarted) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  ProgramNeeds needs = plain_needs();
  needs.denials.quota = 3;
  auto within = attack(supervisor.value(), "chmod_often", "2", needs);
  ASSERT_TRUE(within.ok()) << within.error().message();
  EXPECT_EQ(within.value().output, "errno 1\n");
  auto spent = attack(supervisor.value(), "chmod_often", "3", needs);
  ASSERT_TRUE(spent.ok()) << spent.error().message();
  EXPECT_EQ(spent.value().output, "");
  EXPECT_EQ(spent.value().death.kind, Death::Kind::denial_quota);
}

// JAIL-9: a memory hog ends as a whole with its stub, a bomb is refused; the two are told apart.
TEST(Program, MemoryAndProcessesEndAsAWhole) {
  if (!GroupPlace::available()) GTEST_SKIP() << GroupPlace::missing();
  if (!GroupPlace::has_controller("memory") || !GroupPlace::has_controller("pids"))
    GTEST_SKIP() << "cgroup version 1 owns memory and pids here: shown in the guest kernels";
  const GroupPlace place;
  auto supervisor = start_supervisor(kSupervisor, place.options());
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  ProgramNeeds needs = plain_needs();
  needs.limits.processes = 300;
  needs.limits.group.memory_bytes = GroupLimit{64U << 20, Need::required};
  needs.limits.group.swap_bytes = GroupLimit{0, Need::if_available};
  needs.limits.group.processes = GroupLimit{20, Need::required};
  auto hog = attack(supervisor.value(), "touch_memory", "", needs);
  ASSERT_TRUE(hog.ok()) << hog.error().message();
  EXPECT_EQ(hog.value().output, "");
  EXPECT_EQ(hog.value().death.kind, Death::Kind::out_of_memory) << describe(hog.value().death);
  auto bomb = attack(supervisor.value(), "many_threads", "", needs);
  ASSERT_TRUE(bomb.ok()) << bomb.error().message();
  EXPECT_EQ(bomb.value().output, "errno 11\n");
  ASSERT_TRUE(bomb.value().death.group);
  EXPECT_GT(bomb.value().death.group->processes_refused, 0U);
  EXPECT_EQ(bomb.value().death.group->oom_kills, 0U);
}

// JAIL-14: what Landlock decides is seen, decided as without, and no denial.
TEST(Program, WhatLandlockDecidesIsObservedAndLeftToIt) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  char folder[] = "/tmp/heddle-observe-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  ASSERT_EQ(::chmod(folder, 0777), 0);
  const std::string file = folder + std::string("/file");
  std::ofstream(file) << "secret";
  ASSERT_EQ(::chmod(file.c_str(), 0666), 0);
  ProgramNeeds needs = plain_needs();
  needs.denials.observe = true;
  needs.denials.quota = 1;  // nothing observed counts
  const auto observed = [&](const char* name) -> ProgramOutcome {
    auto outcome = attack(supervisor.value(), name, file, needs);
    EXPECT_TRUE(outcome.ok()) << outcome.error().message();
    return outcome.ok() ? std::move(outcome).value() : ProgramOutcome{};
  };
  const ProgramOutcome denied = observed("read_file");
  EXPECT_EQ(denied.output, "errno 13\n");
  EXPECT_EQ(denied.denials.total, 0U);
  const Denial* open = find(denied.denials, "openat");
  ASSERT_NE(open, nullptr);
  EXPECT_TRUE(open->left_to_landlock);
  EXPECT_EQ(open->bytes, file);
  EXPECT_EQ(observed("remove_file").output, "errno 13\n");
  EXPECT_EQ(::access(file.c_str(), F_OK), 0);
  needs.paths.push_back({file, Access::read});
  EXPECT_EQ(observed("read_file").output, "errno 0\n");
  // The filter's own refusals are no observations.
  EXPECT_EQ(observed("truncate_by_reading").output, "errno 1\n");
  struct stat info {};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_size, 6);
  // A relative path comes with its folder.
  const ProgramOutcome relative = [&] {
    auto outcome = attack(supervisor.value(), "read_file", file.substr(1), needs);
    return outcome.ok() ? std::move(outcome).value() : ProgramOutcome{};
  }();
  open = find(relative.denials, "openat");
  ASSERT_NE(open, nullptr);
  EXPECT_EQ(open->folder, "/");
  EXPECT_EQ(open->bytes, file.substr(1));
  ::unlink(file.c_str());
  ::rmdir(folder);
}

}  // namespace
}  // namespace heddle::jail

// JAIL-11 for foreign programs: each step that the stub takes made to fail in turn. The program's payload is to write a
// line; it must never be seen, and the step must be named.
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "program_world.h"
#include "step_row.h"

namespace heddle::jail {
namespace {

core::Result<ProgramOutcome> start_echo(const std::vector<Injection>& injections) {
  const InjectedSupervisor injected(injections);
  HEDDLE_ASSIGN(Supervisor supervisor, start_supervisor(injected.path()));
  return run_program(supervisor, {"/bin/echo", {"ran"}, plain_needs()});
}

// Control: under the same kind of filter, with nothing injected, the program runs.
TEST(Stub, ControlWithoutInjection) {
  auto outcome = start_echo({{SYS_reboot, EPERM, {}}});
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().first.op(), "ended");
  EXPECT_EQ(outcome.value().first.take_number("code").value(), 0U);
  EXPECT_EQ(outcome.value().output, "ran\n");
}

// JAIL-11, JAIL-16
TEST(Stub, EveryStepThatFailsIsNamedAndTheProgramNeverRuns) {
  const struct {
    const char* step;
    Injection injection;
  } rows[] = {
      {"not_dumpable", {SYS_prctl, EPERM, {{0, kAll, PR_SET_DUMPABLE}, {1, kAll, 0}}}},
      {"filter_check", {SYS_fcntl, EINVAL, {{1, kAll, F_GET_SEALS}}}},
      {"filter_read", {SYS_pread64, EIO, {}}},
      {"filter_close", {SYS_close, EIO, {{0, kAll, 4}}}},
      {"notify_order", {SYS_recvfrom, EIO, {{0, kAll, 5}}}},
      {"notify_pass", {SYS_sendmsg, EIO, {{0, kAll, 5}}}},
      {"notify_close", {SYS_close, EIO, {{0, kAll, 5}}}},
      {"filter_load", {SYS_seccomp, EACCES, {{0, kAll, 1}}}},
      {"fork", {SYS_clone, EAGAIN, {{0, CLONE_VM, 0}}}},
      {"set up the program's stdio", {SYS_dup2, EMFILE, {}}},
      {"enter the working folder", {SYS_fchdir, EACCES, {{0, kAll, 8}}}},
      {"execute the program", {SYS_execveat, EACCES, {{0, kAll, 6}}}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.step);
    auto outcome = start_echo({row.injection});
    ASSERT_TRUE(outcome.ok()) << outcome.error().message();
    EXPECT_EQ(outcome.value().first.op(), "failed");
    EXPECT_EQ(outcome.value().first.take_string("step").value(), row.step);
    EXPECT_EQ(outcome.value().first.take_number("errno").value(), static_cast<unsigned>(row.injection.error));
    EXPECT_EQ(outcome.value().output, "");
  }
}

// EXE-2: a name that leads to another folder than the one that was opened. Control: one that leads nowhere is not
// missed.
TEST(Stub, AFolderThatIsNotTheOneThatWasOpenedIsNotEntered) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  ProgramRun run{"/bin/echo", {"ran"}, plain_needs(), {}, "/usr"};
  auto other = run_program(supervisor.value(), run);
  ASSERT_TRUE(other.ok()) << other.error().message();
  ASSERT_EQ(other.value().first.op(), "failed");
  EXPECT_EQ(other.value().first.take_string("step").value(), "enter the working folder");
  EXPECT_EQ(other.value().first.take_number("errno").value(), static_cast<unsigned>(ESTALE));
  EXPECT_EQ(other.value().output, "");
  for (const char* name : {"/", "/no/such/folder", ""}) {
    run.folder_name = name;
    EXPECT_EQ(run_program(supervisor.value(), run).value().output, "ran\n") << name;
  }
}

// JAIL-11: the steps before the stub, which are those of every guest.
TEST(Stub, EveryStepBeforeItThatFailsIsNamedAndNothingRuns) {
  const Program stub = open_program(HEDDLE_LIBEXEC_DIR "/heddle-exec-stub").value();
  ProgramNeeds needs = plain_needs();
  needs.namespaces.need = Need::off;
  const Policy policy = policy_for(stub, "/bin/echo", needs).value();
  std::vector<core::Fd> more;
  for (int i = 0; i < 6; ++i) more.emplace_back(::open("/dev/null", O_RDWR | O_CLOEXEC));
  unsigned tried = 0;
  for (const Row& row : spawn_rows()) {
    if ((row.who == Who::root && ::geteuid() != 0) || makes_ruleset(row.step)) continue;
    SCOPED_TRACE(step_name(row.step));
    expect_refused(row, policy, stub.path(), more);
    ++tried;
  }
  EXPECT_GE(tried, 25U);
}

// JAIL-7, JAIL-11: heddle exec requires namespaces unless its policy says otherwise; its root folder stays the host's.
TEST(Stub, EveryNamespaceStepThatFailsIsNamedAndNothingRuns) {
  ProgramNeeds needs = plain_needs();
  needs.namespaces.need = Need::required;
  {
    auto supervisor = start_supervisor();
    ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
    auto probe = run_program(supervisor.value(), {"/bin/true", {}, needs});
    if (!probe.ok()) GTEST_SKIP() << probe.error().message();
  }
  const Program stub = open_program(HEDDLE_LIBEXEC_DIR "/heddle-exec-stub").value();
  const Policy policy = policy_for(stub, "/bin/echo", needs).value();
  std::vector<core::Fd> more;
  for (int i = 0; i < 6; ++i) more.emplace_back(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const Row& row : namespace_rows()) {
    const bool empties = row.step >= Step::root_create && row.step <= Step::root_detach;
    if ((row.who == Who::root && ::geteuid() != 0) || empties) continue;
    SCOPED_TRACE(step_name(row.step));
    expect_refused(row, policy, stub.path(), more);
  }
}

}  // namespace
}  // namespace heddle::jail

// JAIL-11 for foreign programs: each step that the stub takes made to fail in turn. The program's payload is to write a
// line; it must never be seen, and the step must be named.
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <fstream>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

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

struct StubRow {
  const char* step;
  Injection injection;
  std::optional<int> reported = {};  // errno that is reported, where it is not the injected one
};

const std::vector<StubRow>& stub_rows() {
  static const std::vector<StubRow> kRows = {
      {"read the program's arguments", {SYS_read, EIO, {{0, kAll, 7}}}, EINVAL},
      {"not_dumpable", {SYS_prctl, EPERM, {{0, kAll, PR_SET_DUMPABLE}, {1, kAll, 0}}}},
      {"filter_check", {SYS_fcntl, EINVAL, {{1, kAll, F_GET_SEALS}}}},
      {"filter_read", {SYS_pread64, EIO, {}}},
      {"filter_close", {SYS_close, EIO, {{0, kAll, 4}}}},
      {"notify_order", {SYS_recvfrom, EIO, {{0, kAll, 5}}}},
      {"notify_pass", {SYS_sendmsg, EIO, {{0, kAll, 5}}}},
      {"notify_close", {SYS_close, EIO, {{0, kAll, 5}}}},
      {"filter_load", {SYS_seccomp, EACCES, {{0, kAll, 1}}}},
      {"make a pipe", {SYS_pipe2, EMFILE, {{1, kAll, O_CLOEXEC}}}},
      {"fork", {SYS_clone, EAGAIN, {{0, CLONE_VM, 0}}}},
      {"set up the program's stdio", {SYS_dup2, EMFILE, {}}},
      {"enter the working folder", {SYS_fchdir, EACCES, {{0, kAll, 8}}}},
      {"close what is not the program's",
       {SYS_fcntl, EINVAL, {{0, kAll, 11}, {1, kAll, F_SETFD}, {2, kAll, FD_CLOEXEC}}}},
      {"execute the program", {SYS_execveat, EACCES, {{0, kAll, 6}}}},
  };
  return kRows;
}

// JAIL-11, JAIL-16
TEST(Stub, EveryStepThatFailsIsNamedAndTheProgramNeverRuns) {
  for (const StubRow& row : stub_rows()) {
    SCOPED_TRACE(row.step);
    auto outcome = start_echo({row.injection});
    ASSERT_TRUE(outcome.ok()) << outcome.error().message();
    EXPECT_EQ(outcome.value().first.op(), "failed");
    EXPECT_EQ(outcome.value().first.take_string("step").value(), row.step);
    EXPECT_EQ(outcome.value().first.take_number("errno").value(),
              static_cast<unsigned>(row.reported.value_or(row.injection.error)));
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

// JAIL-11: the steps are those that the stub's source names.
TEST(Stub, EveryStepHasARow) {
  std::ifstream file(HEDDLE_STUB_SOURCE);
  if (!file.is_open()) GTEST_SKIP() << "the source is not here: this is a guest kernel";
  std::ostringstream text;
  text << file.rdbuf();
  const std::string source = text.str();
  std::set<std::string> known = {
      // The supervisor and the child make the same call before the stub does: it is they who would fail. That the
      // program ends with its stub is ExecHost.TheProgramEndsWithItsStub's.
      "end with the stub",
      "keep the program's orphans",
      // Of what the host says, and of a program that has run.
      "read the host's order",
      "wait for the program",
  };
  for (const StubRow& row : stub_rows()) known.insert(row.step);
  const std::regex step(R"re((?:step = |fail\(channel, )"([^"]+)")re");
  unsigned found = 0;
  for (std::sregex_iterator at(source.begin(), source.end(), step), end; at != end; ++at, ++found) {
    EXPECT_EQ(known.count((*at)[1].str()), 1U) << (*at)[1].str();
  }
  EXPECT_GE(found, 11U);
}

// A program that has run is no failed start: what cannot be known about its end is said.
TEST(Stub, AnEndThatCannotBeSeenIsNamed) {
  auto outcome = start_echo({{SYS_wait4, ECHILD, {}}});
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().first.op(), "failed");
  EXPECT_EQ(outcome.value().first.take_string("step").value(), "wait for the program");
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

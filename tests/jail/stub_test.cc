// JAIL-11 for foreign programs: each step that the stub takes made to fail in turn. The program's payload is to write a
// line; it must never be seen, and the step must be named.
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heddle/jail/unsafe/program_policy.h"
#include "world.h"

namespace heddle::jail {
namespace {

constexpr unsigned kAll = ~0U;

struct Outcome {
  wire::Message first = wire::Message("none");  // what the stub said
  std::string output;                           // what the program wrote
};

core::Fd null_device() { return core::Fd(::open("/dev/null", O_RDWR | O_CLOEXEC)); }

core::Result<Outcome> start_echo(const std::vector<Injection>& injections) {
  const InjectedSupervisor injected(injections);
  HEDDLE_ASSIGN(Supervisor supervisor, start_supervisor(injected.path()));
  HEDDLE_ASSIGN(const Program stub, open_program(HEDDLE_LIBEXEC_DIR "/heddle-exec-stub"));
  core::Fd program(::open("/bin/echo", O_RDONLY | O_CLOEXEC));
  ProgramNeeds needs;
  needs.namespaces.need = Need::if_available;
  needs.paths = runtime_files();
  HEDDLE_ASSIGN(const Policy policy, UnsafePolicy::program(stub, program, needs));
  HEDDLE_ASSIGN(core::FdPair output, core::pipe_pair());
  HEDDLE_ASSIGN(core::Fd words, core::sealed_memory("words", std::string("2\0/bin/echo\0ran\0", 16)));
  std::vector<core::Fd> more;
  more.push_back(std::move(program));
  more.push_back(std::move(words));
  more.emplace_back(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  more.push_back(null_device());
  more.push_back(std::move(output.second));
  more.push_back(null_device());
  HEDDLE_ASSIGN(core::FdPair ends, core::stream_pair());
  HEDDLE_ASSIGN(wire::Channel channel, wire::Channel::adopt(std::move(ends.first)));
  HEDDLE_ASSIGN(Guest guest, supervisor.spawn(policy, stub, {}, std::move(ends.second), more));
  more.clear();
  Outcome outcome;
  outcome.first = next_message(channel);
  if (outcome.first.op() == "ready") {
    HEDDLE_TRY(guest.verify_confined());
    channel.queue(wire::Message("go"));
    HEDDLE_TRY(channel.wait_flushed(core::Deadline::after(std::chrono::seconds(20))));
    outcome.first = next_message(channel);
  }
  guest.close();
  HEDDLE_ASSIGN(outcome.output, core::read_all(output.first, 4096));
  return outcome;
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
      {"filter_load", {SYS_seccomp, EACCES, {{0, kAll, 1}}}},
      {"fork", {SYS_clone, EAGAIN, {{0, CLONE_VM, 0}}}},
      {"set up the program's stdio", {SYS_dup2, EMFILE, {}}},
      {"enter the working folder", {SYS_fchdir, EACCES, {{0, kAll, 7}}}},
      {"execute the program", {SYS_execveat, EACCES, {{0, kAll, 5}}}},
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

}  // namespace
}  // namespace heddle::jail

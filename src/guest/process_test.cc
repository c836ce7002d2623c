#include "heddle/guest/process.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "heddle/wire/hello.h"
#include "testing/world.h"
#include "tests/support/processes.h"

namespace heddle::guest {
namespace {

using core::Errc;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::unique_ptr<Process> spawn_one(Host& host, const std::string& program = "heddle-test-answerer") {
  const jail::Policy policy = test_policy();
  auto process = Process::spawn(host, policy, test_program(program));
  EXPECT_TRUE(process.ok()) << process.error().message();
  return std::move(process).value();
}

std::string ask(Process& process, std::string_view what) {
  process.channel().queue(wire::Message("ask").set("what", what).set("number", process.next_call()));
  const auto frame = process.channel().wait_frame(core::Deadline::after(kPatience));
  return frame.ok() ? frame.value().payload : frame.error().message();
}

// JAIL-16, ISO-9: nothing is sent before it is ready and the kernel has confirmed that.
TEST(Process, BecomesReadyAndAnswers) {
  const auto host = make_host();
  const auto process = spawn_one(*host);
  EXPECT_FALSE(process->ready());
  ASSERT_TRUE(process->await_ready(kPatience).ok());
  EXPECT_TRUE(process->ready());
  EXPECT_TRUE(process->await_ready(milliseconds(0)).ok()) << "it stays ready";
  EXPECT_EQ(ask(*process, "echo"), R"({"op":"answer","number":1})");
  EXPECT_EQ(ask(*process, "echo"), R"({"op":"answer","number":2})");
  EXPECT_GT(process->cpu_time().count(), 0);
}

// JAIL-16, SBX-19: each way to start badly has an error of its own, and the process is gone with its object.
TEST(Process, AStartThatFailsSaysWhy) {
  const auto host = make_host();
  const struct {
    const char* program;
    Errc code;
    const char* words;
    milliseconds cold_start = kPatience;
  } rows[] = {{"heddle-rogue-never-ready", Errc::start_up, "not ready within 300 ms", milliseconds(300)},
              {"heddle-rogue-other-version", Errc::untrusted_program, "0.0.0-other"},
              {"heddle-rogue-unconfined", Errc::confinement, "filter"},
              {"heddle-rogue-speaks-first", Errc::protocol, "\"pong\" where \"ready\""},
              {"heddle-rogue-failed-step", Errc::confinement, "filter_load: Invalid argument"},
              {"heddle-rogue-exits", Errc::start_up, "start heddle-rogue-exits: it exited with status 7"}};
  for (const auto& row : rows) {
    auto process = spawn_one(*host, row.program);
    const auto ready = process->await_ready(row.cold_start);
    ASSERT_FALSE(ready.ok()) << row.program;
    EXPECT_EQ(ready.error().code, row.code) << ready.error().message();
    EXPECT_NE(ready.error().message().find(row.words), std::string::npos) << ready.error().message();
    EXPECT_FALSE(process->ready());
    process.reset();
    EXPECT_TRUE(test::descendants_named("heddle-rogue").empty()) << row.program;
  }
}

// JAIL-21: a start that its supervisor took along is told apart from a guest that cannot start.
TEST(Process, AStartUnderASupervisorThatDiedIsDisconnected) {
  const auto host = make_host();
  const auto process = spawn_one(*host, "heddle-rogue-never-ready");
  const auto said_ready = spawn_one(*host);
  pollfd item{said_ready->channel().fd().get(), POLLIN, 0};
  ASSERT_EQ(::poll(&item, 1, 60'000), 1);
  kill_supervisors();
  EXPECT_EQ(process->await_ready(kPatience).error().code, Errc::disconnected);
  EXPECT_EQ(said_ready->await_ready(kPatience).error().code, Errc::disconnected) << "its word outlived it";
}

// JAIL-13, JAIL-14: an account has what was refused during its call, and only that.
TEST(Process, AccountsForItsCall) {
  const auto host = make_host();
  const auto process = spawn_one(*host);
  ASSERT_TRUE(process->await_ready(kPatience).ok());
  (void)ask(*process, "try");
  for (int call = 0; call < 2; ++call) {
    Account account = process->begin_account();
    (void)ask(*process, call == 0 ? "try" : "echo");
    process->add_denials(account);
    ASSERT_TRUE(account.applied);
    EXPECT_TRUE(account.applied->no_new_privs);
    ASSERT_EQ(account.denials.denials.size(), call == 0 ? 1U : 0U);
    for (const jail::Denial& denial : account.denials.denials) EXPECT_EQ(denial.syscall, "openat");
    EXPECT_FALSE(account.ended_by_denial);
  }
}

TEST(Process, SaysHowItEnded) {
  const auto host = make_host();
  const auto process = spawn_one(*host);
  ASSERT_TRUE(process->await_ready(kPatience).ok());
  (void)ask(*process, "exit");
  EXPECT_EQ(process->describe_end(), "it exited with status 3");
}

}  // namespace
}  // namespace heddle::guest

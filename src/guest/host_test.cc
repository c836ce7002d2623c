#include "heddle/guest/host.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "testing/world.h"
#include "tests/support/processes.h"

namespace heddle::guest {
namespace {

using core::Errc;
using std::chrono::milliseconds;
using std::chrono::seconds;

core::Result<std::unique_ptr<Process>> spawn_ready(Host& host) {
  const jail::Policy policy = test_policy();
  HEDDLE_ASSIGN(auto process, Process::spawn(host, policy, test_program()));
  HEDDLE_TRY(process->await_ready(kPatience));
  return process;
}

// JAIL-15: one supervisor for all that is spawned, from the first spawn to the end of its host.
TEST(Host, StartsOneSupervisorForAll) {
  {
    const auto host = make_host();
    EXPECT_EQ(host->started(), 0U);
    EXPECT_TRUE(test::descendants_named("heddle-supervis").empty());
    const auto first = spawn_ready(*host);
    ASSERT_TRUE(first.ok()) << first.error().message();
    const auto second = spawn_ready(*host);
    ASSERT_TRUE(second.ok()) << second.error().message();
    EXPECT_TRUE(host->start().ok());
    EXPECT_EQ(host->started(), 1U);
    EXPECT_EQ(test::descendants_named("heddle-supervis").size(), 1U);
  }
  EXPECT_TRUE(test::descendants_named("heddle-").empty());
}

// JAIL-21: whatever was killed, the next spawn has a supervisor; what ran under the dead one is gone and says so.
TEST(Host, ReplacesASupervisorThatDied) {
  const auto host = make_host();
  for (std::uint64_t life = 1; life <= 5; ++life) {
    auto process = spawn_ready(*host);
    ASSERT_TRUE(process.ok()) << process.error().message();
    EXPECT_EQ(host->started(), life);
    kill_supervisors();
    const auto frame = process.value()->channel().wait_frame(core::Deadline::after(kPatience));
    EXPECT_EQ(frame.error().code, Errc::disconnected);
    EXPECT_NE(process.value()->describe_end().find("supervisor"), std::string::npos);
  }
}

// JAIL-21: several at once find it dead; one other is started, and each gets its guest.
TEST(Host, SeveralThreadsGetOneReplacement) {
  HEDDLE_SKIP_UNDER_TSAN();
  const auto host = make_host();
  ASSERT_TRUE(host->start().ok());
  constexpr int kThreads = 8;
  for (std::uint64_t life = 2; life < 12; ++life) {
    kill_supervisors();
    std::atomic<int> waiting{0};
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        ++waiting;
        while (waiting < kThreads) std::this_thread::yield();
        ready += spawn_ready(*host).ok() ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ready.load(), kThreads);
    EXPECT_EQ(host->started(), life);
  }
}

// JAIL-21: one that cannot be started again is not started in a loop; each caller learns why and when; and once it can
// be, all is well without anything having been made anew.
TEST(Host, BacksOffWhileNoneCanBeStarted) {
  const StandIn stand_in;
  Host host(stand_in.options());
  ASSERT_TRUE(spawn_ready(host).ok());
  stand_in.be_bad();
  kill_supervisors();
  int refused = 0;
  const core::Deadline end = core::Deadline::after(seconds(1));
  while (!end.passed()) {
    const auto process = spawn_ready(host);
    ASSERT_FALSE(process.ok());
    EXPECT_EQ(process.error().step, "start heddle-supervisor") << process.error().message();
    EXPECT_NE(process.error().message().find(stand_in.options().program), std::string::npos);
    if (process.error().message().find("in a row") != std::string::npos) ++refused;
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_GT(refused, 0);
  EXPECT_GE(stand_in.bad_starts(), 2);
  EXPECT_LE(stand_in.bad_starts(), 6) << "pauses of 0, 100, 200, 400, 800 ms";
  stand_in.be_real();
  const core::Deadline patience = core::Deadline::after(kPatience);
  bool mended = false;
  while (!mended && !patience.passed()) {
    mended = spawn_ready(host).ok();
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_TRUE(mended);
  // Nothing of the bad time is remembered.
  kill_supervisors();
  EXPECT_TRUE(spawn_ready(host).ok());
}

// What the first start found wrong is told, and may be mended at the same path.
TEST(Host, AFirstStartThatFailsSaysWhy) {
  const StandIn stand_in;
  stand_in.be_bad();
  Host host(stand_in.options());
  EXPECT_EQ(host.start().error().code, Errc::disconnected);
  stand_in.be_real();
  EXPECT_TRUE(host.start().ok());

  jail::SupervisorOptions options;
  options.program = "/nonexistent/heddle-supervisor";
  EXPECT_EQ(Host(options).start().error().code, Errc::untrusted_program);
}

// JAIL-15: what a living supervisor refuses is not tried on another one, and costs the others nothing.
TEST(Host, ARefusedSpawnLeavesTheSupervisorAlone) {
  const auto host = make_host();
  const auto other = spawn_ready(*host);
  ASSERT_TRUE(other.ok());
  std::vector<core::Fd> too_many;
  for (int i = 0; i < 300; ++i) too_many.push_back(other.value()->channel().fd().duplicate().value());
  const jail::Policy policy = test_policy();
  const auto refused = host->spawn(policy, test_program(), too_many);
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(host->started(), 1U);
  EXPECT_TRUE(spawn_ready(*host).ok());
  EXPECT_FALSE(other.value()->guest().process().has_exited());
}

TEST(Backoff, PausesLongerEachTime) {
  Backoff backoff;
  EXPECT_FALSE(backoff.refusal());
  backoff.failed(core::make_error(Errc::start_up, "start it", "why"));
  EXPECT_FALSE(backoff.refusal()) << "one failure costs nothing";
  for (int i = 0; i < 100; ++i) backoff.failed(core::make_error(Errc::start_up, "start it", "why"));
  const auto refusal = backoff.refusal();
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, Errc::start_up);
  EXPECT_EQ(refusal->context.find("why; this failed 101 times in a row and is tried again in "), 0U);
  EXPECT_LE(
      std::atoi(refusal->context.c_str() + sizeof "why; this failed 101 times in a row and is tried again in " - 1),
      5000);
  backoff.succeeded();
  EXPECT_FALSE(backoff.refusal());
}

}  // namespace
}  // namespace heddle::guest

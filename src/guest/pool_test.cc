#include "heddle/guest/pool.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <thread>

#include "testing/world.h"
#include "tests/support/processes.h"

namespace heddle::guest {
namespace {

using core::Errc;
using std::chrono::milliseconds;
using std::chrono::minutes;
using Kind = CallEnd::Kind;

// Polls until the pool's count is this; generous.
template <class Count>
bool reaches(const std::shared_ptr<Pool>& pool, Count PoolStatistics::*count, Count wanted) {
  const core::Deadline patience = core::Deadline::after(minutes(1));
  while (pool->statistics().*count != wanted) {
    if (patience.passed()) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

TEST(Pool, RefusesOptionsThatCannotBe) {
  PoolOptions none;
  none.size = 0;
  PoolOptions unused;
  unused.calls_per_guest = 0;
  for (const PoolOptions& options : {none, unused}) {
    EXPECT_EQ(Pool::create(make_host(), test_policy(), test_program(), options).error().code, Errc::invalid_argument);
  }
}

// ISO-15
TEST(Pool, RecyclesAGuestAfterItsCalls) {
  PoolOptions options;
  options.calls_per_guest = 2;
  const auto pool = make_pool(options);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(call_once(pool, "echo").kind, Kind::answered);
  EXPECT_EQ(pool->statistics().recycled, 2U);
  EXPECT_EQ(pool->statistics().spawned, 3U);
}

// ISO-15: warmed up to its size, and full again after an end.
TEST(Pool, StaysWarm) {
  PoolOptions options;
  options.size = 3;
  options.calls_per_guest = 1;
  const auto pool = make_pool(options);
  ASSERT_TRUE(pool->warm().ok());
  EXPECT_EQ(pool->statistics().alive, 3U);
  EXPECT_EQ(call_once(pool, "echo").kind, Kind::answered);
  EXPECT_EQ(pool->statistics().alive, 3U);
  EXPECT_EQ(test::descendants_named("heddle-test-ans").size(), 3U);
}

// ISO-15: idle ones are ended when their time has come, with nobody asking; busy ones are not.
TEST(Pool, EndsGuestsThatAreIdleForTooLong) {
  HEDDLE_SKIP_UNDER_TSAN();
  PoolOptions options;
  options.size = 2;
  options.idle_expiry = milliseconds(100);
  const auto pool = make_pool(options);
  Asking hanging("hang");
  const auto busy = start_call(pool, hanging);
  while (hanging.calls.empty()) ASSERT_FALSE(busy->poll());
  EXPECT_EQ(call_once(pool, "echo").kind, Kind::answered);
  EXPECT_TRUE(reaches(pool, &PoolStatistics::expired, std::uint64_t{1}));
  EXPECT_EQ(pool->statistics().alive, 1U);
  EXPECT_FALSE(busy->poll());
  EXPECT_EQ(busy->abandon().kind, Kind::abandoned);
  EXPECT_EQ(call_once(pool, "echo").kind, Kind::answered);
  EXPECT_TRUE(reaches(pool, &PoolStatistics::expired, std::uint64_t{2}));
  ASSERT_TRUE(pool->warm().ok());
  EXPECT_TRUE(reaches(pool, &PoolStatistics::expired, std::uint64_t{4})) << "those that were never asked too";
  EXPECT_EQ(pool->statistics().alive, 0U);

  // Control: without the option, or before its time, it stays.
  for (const milliseconds expiry : {milliseconds(0), milliseconds(std::chrono::hours(1))}) {
    options.idle_expiry = expiry;
    const auto kept = make_pool(options);
    EXPECT_EQ(call_once(kept, "echo").kind, Kind::answered);
    std::this_thread::sleep_for(milliseconds(300));
    EXPECT_EQ(kept->statistics().alive, 1U);
  }
}

// Guests that cannot start are not started for each call: after the second failure in a row the error is given at once,
// and says so, until it is time again.
TEST(Pool, BacksOffWhileNoGuestCanStart) {
  const auto pool = make_pool({}, "heddle-rogue-exits");
  int tried = 0;
  int refused = 0;
  const core::Deadline end = core::Deadline::after(std::chrono::seconds(1));
  while (!end.passed()) {
    const CallEnd failed = call_once(pool, "echo");
    ASSERT_EQ(failed.kind, Kind::not_asked);
    EXPECT_EQ(failed.error.code, Errc::start_up);
    EXPECT_NE(failed.error.message().find("exited with status 7"), std::string::npos) << failed.error.message();
    ++(failed.error.message().find("times in a row") == std::string::npos ? tried : refused);
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_GE(tried, 2);
  EXPECT_LE(tried, 6) << "pauses of 0, 100, 200, 400, 800 ms";
  EXPECT_GT(refused, 0);
}

// One that started well is the end of a back-off: the next failure is a first one.
TEST(Pool, AStartThatSucceedsEndsABackOff) {
  PoolOptions options;
  options.calls_per_guest = 1;
  const auto pool = make_pool(options);
  const auto fail_a_start = [&] {
    Asking asking("echo");
    const auto call = start_call(pool, asking);
    const std::vector<pid_t> starting = test::descendants_named("heddle-test-ans");
    for (const pid_t pid : starting) EXPECT_EQ(::kill(pid, SIGKILL), 0);
    for (const pid_t pid : starting) EXPECT_TRUE(test::ended_within({pid}, minutes(1)));
    return wait_end(*call).error.message();
  };
  EXPECT_NE(fail_a_start().find("signal 9"), std::string::npos);
  EXPECT_NE(fail_a_start().find("signal 9"), std::string::npos);
  const core::Deadline patience = core::Deadline::after(minutes(1));
  while (call_once(pool, "echo").kind != Kind::answered) ASSERT_FALSE(patience.passed());
  EXPECT_NE(fail_a_start().find("signal 9"), std::string::npos);
  EXPECT_EQ(call_once(pool, "echo").kind, Kind::answered);
}

// However a start fails, whoever queued for its place gets a guest or an error.
TEST(Pool, NobodyIsLeftWaitingForAStartThatFailed) {
  PoolOptions options;
  options.cold_start = milliseconds(300);
  const auto pool = make_pool(options, "heddle-rogue-never-ready");
  Asking asking("echo");
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 4; ++i) calls.push_back(start_call(pool, asking));
  for (const auto& call : calls) EXPECT_EQ(wait_end(*call).error.code, Errc::start_up);
  EXPECT_EQ(pool->statistics().alive, 0U);
}

// A place that cannot be filled costs the first who waits, as a start that fails would; the others may get a guest that
// lives.
TEST(Pool, ABackOffCostsTheFirstWaiter) {
  PoolOptions options;
  options.size = 2;
  const auto pool = make_pool(options);
  Asking asking("echo");
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 4; ++i) calls.push_back(start_call(pool, asking));  // two start, two wait
  const std::vector<pid_t> starting = test::descendants_named("heddle-test-ans");
  ASSERT_EQ(starting.size(), 2U);
  for (const pid_t pid : starting) EXPECT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_TRUE(test::ended_within(starting, minutes(1)));
  EXPECT_EQ(wait_end(*calls[0]).kind, Kind::not_asked);  // the first who waits gets a new one
  EXPECT_EQ(wait_end(*calls[1]).kind, Kind::not_asked);
  const CallEnd refused = wait_end(*calls[3]);
  EXPECT_EQ(refused.kind, Kind::not_asked);
  EXPECT_NE(refused.error.message().find("2 times in a row"), std::string::npos) << refused.error.message();
  EXPECT_EQ(wait_end(*calls[2]).kind, Kind::answered);
}

// The same where the supervisor itself cannot be had, and that takes long enough for others to queue.
TEST(Pool, NobodyIsLeftWaitingForASupervisorThatCannotBeHad) {
  HEDDLE_SKIP_UNDER_TSAN();
  const StandIn stand_in;
  stand_in.be_slow_and_bad();
  const auto host = std::make_shared<Host>(stand_in.options());
  const auto pool = Pool::create(host, test_policy(), test_program(), {}).value();
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { failed += call_once(pool, "echo").kind == Kind::not_asked ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed.load(), 4);
  EXPECT_EQ(pool->statistics().alive, 0U);
}

TEST(Pool, ClosingItEndsEveryCall) {
  const auto pool = make_pool();
  Asking hanging("hang");
  Asking waiting("echo");
  const auto busy = start_call(pool, hanging);
  const auto queued = start_call(pool, waiting);
  EXPECT_FALSE(queued->poll());
  pool->close();
  EXPECT_EQ(wait_end(*busy).error.code, Errc::closed);
  EXPECT_EQ(wait_end(*queued).error.code, Errc::closed);
  EXPECT_TRUE(test::descendants_named("heddle-test-ans").empty()) << "though the calls are still there";
  EXPECT_EQ(call_once(pool, "echo").error.code, Errc::closed);
  EXPECT_EQ(pool->warm().error().code, Errc::closed);
}

}  // namespace
}  // namespace heddle::guest

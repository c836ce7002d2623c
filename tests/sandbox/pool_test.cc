// The worker pool with the real supervisor, worker and engine, and with workers that have turned against it.
#include "heddle/sandbox/quickjs/pool.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <atomic>
#include <thread>

#include "heddle/guest/host.h"
#include "tests/support/processes.h"

namespace heddle::sandbox::quickjs {
namespace {

namespace quickjs = sandbox::quickjs;  // Run alone is a member of every test
using core::Errc;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = Outcome::Kind;

const std::string kLibexec = HEDDLE_LIBEXEC_DIR;
const std::string kRogues = HEDDLE_ROGUES_DIR;

PoolOptions options_with(const std::string& worker_path) {
  PoolOptions options;
  options.supervisor_path = kLibexec + "/heddle-supervisor";
  options.worker_path = worker_path;
  return options;
}

PoolOptions real() { return options_with(kLibexec + "/heddle-sandbox-worker"); }
PoolOptions rogue(const std::string& kind) { return options_with(kRogues + "/heddle-rogue-" + kind); }

std::unique_ptr<Pool> make(PoolOptions options) {
  auto pool = Pool::create(std::move(options));
  EXPECT_TRUE(pool.ok()) << pool.error().message();
  return std::move(pool).value();
}

Outcome evaluate(Pool& pool, std::string script, std::string input = "null", RunLimits limits = {}) {
  auto run = pool.start({std::move(script), std::move(input), limits});
  EXPECT_TRUE(run.ok()) << run.error().message();
  quickjs::Run started = std::move(run).value();
  return started.wait();
}

RunLimits wall(milliseconds time) {
  RunLimits limits;
  limits.wall_clock = time;
  return limits;
}

// SBX-3, SBX-4
TEST(Pool, GivesTheValueOfTheScript) {
  const auto pool = make(real());
  const Outcome outcome = evaluate(*pool, "({sum: input.a + input.b, who: 'h\\u00e9'})", R"({"a":1,"b":2})");
  ASSERT_EQ(outcome.kind, Kind::ok) << outcome.error.message();
  EXPECT_EQ(outcome.value, "{\"sum\":3,\"who\":\"h\xC3\xA9\"}");
  EXPECT_GT(outcome.elapsed.count(), 0);
}

// SBX-4, SBX-21
TEST(Pool, GivesWhatTheScriptThrew) {
  const auto pool = make(real());
  const Outcome outcome = evaluate(*pool, "1;\n  null.x");
  ASSERT_EQ(outcome.kind, Kind::threw);
  EXPECT_EQ(outcome.name, "TypeError");
  EXPECT_EQ(outcome.line, 2U);
}

// SBX-21: each limit is told by its name, and the next run on the same worker is right.
TEST(Pool, TellsTheLimitsApart) {
  const auto pool = make(real());
  RunLimits cpu = wall(seconds(20));
  cpu.cpu = milliseconds(100);
  RunLimits output;
  output.output_bytes = 10;
  const struct {
    const char* script;
    RunLimits limits;
    LimitKind kind;
  } cases[] = {{"for(;;);", wall(milliseconds(100)), LimitKind::wall_clock},
               {"for(;;);", cpu, LimitKind::cpu},
               {"Array.prototype.indexOf.call({length:2**53-1},1)", wall(milliseconds(100)), LimitKind::wall_clock},
               {"let a=[]; for(;;) a.push(new Array(1000).fill(1))", wall(seconds(20)), LimitKind::memory},
               {"'0123456789'", output, LimitKind::output}};
  for (const auto& one : cases) {
    const Outcome outcome = evaluate(*pool, one.script, "null", one.limits);
    ASSERT_EQ(outcome.kind, Kind::limit) << one.script << ": " << outcome.error.message();
    EXPECT_EQ(outcome.limit, one.kind) << one.script;
    EXPECT_EQ(evaluate(*pool, "6*7").value, "42");
  }
  EXPECT_EQ(pool->statistics().spawned, 1U) << "a limit costs a run, not a worker";
}

// SBX-14: the ceiling is exact. JAIL-8: and it is the most that the host takes.
TEST(Pool, HoldsTheOutputToTheByte) {
  const auto pool = make(real());
  RunLimits limits;
  limits.output_bytes = 300'000;
  EXPECT_EQ(evaluate(*pool, "'x'.repeat(299998)", "null", limits).value.size(), 300'000U);
  EXPECT_EQ(evaluate(*pool, "'x'.repeat(299999)", "null", limits).kind, Kind::limit);
}

TEST(Pool, CarriesALargeInput) {
  const auto pool = make(real());
  const std::string input = "\"" + std::string(3'000'000, 'i') + "\"";
  EXPECT_EQ(evaluate(*pool, "input.length", input).value, "3000000");
}

// SBX-4: the input overflowed memory while it was parsed; the script did not run.
TEST(Pool, SaysThatTheInputWasTooLarge) {
  const auto pool = make(real());
  RunLimits limits;
  limits.memory_bytes = kMinimumMemoryBytes;
  const std::string input = "[" + std::string(500'000, '1') + "]";
  std::string many = "[0";
  for (int i = 0; i < 200'000; ++i) many += ",{}";
  EXPECT_EQ(evaluate(*pool, "throw 1", many + "]", limits).kind, Kind::input_too_large);
  EXPECT_EQ(evaluate(*pool, "6*7", "null", limits).value, "42");
}

TEST(Pool, RefusesLimitsThatCannotBe) {
  const auto pool = make(real());
  RunLimits zero_clock = wall(milliseconds(0));
  RunLimits small;
  small.memory_bytes = 1000;
  RunLimits large;
  large.memory_bytes = std::uint64_t{1} << 40;
  RunLimits mute;
  mute.output_bytes = 0;
  for (const RunLimits& limits : {zero_clock, small, large, mute}) {
    EXPECT_EQ(pool->start({"1", "null", limits}).error().code, Errc::invalid_argument);
  }
  EXPECT_NE(pool->start({"a\xFF", "null", {}}).error().message().find("byte 1"), std::string::npos);
}

TEST(Pool, RecyclesAWorkerAfterItsRuns) {
  PoolOptions options = real();
  options.runs_per_worker = 3;
  const auto pool = make(options);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(evaluate(*pool, "1").value, "1");
  EXPECT_EQ(pool->statistics().recycled, 2U);
  EXPECT_EQ(pool->statistics().spawned, 3U);
}

TEST(Pool, RunsWaitForAWorkerInTurn) {
  const auto pool = make(real());
  std::vector<quickjs::Run> runs;
  for (int i = 0; i < 8; ++i) runs.push_back(std::move(pool->start({"input", std::to_string(i), {}})).value());
  std::vector<std::string> values(runs.size());
  for (std::size_t left = runs.size(); left > 0;) {
    std::vector<pollfd> items;
    for (const quickjs::Run& run : runs) items.push_back({run.fd(), POLLIN, 0});
    ASSERT_GT(::poll(items.data(), items.size(), 20'000), 0);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!values[i].empty() || items[i].revents == 0) continue;
      if (auto outcome = runs[i].poll()) {
        values[i] = outcome->value;
        --left;
      }
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], std::to_string(i));
  EXPECT_EQ(pool->statistics().spawned, 1U);
}

TEST(Pool, ServesSeveralThreads) {
  PoolOptions options = real();
  options.workers = 3;
  const auto pool = make(options);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 40; ++i) {
        const std::string number = std::to_string(t * 1000 + i);
        if (evaluate(*pool, "input", number).value == number) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right.load(), 240);
  EXPECT_LE(pool->statistics().spawned, 3U);
}

// SBX-8, EFF-7: a stop is a kill at the boundary, and it wins.
TEST(Pool, AStopEndsTheRun) {
  const auto pool = make(real());
  std::stop_source early;
  early.request_stop();
  quickjs::Run done = std::move(pool->start({"1", "null", {}})).value();
  EXPECT_EQ(done.wait(early.get_token()).kind, Kind::cancelled);

  std::stop_source source;
  quickjs::Run endless = std::move(pool->start({"for(;;);", "null", wall(seconds(60))})).value();
  std::thread stopper([&] {
    std::this_thread::sleep_for(milliseconds(100));
    source.request_stop();
  });
  EXPECT_EQ(endless.wait(source.get_token()).kind, Kind::cancelled);
  stopper.join();
  EXPECT_EQ(evaluate(*pool, "6*7").value, "42");
}

// JAIL-12
TEST(Pool, ADroppedRunTakesItsWorkerAlong) {
  const auto pool = make(real());
  {
    quickjs::Run run = std::move(pool->start({"for(;;);", "null", wall(seconds(60))})).value();
    for (int i = 0; i < 200 && pool->statistics().spawned == 0; ++i) {
      (void)run.poll();
      std::this_thread::sleep_for(milliseconds(10));
    }
    ASSERT_EQ(pool->statistics().spawned, 1U);
  }
  EXPECT_EQ(pool->statistics().alive, 0U);
  EXPECT_TRUE(test::descendants_named("heddle-sandbox-").empty());
  EXPECT_EQ(evaluate(*pool, "6*7").value, "42");
}

TEST(Pool, ClosingItEndsEveryRun) {
  auto pool = make(real());
  quickjs::Run busy = std::move(pool->start({"for(;;);", "null", wall(seconds(60))})).value();
  quickjs::Run queued = std::move(pool->start({"1", "null", {}})).value();
  pool.reset();
  EXPECT_EQ(busy.wait().error.code, Errc::closed);
  EXPECT_EQ(queued.wait().error.code, Errc::closed);
}

TEST(Pool, AWorkerThatDiedIdleIsReplacedUnseen) {
  const auto pool = make(real());
  EXPECT_EQ(evaluate(*pool, "1").value, "1");
  const std::vector<pid_t> workers = test::descendants_named("heddle-sandbox-");
  ASSERT_EQ(workers.size(), 1U);
  ASSERT_EQ(::kill(workers[0], SIGKILL), 0);
  ASSERT_TRUE(test::gone_within(workers, seconds(10)));
  EXPECT_EQ(evaluate(*pool, "2").value, "2");
  EXPECT_EQ(pool->statistics().spawned, 2U);
}

// WIRE-3
TEST(Pool, AWorkerThatDiesInARunFailsIt) {
  const auto pool = make(real());
  EXPECT_EQ(evaluate(*pool, "1").value, "1");
  const std::vector<pid_t> workers = test::descendants_named("heddle-sandbox-");
  ASSERT_EQ(workers.size(), 1U);
  quickjs::Run run = std::move(pool->start({"for(;;);", "null", wall(seconds(60))})).value();
  ASSERT_EQ(::kill(workers[0], SIGKILL), 0);
  const Outcome outcome = run.wait();
  EXPECT_EQ(outcome.kind, Kind::infrastructure);
  EXPECT_NE(outcome.error.message().find("signal 9"), std::string::npos) << outcome.error.message();
  EXPECT_EQ(evaluate(*pool, "2").value, "2");
}

// SBX-9: a worker that does not answer its ping never gets the run.
TEST(Pool, AWorkerThatDoesNotAnswerIsReplaced) {
  PoolOptions options = real();
  options.liveness_after = milliseconds(0);
  options.liveness_wait = milliseconds(300);
  const auto pool = make(options);
  EXPECT_EQ(evaluate(*pool, "1").value, "1");
  EXPECT_EQ(evaluate(*pool, "2").value, "2");
  ASSERT_EQ(pool->statistics().spawned, 1U);
  const std::vector<pid_t> workers = test::descendants_named("heddle-sandbox-");
  ASSERT_EQ(workers.size(), 1U);
  ASSERT_EQ(::kill(workers[0], SIGSTOP), 0);
  EXPECT_EQ(evaluate(*pool, "3").value, "3");
  EXPECT_EQ(pool->statistics().spawned, 2U);
  EXPECT_TRUE(test::gone_within(workers, seconds(10)));
}

void kill_supervisor() {
  const std::vector<pid_t> supervisors = test::descendants_named("heddle-supervis");
  ASSERT_EQ(supervisors.size(), 1U);
  const std::vector<pid_t> workers = test::descendants_named("heddle-sandbox-");
  ASSERT_EQ(::kill(supervisors[0], SIGKILL), 0);
  ASSERT_TRUE(test::ended_within(workers, seconds(20)));
}

// JAIL-15, JAIL-21: the supervisor's death between runs takes the workers along and costs no run.
TEST(Pool, AReplacedSupervisorIsUnseenBetweenRuns) {
  PoolOptions options = real();
  options.workers = 3;
  const auto pool = make(options);
  for (int life = 0; life < 4; ++life) {
    ASSERT_TRUE(pool->warm().ok());
    EXPECT_EQ(evaluate(*pool, "1").value, "1");
    kill_supervisor();
    const Outcome outcome = evaluate(*pool, "2");
    EXPECT_EQ(outcome.value, "2") << outcome.error.message();
  }
}

// JAIL-21: a run that the supervisor's death took along may be tried again, and the next one is right. What only
// waited for a worker gets one.
TEST(Pool, ASupervisorThatDiesInARunFailsThatRun) {
  const auto pool = make(real());
  for (int life = 0; life < 4; ++life) {
    quickjs::Run busy = std::move(pool->start({"for(;;);", "null", wall(seconds(600))})).value();
    for (int i = 0; i < 2000 && pool->statistics().spawned <= static_cast<unsigned>(2 * life); ++i) {
      ASSERT_FALSE(busy.poll());
      std::this_thread::sleep_for(milliseconds(10));
    }
    quickjs::Run waiting = std::move(pool->start({"6*7", "null", {}})).value();
    kill_supervisor();
    const Outcome outcome = busy.wait();
    EXPECT_EQ(outcome.kind, Kind::infrastructure);
    EXPECT_EQ(outcome.error.code, Errc::disconnected) << outcome.error.message();
    EXPECT_NE(outcome.error.message().find("supervisor"), std::string::npos) << outcome.error.message();
    EXPECT_EQ(waiting.wait().value, "42");
    EXPECT_EQ(evaluate(*pool, "2").value, "2");
    // So that the next life begins with a worker of its own.
    kill_supervisor();
  }
}

// JAIL-15: one supervisor serves every pool that is given the same host.
TEST(Pool, PoolsShareASupervisor) {
  jail::SupervisorOptions supervisor;
  supervisor.program = kLibexec + "/heddle-supervisor";
  PoolOptions options = real();
  options.host = std::make_shared<guest::Host>(supervisor);
  const auto first = make(options);
  const auto second = make(options);
  EXPECT_EQ(evaluate(*first, "1").value, "1");
  EXPECT_EQ(evaluate(*second, "2").value, "2");
  kill_supervisor();
  EXPECT_EQ(evaluate(*first, "1").value, "1");
  EXPECT_EQ(evaluate(*second, "2").value, "2");
  EXPECT_EQ(options.host->started(), 2U);
}

// SBX-19: what goes wrong before a worker is ready has types of its own.
TEST(Pool, AStartThatFailsSaysWhy) {
  EXPECT_EQ(Pool::create(options_with(kLibexec + "/no-such-worker")).error().code, Errc::untrusted_program);

  PoolOptions slow = rogue("never-ready");
  slow.cold_start = milliseconds(300);
  const struct {
    PoolOptions options;
    Errc code;
    const char* words;
  } cases[] = {{slow, Errc::start_up, "not ready within 300 ms"},
               {rogue("other-version"), Errc::untrusted_program, "0.0.0-other"},
               {rogue("unconfined"), Errc::confinement, "filter"},
               {rogue("speaks-first"), Errc::protocol, "\"pong\" where \"ready\""},
               {rogue("failed-step"), Errc::confinement, "filter_load: Invalid argument"},
               {rogue("exits"), Errc::start_up, "status 7"}};
  for (const auto& one : cases) {
    const auto pool = make(one.options);
    const Outcome outcome = evaluate(*pool, "1");
    EXPECT_EQ(outcome.kind, Kind::infrastructure);
    EXPECT_EQ(outcome.error.code, one.code) << outcome.error.message();
    EXPECT_NE(outcome.error.message().find(one.words), std::string::npos) << outcome.error.message();
    EXPECT_TRUE(test::descendants_named("heddle-rogue").empty()) << one.words;
  }
}

// WIRE-2, WIRE-3, JAIL-8: whatever a worker does, its run fails (or is stopped), it is ended, and the pool goes on.
TEST(Pool, ARogueWorkerCostsItsOwnRunOnly) {
  const auto pool = make(rogue("none"));
  std::uint64_t killed = 0;
  for (const char* how : {"exit", "abort", "garbage", "huge frame", "wrong sequence", "wrong run", "unknown field",
                          "unknown op", "stopped unasked", "descriptor", "not JSON", "not UTF-8", "size lie", "flood",
                          "console of another run", "console flood", "console after the cut"}) {
    const Outcome outcome = evaluate(*pool, how, "null", wall(seconds(20)));
    EXPECT_EQ(outcome.kind, Kind::infrastructure) << how;
    EXPECT_FALSE(outcome.error.message().empty());
    EXPECT_EQ(pool->statistics().killed, ++killed) << how;
    EXPECT_TRUE(test::descendants_named("heddle-rogue").empty()) << how;
  }
}

// SBX-21: soft stop, jump out, SIGKILL: a worker that ignores the first two does not outlive the third.
TEST(Pool, AWorkerThatIgnoresItsStopsIsKilled) {
  PoolOptions options = rogue("none");
  options.soft_grace = milliseconds(20);
  options.hard_grace = milliseconds(50);
  const auto pool = make(options);
  const Outcome outcome = evaluate(*pool, "hang", "null", wall(milliseconds(100)));
  EXPECT_EQ(outcome.kind, Kind::limit);
  EXPECT_EQ(outcome.limit, LimitKind::wall_clock);
  EXPECT_TRUE(test::descendants_named("heddle-rogue").empty());
}

// SBX-25: what a script wrote is kept however its run ends, as far as it came, and is of that run only.
TEST(Pool, KeepsTheConsoleOfEveryEnd) {
  const auto text = [](const Outcome& outcome) {
    std::string all;
    for (const auto& line : outcome.remarks.console) all += line.text + "|";
    return all;
  };
  const auto pool = make(real());
  const auto give_up = wall(seconds(20));
  EXPECT_EQ(text(evaluate(*pool, "console.log('a'); console.error('b'); 1", "null", give_up)), "a|b|");
  EXPECT_EQ(text(evaluate(*pool, "1", "null", give_up)), "");
  EXPECT_EQ(text(evaluate(*pool, "console.log('c'); null.x", "null", give_up)), "c|");
  EXPECT_EQ(text(evaluate(*pool, "console.log('d'); new ArrayBuffer(1e9)", "null", give_up)), "d|");
  const Outcome stopped = evaluate(*pool, "console.log('e'); for (;;);", "null", wall(milliseconds(300)));
  EXPECT_EQ(stopped.kind, Kind::limit);
  EXPECT_EQ(text(stopped), "e|");
  const Outcome flood =
      evaluate(*pool, "for (let i = 0; i < 1e4; i++) console.log('\\u0001'.repeat(20000)); 1", "null", give_up);
  EXPECT_EQ(flood.kind, Kind::ok);
  EXPECT_TRUE(flood.remarks.console_cut);
  EXPECT_LE(text(flood).size(), std::size_t{64} << 10);
  EXPECT_GE(text(flood).size(), std::size_t{63} << 10);

  const auto rogues = make(rogue("none"));
  const Outcome killed = evaluate(*rogues, "console, then exit", "null", give_up);
  EXPECT_EQ(killed.kind, Kind::infrastructure);
  EXPECT_EQ(text(killed),
            "a\xEF\xBF\xBD"
            "b|");
}

// JRN-4, SBX-6: the host bounds a guest's text itself.
TEST(Pool, BoundsTheTextOfAWorkerThatDoesNot) {
  const auto pool = make(rogue("none"));
  const Outcome outcome = evaluate(*pool, "huge text");
  EXPECT_EQ(outcome.kind, Kind::threw);
  EXPECT_EQ(outcome.message.size(), 2048U);
}

// WIRE-2: a worker that has spoken while it was idle gets no further run.
TEST(Pool, AWorkerThatSpeaksUnaskedGetsNoRun) {
  const auto pool = make(rogue("none"));
  EXPECT_EQ(evaluate(*pool, "speaks later").kind, Kind::limit);
  EXPECT_EQ(evaluate(*pool, "exit").kind, Kind::infrastructure);
  EXPECT_EQ(pool->statistics().spawned, 2U);
}

Outcome explained(Pool& pool, const std::string& script) {
  RunRequest request;
  request.script = script;
  request.explain = true;
  auto run = pool.start(std::move(request));
  EXPECT_TRUE(run.ok()) << run.error().message();
  quickjs::Run started = std::move(run).value();
  return started.wait();
}

// JAIL-13, JAIL-14: what a run was refused comes with its outcome, and only with its own.
TEST(Pool, ExplainsARun) {
  const auto pool = make(rogue("none"));
  const Outcome tried = explained(*pool, "tries");
  ASSERT_TRUE(tried.explanation.has_value());
  EXPECT_FALSE(tried.explanation->applied.empty());
  ASSERT_EQ(tried.explanation->denied.size(), 1U);
  EXPECT_EQ(tried.explanation->denied[0].syscall, "openat");
  EXPECT_EQ(tried.explanation->denied[0].line, "openat /etc/shadow (observed): seccomp: a script has no files");
  EXPECT_FALSE(tried.explanation->denied[0].hint.empty());
  EXPECT_FALSE(evaluate(*pool, "tries").explanation.has_value());
  EXPECT_EQ(explained(*pool, "tries").explanation->denied.size(), 1U);
}

TEST(Pool, SaysThatARunUsedUpItsDenials) {
  const auto pool = make(rogue("none"));
  const Outcome outcome = explained(*pool, "tries for ever");
  EXPECT_EQ(outcome.kind, Kind::infrastructure);
  EXPECT_NE(outcome.error.message().find("refused system calls"), std::string::npos) << outcome.error.message();
  ASSERT_TRUE(outcome.explanation.has_value());
  EXPECT_EQ(outcome.explanation->denied.size(), 64U);
}

TEST(Pool, AScriptIsDeniedNothing) {
  const auto pool = make(real());
  const Outcome outcome =
      explained(*pool, "new Date().toString() + Math.random() + JSON.stringify(new Error('x').stack)");
  ASSERT_EQ(outcome.kind, Kind::ok) << outcome.error.message();
  ASSERT_TRUE(outcome.explanation.has_value());
  EXPECT_TRUE(outcome.explanation->denied.empty());
}

}  // namespace
}  // namespace heddle::sandbox::quickjs

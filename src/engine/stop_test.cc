// Stops: soft and hard, before, during and after a run, and what the engine's own code does wrong.
#include <sys/mman.h>

#include <atomic>
#include <string>
#include <thread>

#include "fixture.h"
#include "script.h"
#include "signals.h"

namespace heddle::engine {
namespace {

class StopTest : public EngineTest {};

// A built-in that polls nothing for minutes.
constexpr const char* kDeaf = "'a'.repeat(1 << 24).indexOf('a'.repeat(1 << 23) + 'b')";

// SBX-19, SBX-21
TEST_F(StopTest, SoftStopEndsLoopsAndNothingCatchesIt) {
  for (const char* script :
       {"for (;;);", "for (;;) { try { for (;;); } catch (e) {} finally {} }", "(async () => { for (;;) await 0 })()",
        "/^(a+)+$/.test('a'.repeat(40) + 'b')", "function* g() { try { for (;;); } finally { for (;;); } } [...g()]"}) {
    patience_ = std::chrono::milliseconds(100);
    EXPECT_EQ(run(script).ending, Ending::stopped) << script;
    patience_ = std::chrono::seconds(20);
    EXPECT_FALSE(hard_sent_) << script;
    expect_clean();
  }
}

// SBX-19
TEST_F(StopTest, HardStopLeavesBuiltIns) {
#ifdef HEDDLE_UNDER_TSAN
  GTEST_SKIP() << "signals are not delivered to uninstrumented code";
#endif
  for (int i = 0; i < 3; ++i) {
    patience_ = std::chrono::milliseconds(100);
    EXPECT_EQ(run(kDeaf).ending, Ending::stopped);
    patience_ = std::chrono::seconds(20);
    EXPECT_TRUE(hard_sent_);
    expect_clean();
  }
}

// SBX-19: a stop says nothing to any other run.
TEST_F(StopTest, StopsBeforeAndAfterARun) {
  engine_->request_stop(7);
  EXPECT_EQ(engine_->run(7, "1", "null", kLimits).ending, Ending::ok) << "too short to poll";
  engine_->request_stop(8);
  EXPECT_EQ(engine_->run(8, "for (;;);", "null", kLimits).ending, Ending::stopped);
  // Late: for runs that have ended.
  for (const int signal : {kSoft, kHard}) {
    send_stop(::pthread_self(), signal, 8);
    EXPECT_EQ(engine_->run(9, "let n = 0; while (n < 1e6) n++; n", "null", kLimits).value, "1000000");
    send_stop(::pthread_self(), signal, 9);
    send_stop(::pthread_self(), signal, 0);
  }
  EXPECT_EQ(engine_->run(10, "let n = 0; while (n < 1e6) n++; n", "null", kLimits).value, "1000000");
  // Early and hard.
  send_stop(::pthread_self(), kHard, 11);
  EXPECT_EQ(engine_->run(11, kDeaf, "null", kLimits).ending, Ending::stopped);
}

// SBX-19: stops for the run before, while this one is on, do nothing.
TEST_F(StopTest, LateStopsNeverHitTheNextRun) {
  std::atomic<bool> done{false};
  std::atomic<std::uint32_t> current{1};
  const pthread_t target = ::pthread_self();
  std::thread sender([&] {
    while (!done) {
      const std::uint32_t id = current;
      if (id > 1) send_stop(target, id % 2 == 0 ? kSoft : kHard, id - 1);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  for (std::uint32_t id = 2; id < 400; ++id) {
    current = id;
    const RunResult result =
        engine_->run(id, "let n = 0; while (n < 40000) { if (++n % 1000 === 0) Date.now() } n", "null", kLimits);
    EXPECT_EQ(result.ending, Ending::ok) << id;
    EXPECT_EQ(result.value, "40000") << id;
    if (HasFailure()) break;
  }
  done = true;
  sender.join();
}

// SBX-19: hard stops at any moment, in host code too, end the run or come too late; the next run is right.
TEST_F(StopTest, HardStopsAtAnyMoment) {
#ifdef HEDDLE_UNDER_TSAN
  GTEST_SKIP() << "signals are not delivered to uninstrumented code";
#endif
  int stopped = 0;
  for (std::uint32_t round = 0; round < 300; ++round) {
    const std::uint32_t id = 2 * round + 1;
    {
      // Date.now and growth are imports: host code.
      Watchdog watchdog(id, std::nullopt, std::chrono::microseconds(round * 13));
      const RunResult result = engine_->run(
          id, "let a = [], s = 0; for (let i = 0; i < 20000; i++) { s += Date.now(); a.push('x' + i) } a.length",
          R"({"a":[1,2,3]})", kLimits);
      ASSERT_TRUE(result.ending == Ending::stopped || result.ending == Ending::ok) << result.message;
      stopped += result.ending == Ending::stopped ? 1 : 0;
    }
    ASSERT_EQ(engine_->run(id + 1, "[typeof leak, [1].map(x => x + 1)]", "null", kLimits).value,
              R"(["undefined",[2]])");
  }
  EXPECT_GT(stopped, 0);
  engine_->restore();
  EXPECT_TRUE(engine_->pristine());
}

// SBX-21: a limit is never read from text that a script can write.
TEST_F(StopTest, ForgedInterruptsAreTheScripts) {
  const RunResult forged = run("let e = new InternalError('interrupted'); throw e");
  EXPECT_EQ(forged.ending, Ending::threw);
  EXPECT_EQ(forged.name, "InternalError");
  EXPECT_EQ(run("throw new InternalError('out of memory')").ending, Ending::threw);
}

// The engine's own code going wrong: none of it is reached by a script, as far as is known.
class FaultTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(guest_.instantiate().ok());
    ASSERT_TRUE(script_.build().ok());
    ASSERT_TRUE(install_signals(guest_, kSoft, kHard).ok());
    guest_.restore();
  }
  void expect_usable() {
    guest_.restore();
    EXPECT_TRUE(guest_.pristine());
    Value value = 0;
    EXPECT_TRUE(script_.evaluate("20 + 22", value));
    EXPECT_EQ(value, 42U);
  }

  Guest guest_;
  Script script_{guest_};
};

// SBX-19: faults in the guard pages and traps end the run, not the process, and the restore mends what they did.
TEST_F(FaultTest, TrapsAndGuardPages) {
  Z_qjs_instance_t* in = guest_.instance();
  EXPECT_FALSE(guest_.enter([in] { Z_qjsZ_abort(in); }));
  EXPECT_EQ(guest_.exit(), Exit::trap);
  EXPECT_EQ(guest_.trap(), WASM_RT_TRAP_UNREACHABLE);
  // Sticky until the restore.
  EXPECT_FALSE(guest_.enter([] { FAIL() << "entered after a trap"; }));
  expect_usable();

  for (const std::uint32_t address :
       {static_cast<std::uint32_t>(guest_.memory().image_size()), 0x7fffffffU, 0xfffffff0U}) {
    EXPECT_FALSE(guest_.enter([in, address] { Z_qjsZ_strlen(in, address); }));
    EXPECT_EQ(guest_.exit(), Exit::trap);
    EXPECT_EQ(guest_.trap(), WASM_RT_TRAP_OOB);
    expect_usable();
  }

  // Corruption of everything: code that runs on it may do what it likes, the next run is right.
  const std::string junk(64 * 1024, '\xA5');
  for (std::uint64_t at = 0; at + junk.size() <= guest_.memory().image_size(); at += junk.size()) {
    ASSERT_TRUE(guest_.write(static_cast<std::uint32_t>(at), junk.data(), junk.size()));
  }
  Value value = 0;
  EXPECT_FALSE(script_.evaluate("1", value));
  expect_usable();
}

// SBX-19: recursion that passes the engine's own check by.
TEST_F(FaultTest, NativeAndShadowStackExhaustion) {
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(guest_.enter([this] { Z_qjsZ_qjs_set_max_stack_size(guest_.instance(), 0); }));
    Value value = 0;
    EXPECT_FALSE(
        script_.evaluate(i == 0 ? "JSON.parse('['.repeat(1e6))" : "function f() { return f() + 1 } f()", value));
    EXPECT_EQ(guest_.exit(), Exit::stack);
    expect_usable();
  }
}

// Pointers and lengths from the linear memory are clamped.
TEST_F(FaultTest, AddressesAreCompared) {
  const auto size = static_cast<std::uint32_t>(guest_.memory().size());
  EXPECT_EQ(guest_.view(size - 4, 4).size(), 4U);
  EXPECT_EQ(guest_.exit(), Exit::none);
  EXPECT_TRUE(guest_.view(size - 4, 5).empty());
  EXPECT_EQ(guest_.exit(), Exit::corrupt);
  guest_.restore();
  EXPECT_TRUE(guest_.view(0xffffffffU, 0xffffffffU).empty());
  EXPECT_EQ(guest_.exit(), Exit::corrupt);
  guest_.restore();
  EXPECT_FALSE(guest_.write(size, "x", 1));
  EXPECT_EQ(guest_.exit(), Exit::corrupt);
}

using FaultDeathTest = FaultTest;

// A fault that is not the engine's keeps its meaning.
TEST_F(FaultDeathTest, OtherFaultsEndTheProcess) {
#if defined(HEDDLE_UNDER_ASAN) || defined(HEDDLE_UNDER_TSAN)
  GTEST_SKIP() << "sanitizers report it in their own way";
#endif
  void* closed = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(closed, MAP_FAILED);
  EXPECT_EXIT(*static_cast<volatile char*>(closed) = 1, ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(::raise(SIGSEGV), ::testing::KilledBySignal(SIGSEGV), "");
}

// SBX-28: another thread ends a run wherever it is, without a signal, and within a built-in; each engine once.
TEST(HaltTest, EndsEveryLoopFromAnotherThread) {
  for (const char* script :
       {kDeaf, "for (;;);", "try { for (;;); } catch {} finally { for (;;); }", "/(a*)*b/.test('a'.repeat(40))",
        "Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)", "(2n ** 400000n) ** 40n",
        "new Array(2 ** 32 - 1).join('')", "'a'.repeat(2 ** 20).split('').sort(() => { for (;;); })",
        "let s = 'ab'.repeat(5e5); for (;;) s.lastIndexOf('b'.repeat(2e5) + 'a')",
        "for (;;) new Uint8Array(1e5).fill(1)", "for (;;) JSON.parse('[' + '1,'.repeat(1e4) + '1]')"}) {
    auto created = Engine::create();
    ASSERT_TRUE(created.ok()) << created.error().message();
    Engine& engine = *created.value();
    EXPECT_EQ(engine.run(1, "1 + 1", "null", kLimits).value, "2");
    std::atomic<bool> done{false};
    std::thread halter([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      for (; !done; std::this_thread::sleep_for(std::chrono::milliseconds(5))) engine.halt(2);
    });
    const RunResult result = engine.run(2, script, "null", kLimits);
    done = true;
    halter.join();
    EXPECT_EQ(result.ending, Ending::stopped) << script << " " << result.value << result.message;
  }
}

// A halt of another run does nothing.
TEST(HaltTest, IsOfOneRun) {
  auto created = Engine::create();
  ASSERT_TRUE(created.ok());
  created.value()->halt(7);
  created.value()->halt(0);
  EXPECT_EQ(created.value()->run(1, "1 + 1", "null", kLimits).value, "2");
}

}  // namespace
}  // namespace heddle::engine

// Every run starts from the same state, whatever the one before it did; and what must differ, differs.
#include <chrono>
#include <set>
#include <string>

#include "fixture.h"

namespace heddle::engine {
namespace {

class RestoreTest : public EngineTest {};

constexpr const char* kHostile[] = {
    "globalThis.leak = 1; Object.prototype.x = 2; Array.prototype.map = () => 3; delete globalThis.JSON",
    "function f() { return f() + 1 } f()",
    "let a = []; for (;;) a.push(new Array(1000).fill(7))",
    "let a = []; for (let i = 0; i < 3e4; i++) a.push({i, s: 'k' + i}); a.length",
    "new Uint8Array(3e6).fill(255).length",
    "new Uint8Array(3e7).fill(255).length",
    "let m = new Map(); for (let i = 0; i < 2e4; i++) m.set('k' + i, Symbol.for('s' + i)); m.size",
    "for (let i = 0; i < 200; i++) new Function('a' + i, 'return ' + i); 1",
    "/(a*)*b/.test('a'.repeat(26))",
    "for (;;);",
    "JSON.parse('['.repeat(1e6))",
    "Object.freeze(Object.prototype); Object.freeze(globalThis); Object.freeze(Function.prototype)",
    "for (let i = 0; i < 2000; i++) Promise.reject(i)",
    "let r = new FinalizationRegistry(() => {}); for (let i = 0; i < 1e4; i++) r.register({}, i); 1",
};

// SBX-16 (fresh per run), SBX-19: all memory, globals and table, byte by byte.
TEST_F(RestoreTest, RestoreIsExactAfterHostileRuns) {
  engine_->restore();
  ASSERT_TRUE(engine_->pristine());
  patience_ = std::chrono::milliseconds(100);
  for (int round = 0; round < 3; ++round) {
    for (const char* script : kHostile) {
      (void)run(script);
      EXPECT_FALSE(engine_->pristine()) << script;
      engine_->restore();
      EXPECT_TRUE(engine_->pristine()) << script;
    }
  }
  patience_ = std::chrono::seconds(20);
  expect_clean();
}

// SBX-16: the marks of written pages are dropped now and then; nothing is lost at the seam.
TEST_F(RestoreTest, RestoreIsExactOverManyRuns) {
  std::string hot = "let a = []; for (let i = 0; i < 300; i++) a.push({i}); a.length";
  for (std::uint32_t i = 0; i < 1200; ++i) {
    const RunResult result = engine_->run(1'000'000 + i, i % 7 == 0 ? kHostile[0] : hot, "null", kLimits);
    ASSERT_EQ(result.ending, Ending::ok);
    engine_->restore();
    ASSERT_TRUE(engine_->pristine()) << i;
  }
}

// SBX-16: without the handlers the whole image is copied.
TEST(PlainRestoreTest, RestoreIsExactWithoutHandlers) {
  auto created = Engine::create();
  ASSERT_TRUE(created.ok()) << created.error().message();
  Engine& engine = *created.value();
  EXPECT_TRUE(engine.pristine());
  for (std::uint32_t id = 1; id < 4; ++id) {
    EXPECT_EQ(engine.run(id, "globalThis.leak = new Uint8Array(3e6).fill(1); 1", "null", kLimits).value, "1");
    EXPECT_FALSE(engine.pristine());
    EXPECT_EQ(engine.run(id + 100, "typeof leak", "null", kLimits).value, "\"undefined\"");
    engine.restore();
    EXPECT_TRUE(engine.pristine());
  }
}

// SBX-16: a restored engine is seeded anew.
TEST_F(RestoreTest, RandomNumbersDiffer) {
  std::set<std::string> seen;
  for (int i = 0; i < 50; ++i) seen.insert(run("Math.random()").value);
  EXPECT_EQ(seen.size(), 50U);
}

// SBX-16: the time is that of the run.
TEST_F(RestoreTest, ClockIsLive) {
  const auto now = [] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  for (int i = 0; i < 3; ++i) {
    const auto before = now();
    const auto shown = std::stoll(run("Date.now()").value);
    EXPECT_GE(shown, before);
    EXPECT_LE(shown, now());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(
      run("let a = Date.now(), b = a, n = 0; while (b === a && n < 1e7) { b = Date.now(); n++ } b - a >= 1").value,
      "true");
  EXPECT_EQ(run("new Date(2e12).getTimezoneOffset()").value, "0");
}

}  // namespace
}  // namespace heddle::engine

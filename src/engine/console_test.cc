// The console, and locale methods that refuse what they would ignore.
#include <string>
#include <vector>

#include "fixture.h"
#include "heddle/core/text.h"

namespace heddle::engine {
namespace {

struct Lines final : ConsoleSink {
  void line(ConsoleLevel level, std::string_view text, bool was_cut) noexcept override {
    EXPECT_FALSE(cut) << "a line after the cut";
    EXPECT_TRUE(core::valid_utf8(text));
    EXPECT_EQ(text.find('\0'), std::string_view::npos);
    levels.push_back(level);
    texts.emplace_back(text);
    bytes += text.size();
    cut = was_cut;
  }
  std::vector<ConsoleLevel> levels;
  std::vector<std::string> texts;
  std::size_t bytes = 0;
  bool cut = false;
};

class ConsoleTest : public EngineTest {
 protected:
  RunResult speak(const std::string& script, const Limits& limits = kLimits) {
    lines_.texts.clear();
    lines_.levels.clear();
    lines_.bytes = 0;
    lines_.cut = false;
    const std::uint32_t id = next_id_++;
    Watchdog watchdog(id, patience_, std::chrono::milliseconds(200));
    return engine_->run(id, script, "[1,2]", limits, &lines_);
  }
  void expect_line(const std::string& arguments, const std::string& text) {
    const RunResult result = speak("console.log(" + arguments + "); 7");
    EXPECT_EQ(result.value, "7") << arguments << ": " << result.message;
    EXPECT_EQ(lines_.texts, std::vector<std::string>{text}) << arguments;
  }
  Lines lines_;
};

// SBX-25
TEST_F(ConsoleTest, FiveLevelsInOrder) {
  const RunResult result =
      speak("for (const level of ['log','info','warn','error','debug']) console[level](level); input.length");
  EXPECT_EQ(result.value, "2");
  EXPECT_EQ(lines_.texts, (std::vector<std::string>{"log", "info", "warn", "error", "debug"}));
  EXPECT_EQ(lines_.levels, (std::vector<ConsoleLevel>{ConsoleLevel::log, ConsoleLevel::info, ConsoleLevel::warn,
                                                      ConsoleLevel::error, ConsoleLevel::debug}));
  EXPECT_FALSE(lines_.cut);
  EXPECT_EQ(speak("typeof console.log('x')").value, R"("undefined")");
}

// SBX-25
TEST_F(ConsoleTest, ValuesAreReadable) {
  expect_line("'rows', input.length, {a: [1]}", "rows 2 {a: [1]}");
  expect_line("", "");
  expect_line("'a\\nb'", "a\nb");
  expect_line("['a\\nb', , null, undefined, true]", R"(["a\nb", empty, null, undefined, true])");
  expect_line("-0, 1.5, NaN, 10n, Symbol('s'), x => x, function named() {}",
              "-0 1.5 NaN 10n Symbol(s) [function ] [function named]");
  expect_line("{'a-b': 1, [Symbol('k')]: 2, get g() { throw 1 }}", R"({"a-b": 1, g: [accessor], [Symbol(k)]: 2})");
  expect_line("new Map([[1, {b: 2}]]), new Set(['x']), new Date(0), new Uint8Array(3)",
              R"(Map {1 => {b: 2}} Set {"x"} 1970-01-01T00:00:00.000Z Uint8Array [0, 0, 0])");
  expect_line("(() => { const a = {}; a.self = a; return a })()", "{self: [circular]}");
  expect_line("[[[[[[[1]]]]]]]", "[[[[[[…]]]]]]");
  expect_line("'%s is %d%% of %j', 'x', '5', {a: 1}, 'more'", "x is 5% of {a: 1} more");
  expect_line("'100%', 1", "100% 1");
  expect_line("'a\\uD800b\\0c'",
              "a\xEF\xBF\xBD"
              "b\xEF\xBF\xBD"
              "c");
  speak("console.error(new TypeError('odd', {cause: new Error('inner')}))");
  ASSERT_EQ(lines_.texts.size(), 1U);
  for (const char* words : {"TypeError: odd", "script.js:1", "cause: Error: inner"}) {
    EXPECT_NE(lines_.texts[0].find(words), std::string::npos) << lines_.texts[0];
  }
}

// SBX-25: bounded, marked, and anew for every run.
TEST_F(ConsoleTest, AFloodIsCut) {
  for (const char* flood :
       {"for (let i = 0; i < 1e5; i++) console.log('x'.repeat(100)); 1",
        "for (let i = 0; i < 1e5; i++) console.log(); 1", "console.log('x'.repeat(1e6)); 1",
        "console.log('\\u20ac'.repeat(1e5)); 1", "console.log(new Array(1e6).fill('abc'.repeat(1000))); 1",
        "console.log('\\0'.repeat(65500)); 1",
        "console.log(Array.from({length: 200}, () => Array.from({length: 200}, () => 'x'.repeat(99)))); 1"}) {
    const RunResult result = speak(flood);
    EXPECT_EQ(result.value, "1") << flood << result.message;
    EXPECT_TRUE(lines_.cut) << flood;
    EXPECT_LE(lines_.bytes + (lines_.texts.size() - 1) * kConsoleLineBytes, std::size_t{64} << 10) << flood;
  }
  EXPECT_EQ(speak("console.log('again'); 1").value, "1");
  EXPECT_EQ(lines_.texts, std::vector<std::string>{"again"});
  Limits small = kLimits;
  small.console_bytes = 30;
  EXPECT_EQ(speak("console.log('0123456789abcdef'); console.log('y'); 1", small).value, "1");
  EXPECT_EQ(lines_.texts, std::vector<std::string>{"0123456789abcd"});
  EXPECT_TRUE(lines_.cut);
  EXPECT_EQ(run("console.log('nobody listens'); 1").value, "1");
}

// SBX-25: kept however the run ends.
TEST_F(ConsoleTest, ItIsKeptWhenTheRunEndsEarly) {
  EXPECT_EQ(speak("console.log('a'); null.x").ending, Ending::threw);
  EXPECT_EQ(lines_.texts, std::vector<std::string>{"a"});
  EXPECT_EQ(speak("console.log('b'); let a = []; for (;;) a.push(new Array(1000))").ending, Ending::memory);
  EXPECT_EQ(lines_.texts, std::vector<std::string>{"b"});
  patience_ = std::chrono::milliseconds(300);
  EXPECT_EQ(speak("console.log('c'); for (;;);").ending, Ending::stopped);
  EXPECT_EQ(lines_.texts, std::vector<std::string>{"c"});
  EXPECT_EQ(speak("console.log('d'); for (;;) console.log('e')").ending, Ending::stopped);
  EXPECT_EQ(lines_.texts.front(), "d");
  expect_clean();
}

// SBX-25: nothing that a script does to its world, or hands over, makes a console that throws or calls it.
TEST_F(ConsoleTest, HostileValuesChangeNoOutcome) {
  for (const char* script :
       {"console.log({get x() { throw 1 }, toString() { throw 2 }, toJSON() { throw 3 }}); 1",
        "console.log(new Proxy({}, {ownKeys() { throw 1 }})); 1",
        "console.log(new Proxy([], {getOwnPropertyDescriptor() { throw 1 }})); 1",
        "const r = Proxy.revocable({}, {}); r.revoke(); console.log(r.proxy); 1",
        "const e = new Error('x'); Object.defineProperty(e, 'stack', {get() { throw 1 }}); console.log(e); 1",
        "Array.prototype[Symbol.iterator] = () => { throw 1 }; console.log('a', [1]); 1",
        "String.prototype.slice = () => { throw 1 }; JSON.stringify = () => { throw 2 }; console.log('a', ['b']); 1",
        "for (const k of ['text', 'room', 'object', 'up', 'depth', '0', 'get', 'value'])"
        "  Object.defineProperty(Object.prototype, k, {get() { throw k }, set() { throw k }}); console.log('a', {b: "
        "1}); 1",
        "Function.prototype.call = Function.prototype.apply = () => { throw 1 }; console.log('a'); 1",
        "Object.freeze(Object.prototype); console.log({a: 1}); 1", "console.log(Object.create(null)); 1",
        "const p = new Proxy({}, {ownKeys() { console.log('inner'); return [] }}); console.log(p); 1",
        "globalThis.String = globalThis.Number = null; console.log('%d', 1); 1"}) {
    const RunResult result = speak(script);
    EXPECT_EQ(result.ending, Ending::ok) << script << ": " << result.message;
    EXPECT_EQ(result.value, "1") << script;
    EXPECT_FALSE(lines_.texts.empty()) << script;
  }
  expect_clean();
}

// SBX-27: an argument that would be ignored is refused; without it the methods are as they were.
TEST_F(ConsoleTest, LocalesAndTheirOptionsAreRefused) {
  for (const char* call :
       {"new Date(0).toLocaleString('en-US', {timeZone: 'America/New_York'})",
        "new Date(0).toLocaleDateString('de-DE')", "new Date(0).toLocaleTimeString(undefined, {hour12: true})",
        "(12.5).toLocaleString('en-US', {style: 'currency'})", "10n.toLocaleString('de')", "[1.5].toLocaleString('de')",
        "new Float64Array(1).toLocaleString('de')", "'a'.localeCompare('b', 'sv')",
        "'a'.localeCompare('b', undefined, {numeric: true})", "'I'.toLocaleLowerCase('tr')",
        "'i'.toLocaleUpperCase('tr')"}) {
    const RunResult result = run(call);
    EXPECT_EQ(result.ending, Ending::threw) << call << result.value;
    EXPECT_EQ(result.name, "RangeError") << call;
    EXPECT_EQ(result.line, 1U) << call;
  }
  for (const char* call :
       {"new Date(0).toLocaleString().length > 0", "(12.5).toLocaleString() === '12.5'",
        "10n.toLocaleString() === '10'", "[1.5, 2].toLocaleString(undefined) === '1.5,2'",
        "'a'.localeCompare('b') === -1", "'I'.toLocaleLowerCase() === 'i'",
        "String.prototype.localeCompare.length === 1", "Date.prototype.toLocaleString.name === 'toLocaleString'"}) {
    EXPECT_EQ(run(call).value, "true") << call;
  }
}

}  // namespace
}  // namespace heddle::engine

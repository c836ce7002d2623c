// What a script sees and what comes back: values, promises, errors, limits.
#include "fixture.h"
#include "heddle/core/text.h"

namespace heddle::engine {
namespace {

class ValuesTest : public EngineTest {
 protected:
  void expect_value(std::string_view script, std::string_view value, std::string_view input = "null") {
    const RunResult result = run(script, input);
    EXPECT_EQ(result.ending, Ending::ok) << script << ": " << result.message;
    EXPECT_EQ(result.value, value) << script;
  }
  RunResult expect_threw(std::string_view script, std::string_view name, std::string_view message) {
    RunResult result = run(script);
    EXPECT_EQ(result.ending, Ending::threw) << script << ": " << result.value;
    EXPECT_EQ(result.name, name) << script;
    EXPECT_EQ(result.has_name, !name.empty()) << script;
    EXPECT_EQ(result.message, message) << script;
    return result;
  }
};

// SBX-3
TEST_F(ValuesTest, CompletionValueIsTheResult) {
  expect_value("1 + 1", "2");
  expect_value("input.a[1].b", "\"x\"", R"({"a":[0,{"b":"x"}]})");
  expect_value("if (input > 1) { 'big' } else { 'small' }", "\"big\"", "2");
  expect_value("var x = 5", "null");
  expect_value("", "null");
  expect_value("let input = 5; input", "5");
  expect_value("with ({a: 1}) { a }", "1");
  expect_value("this === globalThis", "true");
}

// SBX-14, SBX-15
TEST_F(ValuesTest, ResultIsJson) {
  expect_value("[undefined, () => 1, Symbol(), NaN, -1/0]", "[null,null,null,null,null]");
  expect_value("Symbol()", "null");
  expect_value("({toJSON() { return undefined }})", "null");
  expect_value("new Map([[1, 2]])", "{}");
  expect_value("new Date(0)", "\"1970-01-01T00:00:00.000Z\"");
  expect_value("'\\u0000'", "\"\\u0000\"");
  expect_value("JSON.parse('{\"__proto__\":1}')", R"({"__proto__":1})");
  expect_value("JSON.stringify = () => 'evil'; Object.prototype.toJSON = () => 'evil'; 1", "1");
}

// SBX-15: no lone surrogate, escaped or not, in values or keys; what is a character stays.
TEST_F(ValuesTest, ResultIsStorable) {
  expect_value("['a\\ud800b', '\\udc00', '\\u{1F600}', '\\\\ud800']",
               "[\"a\xEF\xBF\xBD"
               "b\",\"\xEF\xBF\xBD\",\"\xF0\x9F\x98\x80\",\"\\\\ud800\"]");
  expect_value("({'\\ud83d': 1})", "{\"\xEF\xBF\xBD\":1}");
  EXPECT_EQ(run("typeof JSON.rawJSON").value, "\"undefined\"");
}

// SBX-3
TEST_F(ValuesTest, PromisesAreAwaitedAndThenablesAreNot) {
  expect_value("Promise.resolve(41).then(x => x + 1)", "42");
  expect_value("(async () => { await null; return input })()", "[1]", "[1]");
  expect_value("({then(r) { r(7) }})", "{}");
  expect_value("Promise.resolve({then(r) { r(7) }})", "7");
  expect_value("let o = {n: 0}; Promise.resolve().then(() => { o.n = 3 }); o", R"({"n":3})");
  expect_threw("Promise.reject(new RangeError('no'))", "RangeError", "no");
  expect_threw("new Promise(() => {})", "",
               "the script's promise can never settle: nothing is left that could resolve or reject it");
}

// SBX-4: a rejection that nobody handled is the script's error, whatever it gave back.
TEST_F(ValuesTest, UnhandledRejectionsCount) {
  expect_threw("Promise.reject(new TypeError('lost')); 1", "TypeError", "lost");
  expect_threw("queueMicrotask(() => { throw new Error('late') }); 1", "Error", "late");
  expect_value("let p = Promise.reject(1); Promise.resolve().then(() => p.catch(() => 0)); 2", "2");
  expect_threw("for (let i = 0; i < 5000; i++) Promise.reject(i); 1", "", "0");
  expect_value(
      "let a = []; for (let i = 0; i < 5000; i++) a.push(Promise.reject(i)); for (const p of a) p.catch(() => 0); 3",
      "3");
  EXPECT_EQ(run("let a = []; for (let i = 0; i < 5000; i++) a.push(Promise.reject(i));"
                "a.slice(0, 4999).forEach(p => p.catch(() => 0)); 1")
                .ending,
            Ending::threw);
}

// SBX-4, SBX-6
TEST_F(ValuesTest, ErrorsSayWhere) {
  RunResult result = expect_threw("\nfunction f() { throw new RangeError('r') }\n f()", "RangeError", "r");
  EXPECT_EQ(result.line, 2U);
  EXPECT_EQ(result.column, 26U);
  result = expect_threw("1;\n\n  let let = ;", "SyntaxError", "'let' is not a valid lexical identifier");
  EXPECT_EQ(result.line, 3U);
  EXPECT_GT(result.column, 0U);
  result = expect_threw("throw 'plain'", "", "plain");
  EXPECT_EQ(result.line, 0U);
  result = run("Error.prepareStackTrace = () => 'script.js:99:7'; throw new Error('forged')");
  EXPECT_EQ(result.message, "forged");
  EXPECT_EQ(result.line, 0U);
}

// SBX-4, SBX-6, SBX-21
TEST_F(ValuesTest, HostileErrorsAreRead) {
  expect_threw("throw {__proto__: null}", "", "an object was thrown that is no Error and has no message");
  expect_threw("throw null", "", "null was thrown");
  expect_threw("throw undefined", "", "undefined was thrown");
  expect_threw("throw Symbol('s')", "", "a symbol was thrown");
  expect_threw("throw () => 1", "", "a function was thrown");
  expect_threw("throw 12n", "", "12");
  expect_threw("throw {code: 42}", "", "{\"code\":42}");
  expect_threw("throw {name: 'Mine', message: 'said'}", "Mine", "said");
  expect_threw("let e = new Error('m'); e.name = Symbol(); throw e", "", "m");
  expect_threw("let e = new Error('m'); e.message = {}; throw e", "Error", "");
  expect_threw("throw new Proxy(new Error('x'), {get() { throw 1 }})", "",
               "an object was thrown that is no Error and has no message");
  expect_threw("throw {toString() { throw 1 }, get name() { throw 2 }, get message() { throw 3 }}", "",
               "an object was thrown that is no Error and has no message");
  expect_threw("throw new Error('a\\0b\\ud800')", "Error",
               "a\xEF\xBF\xBD"
               "b\xEF\xBF\xBD");
  expect_threw("throw new InternalError('interrupted')", "InternalError", "interrupted");
  patience_ = std::chrono::milliseconds(100);
  EXPECT_EQ(run("throw {get message() { for (;;); }}").ending, Ending::stopped);
  EXPECT_EQ(run("throw {get name() { new ArrayBuffer(1e9) }}").ending, Ending::memory);
}

// SBX-6
TEST_F(ValuesTest, ErrorTextIsBounded) {
  const RunResult result = run("let e = new Error('\\u{1F600}'.repeat(1e6)); e.name = 'n'.repeat(1e6); throw e");
  EXPECT_EQ(result.ending, Ending::threw);
  EXPECT_EQ(core::utf16_units(result.message), core::kMaxGuestTextUnits);
  EXPECT_EQ(core::utf16_units(result.name), core::kMaxGuestTextUnits);
  EXPECT_TRUE(core::valid_utf8(result.message));
}

// SBX-14
TEST_F(ValuesTest, WhatJsonCannotCarryIsExplained) {
  const RunResult big = run("({a: 10n})");
  EXPECT_EQ(big.name, "TypeError");
  EXPECT_EQ(big.message.rfind("the result cannot be written as JSON: ", 0), 0U) << big.message;
  const RunResult cycle = run("let a = {}; a.a = a; a");
  EXPECT_EQ(cycle.name, "TypeError");
  EXPECT_NE(cycle.message.find("circular"), std::string::npos) << cycle.message;
}

// SBX-19
TEST_F(ValuesTest, ModulesAreRefused) {
  EXPECT_EQ(run("import('std')").ending, Ending::threw);
  EXPECT_EQ(run("import * as std from 'std'").name, "SyntaxError");
  expect_value("import('data:text/javascript,1').then(() => 'in', () => 'refused')", "\"refused\"");
}

// SBX-3: the list in docs/guide/javascript.md.
TEST_F(ValuesTest, GlobalsArePinned) {
  const RunResult result = run("Object.getOwnPropertyNames(globalThis).sort().join(' ')");
  EXPECT_EQ(
      result.value,
      "\"AggregateError Array ArrayBuffer AsyncDisposableStack BigInt BigInt64Array BigUint64Array Boolean DataView "
      "Date DisposableStack Error EvalError FinalizationRegistry Float16Array Float32Array Float64Array Function "
      "Infinity Int16Array Int32Array Int8Array InternalError Iterator JSON Map Math NaN Number Object Promise "
      "Proxy RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer String SuppressedError Symbol "
      "SyntaxError TypeError URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet "
      "console decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval globalThis input isFinite isNaN "
      "parseFloat parseInt queueMicrotask undefined unescape\"");
}

// SBX-14, SBX-21: exactly at the ceiling passes, one byte more does not.
TEST_F(ValuesTest, OutputCeilingIsExact) {
  for (const char* script : {"'x'.repeat(98)", "['x'.repeat(96)]", "({a: 'x'.repeat(92)})", "['\\u00fc'.repeat(48)]"}) {
    EXPECT_EQ(run(script, "null", {kLimits.memory_bytes, 100}).ending, Ending::ok) << script;
    const RunResult over = run(script, "null", {kLimits.memory_bytes, 99});
    EXPECT_EQ(over.ending, Ending::output) << script;
    EXPECT_TRUE(over.value.empty());
  }
  EXPECT_EQ(run("undefined", "null", {kLimits.memory_bytes, 4}).value, "null");
  EXPECT_EQ(run("undefined", "null", {kLimits.memory_bytes, 3}).ending, Ending::output);
  EXPECT_EQ(run("'x'.repeat(5e7)").ending, Ending::output);
}

// SBX-4, SBX-21
TEST_F(ValuesTest, MemoryCeilingHoldsAndCannotBeCaught) {
  const std::uint64_t image = engine_->image_bytes();
  const char* script = "let b = new ArrayBuffer(4 << 20); b.byteLength";
  EXPECT_EQ(run(script, "null", {image + (5U << 20), 1024}).value, "4194304");
  EXPECT_EQ(run(script, "null", {image + (3U << 20), 1024}).ending, Ending::memory);
  EXPECT_EQ(run("1", "null", {image, 1024}).value, "1");
  EXPECT_EQ(run("1", "null", {0, 1024}).value, "1");
  EXPECT_EQ(run("try { new ArrayBuffer(1e9) } catch (e) {} 'went on'").ending, Ending::memory);
  EXPECT_EQ(run("(async () => { try { new ArrayBuffer(1e9) } finally { return 1 } })()").ending, Ending::memory);
  EXPECT_EQ(run("let a = []; for (;;) { try { a.push(new Uint8Array(1e5)) } catch (e) {} }").ending, Ending::memory);
  expect_clean();
}

// SBX-4: the script did not run.
TEST_F(ValuesTest, InputThatDoesNotFitIsToldApart) {
  const std::string big = "[" + std::string(3U << 20, ' ') + "\"" + std::string(3U << 20, 'x') + "\"]";
  EXPECT_EQ(run("input.length", big, {engine_->image_bytes() + (2U << 20), 1024}).ending, Ending::input_too_large);
  EXPECT_EQ(run("input[0].length", big).value, "3145728");
  EXPECT_EQ(run("1", std::string(1'000'000, '[')).ending, Ending::input_too_large);
  const RunResult bad = run("1", "[1,");
  EXPECT_EQ(bad.ending, Ending::threw);
  EXPECT_EQ(bad.message.rfind("the input is not JSON: ", 0), 0U) << bad.message;
  expect_clean();
}

// SBX-4: recursion ends as an error that a script can catch.
TEST_F(ValuesTest, DeepRecursionThrows) {
  const char* message = "Maximum call stack size exceeded";
  expect_threw("function f() { return f() + 1 } f()", "RangeError", message);
  expect_threw("JSON.parse('['.repeat(1e6))", "RangeError", message);
  expect_threw("eval('('.repeat(1e6))", "RangeError", message);
  expect_threw("let a = []; for (let i = 0; i < 2e5; i++) a = [a]; a", "RangeError", message);
  EXPECT_EQ(run("new RegExp('('.repeat(1e6))").name, "SyntaxError");
  EXPECT_EQ(run("new RegExp('(?:'.repeat(1e6))").name, "SyntaxError");
  expect_value("function f(n) { return n ? 1 + f(n - 1) : 0 } f(1000)", "1000");
  expect_value("let d = 0; function f() { d++; f() } try { f() } catch (e) { e.name }", "\"RangeError\"");
  expect_clean();
}

}  // namespace
}  // namespace heddle::engine

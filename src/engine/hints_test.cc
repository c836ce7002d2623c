// What a failure tells its author, and what a result without a value does.
// SBX-26
#include "hints.h"

#include <string>
#include <vector>

#include "fixture.h"
#include "heddle/core/text.h"

namespace heddle::engine {
namespace {

struct Row {
  const char* script;
  const char* words;
};

class HintsTest : public EngineTest {
 protected:
  void expect_hint(const Row& row) {
    const RunResult result = run(row.script, "[1]");
    EXPECT_EQ(result.ending, Ending::threw) << row.script;
    if (*row.words == '\0') {
      EXPECT_EQ(result.hint, "") << row.script;
    } else {
      EXPECT_NE(result.hint.find(row.words), std::string::npos) << row.script << ": " << result.message << result.hint;
    }
  }
};

TEST_F(HintsTest, AScriptThatDoesNotParse) {
  for (const Row& row : std::vector<Row>{{"return input.length", "last expression"},
                                         {"if (input) { return 1 }", "last expression"},
                                         {"const r = await f()", "async"},
                                         {"async function f() {}\nawait f()", "async"},
                                         {"for await (const x of input) {}", "async"},
                                         {"import x from 'y'", "bundle"},
                                         {"import { a } from 'b'", "bundle"},
                                         {"import 'y'", "bundle"},
                                         {"import * as z from 'y'", "bundle"},
                                         {"1;\nexport const a = 1", "last expression"},
                                         {"export default input", "last expression"},
                                         {"const n: number = 1", "TypeScript"},
                                         {"let \xC3\xBC = 1; let n: string", "TypeScript"},
                                         {"function f(a: string) {}", "TypeScript"},
                                         {"function f(a?: string) {}", "TypeScript"},
                                         {"const f = (x): number => x", "TypeScript"},
                                         {"interface A { x: number }", "TypeScript"},
                                         {"type A = string", "TypeScript"},
                                         {"enum E { A }", "TypeScript"},
                                         {"class A { private x = 1 }", "TypeScript"},
                                         {"class A { x: number = 1 }", "TypeScript"},
                                         {"input as any", "TypeScript"},
                                         {"const a = input!; a", "TypeScript"},
                                         {"function f<T>(x) {}", "TypeScript"},
                                         {"{a: 1, b: 2}", "parentheses"},
                                         {"a b", ""},
                                         {"(", ""}}) {
    expect_hint(row);
  }
  expect_hint({std::string(100'000, '(').append("1").append(100'000, ')').c_str(), "parse"});
}

TEST_F(HintsTest, NamesThatOtherHostsHave) {
  for (const char* name :
       {"require", "process", "fetch", "window", "document", "Buffer", "setTimeout", "Intl", "URL"}) {
    expect_hint({(std::string(name) + ".x").c_str(), "not there"});
    expect_hint({(std::string("try { ") + name + "() } catch (e) { throw e }").c_str(), name});
  }
  for (const char* name : {"$input", "$json", "items"}) expect_hint({name, "global input"});
  expect_hint({"module.exports = 1", "last expression"});
  expect_hint({"exports.a = 1", "last expression"});
  expect_hint({"import('x')", "bundle"});
  expect_hint({"nobodyKnows()", ""});
}

TEST_F(HintsTest, WhatIsThrownAtRunTime) {
  for (const Row& row : std::vector<Row>{{"JSON.parse('<html>')", "JSON.parse"},
                                         {"eval('{')", "the script itself was parsed"},
                                         {"function f() { return f() } f()", "nested calls"},
                                         {"console.table([])", "log, info, warn, error and debug"},
                                         {"null.x", ""},
                                         {"throw new Error('require is not defined')", ""},
                                         {"throw 'return not in a function'", ""}}) {
    expect_hint(row);
  }
}

// A forged error chooses among the texts at most; none of its own words comes out of a hint.
TEST_F(HintsTest, AForgedErrorSaysNothingOfItsOwn) {
  const RunResult result = run("throw new ReferenceError('require ignore all rules')");
  EXPECT_EQ(result.hint.find("ignore"), std::string::npos);
  const RunResult syntax = run("throw new SyntaxError('return not in a function')");
  EXPECT_EQ(syntax.hint.find("last expression"), std::string::npos);
}

TEST_F(HintsTest, WhatWasCalledHasItsName) {
  for (const Row& row : std::vector<Row>{{"input.foo()", "input.foo is not a function"},
                                         {"let q = 5; q()", "q is not a function"},
                                         {"/* \xE2\x82\xAC */ Math.foo(1)", "Math.foo is not a function"},
                                         {"new input()", "input is not a constructor"},
                                         {"({}).a()", "\xE2\x80\xA6.a is not a function"},
                                         {"input.map(3)", "not a function"},
                                         {"throw TypeError('not a function')", "not a function"},
                                         {"throw new TypeError('not a function')", "not a function"}}) {
    const RunResult result = run(row.script, "[1]");
    EXPECT_EQ(result.ending, Ending::threw);
    EXPECT_EQ(result.message, row.words) << row.script;
  }
  EXPECT_EQ(callee_at("", 1, 1), "");
  EXPECT_EQ(callee_at("a", 0, 0), "");
  EXPECT_EQ(callee_at("a", 9, 9), "");
  EXPECT_EQ(callee_at("\xFF\xFF.a()", 1, 3), "\xE2\x80\xA6.a");
  EXPECT_EQ(callee_at(std::string(5000, 'a'), 1, 1), "");
}

TEST_F(HintsTest, CausesAndErrorsAreInTheMessage) {
  const auto message = [this](const char* script) { return run(script).message; };
  EXPECT_EQ(message("throw new Error('outer', {cause: new TypeError('inner', {cause: 'text'})})"),
            "outer; caused by TypeError: inner; caused by text");
  EXPECT_EQ(message("throw new AggregateError([new Error('a'), 'b', {message: 'c'}])"), "Error: a; b; c");
  EXPECT_EQ(message("throw new AggregateError([1, 2], 'all')"), "all; 1; 2");
  EXPECT_EQ(message("Promise.any([Promise.reject(new Error('x'))])").substr(0, 3) == "All" ||
                message("Promise.any([Promise.reject(new Error('x'))])").find("Error: x") != std::string::npos,
            true);
  EXPECT_NE(message("throw new AggregateError(Array(100).fill(1))").find("and 92 more"), std::string::npos);
  EXPECT_EQ(message("const e = new Error('self'); e.cause = e; throw e").rfind("self; caused by", 0), 0U);
  EXPECT_LE(core::utf16_units(message("throw new Error('a'.repeat(9e3), {cause: new Error('b'.repeat(9e3))})")), 2048U);
  for (const char* hostile :
       {"throw Object.defineProperty(new Error('m'), 'cause', {get() { throw 1 }})",
        "const e = new AggregateError([], 'm'); e.errors = {length: 1e9, get 0() { throw 1 }}; throw e",
        "const e = new AggregateError([], 'm'); e.errors = {length: -5}; throw e",
        "const e = new AggregateError([], 'm'); e.errors = {length: NaN}; throw e",
        "const e = new AggregateError([], 'm'); e.errors = new Proxy([], {get() { throw 1 }}); throw e"}) {
    const RunResult result = run(hostile);
    EXPECT_EQ(result.ending, Ending::threw) << hostile;
    EXPECT_EQ(result.message.rfind('m', 0), 0U) << hostile << result.message;
  }
  patience_ = std::chrono::milliseconds(300);
  EXPECT_EQ(run("throw Object.defineProperty(new Error('m'), 'cause', {get() { for (;;); }})").ending, Ending::stopped);
  expect_clean();
}

TEST_F(HintsTest, AResultThatIsNoneIsNoted) {
  for (const Row& row : std::vector<Row>{{"(data) => data.length", "function"},
                                         {"function f() {}", "last statement"},
                                         {"const a = 1", "last statement"},
                                         {"", "last statement"},
                                         {"(async () => {})()", "last statement"},
                                         {"Symbol('x')", "symbol"},
                                         {"class A {}; A", "function"},
                                         {"null", ""},
                                         {"NaN", ""},
                                         {"0", ""}}) {
    const RunResult result = run(row.script);
    EXPECT_EQ(result.ending, Ending::ok) << row.script;
    if (*row.words == '\0') {
      EXPECT_EQ(result.note, "") << row.script;
    } else {
      EXPECT_EQ(result.value, "null");
      EXPECT_NE(result.note.find(row.words), std::string::npos) << row.script << ": " << result.note;
    }
  }
}

}  // namespace
}  // namespace heddle::engine

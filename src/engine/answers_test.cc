// The answers that the engine as it comes gets wrong, and cmake/engine_edits.cmake mends. Each line compares two ways
// to the same answer, or gives what the standard says. SBX-27
#include <string>
#include <vector>

#include "fixture.h"

namespace heddle::engine {
namespace {

class AnswersTest : public EngineTest {
 protected:
  void expect_true(const std::string& expression) {
    const RunResult result = run(kRopes + expression);
    EXPECT_EQ(result.ending, Ending::ok) << expression << ": " << result.message;
    EXPECT_EQ(result.value, "true") << expression;
  }
  void expect_value(const std::string& script, const std::string& value) {
    const RunResult result = run(script);
    EXPECT_EQ(result.ending, Ending::ok) << script << ": " << result.message;
    EXPECT_EQ(result.value, value) << script;
  }

  // Two ropes, new at each call, and the flat strings of the same text.
  const std::string kRopes =
      "const part = 'ab,'.repeat(400), digits = '12'.repeat(600);"
      "const rope = () => part + 'x' + part, flat = [part, 'x', part].join('');"
      "const number = () => digits + digits, flatNumber = [digits, digits].join('');";
};

TEST_F(AnswersTest, JoinedStringsAreEqualToStringsOfTheSameText) {
  for (const char* expression : {"rope() == flat",
                                 "flat == rope()",
                                 "rope() == rope()",
                                 "!(rope() != flat)",
                                 "!(flat != rope())",
                                 "rope() === flat",
                                 "rope() != flat + 'x'",
                                 "!(rope() == flat.slice(1) + 'b')",
                                 "new String(rope()) == flat",
                                 "[rope()] == flat",
                                 "flat == [rope()]",
                                 "({ toString: rope }) == flat",
                                 "rope() == new String(flat)",
                                 "(x => { x += rope(); return x == flat })('')",
                                 "rope() != null",
                                 "rope() != undefined",
                                 "rope() != 1",
                                 "(() => { switch (rope()) { case flat: return true } })()",
                                 "number() == BigInt(flatNumber)",
                                 "BigInt(flatNumber) == number()",
                                 "[flat].includes(rope())",
                                 "new Set([flat, rope()]).size === 1"}) {
    expect_true(expression);
  }
}

TEST_F(AnswersTest, JoinedDigitsCompareWithBigInts) {
  for (const char* expression :
       {"BigInt(flatNumber) + 1n > number()", "number() < BigInt(flatNumber) + 1n", "BigInt(flatNumber) <= number()",
        "number() >= BigInt(flatNumber)", "!(BigInt(flatNumber) < number())", "!(number() > BigInt(flatNumber))",
        "!(rope() < 1n)", "!(1n <= rope())", "rope() < flat + 'a'", "!(rope() < flat)"}) {
    expect_true(expression);
  }
}

TEST_F(AnswersTest, SpreadAndRestTakeTheCharactersOfAString) {
  expect_value("({...'ab'})", R"({"0":"a","1":"b"})");
  expect_value("({x: 1, ...'ab', 1: 2})", R"({"0":"a","1":2,"x":1})");
  expect_value("const {0: first, ...rest} = 'abc'; [first, rest]", R"(["a",{"1":"b","2":"c"}])");
  expect_value("(({length, ...rest}) => [length, rest])('ab')", R"([2,{"0":"a","1":"b"}])");
  expect_value("({...new String('a'), ...1, ...true, ...null, ...undefined, ...1n, ...Symbol.iterator})",
               R"({"0":"a"})");
  expect_true("Object.keys({...rope()}).length === flat.length");
}

TEST_F(AnswersTest, ACatchBlockBeginsWithoutACompletionValue) {
  const std::vector<std::pair<const char*, const char*>> table = {
      {"try { 1; JSON.parse('{') } catch {}", "null"},
      {"try { 1; throw 0 } catch (e) {}", "null"},
      {"try { 1; throw 0 } catch ({}) { let x = 2 }", "null"},
      {"try { 1; throw 0 } catch { 2 }", "2"},
      {"try { 1 } catch { 2 }", "1"},
      {"try { 1; throw 0 } catch {} finally { 3 }", "null"},
      {"try { 1; throw 0 } catch { 2 } finally { 3 }", "2"},
      {"try { 1 } finally { 2 }", "1"},
      {"5; try { throw 0 } catch {}", "null"},
      {"do { 1; try { 2; throw 0 } catch { break } } while (false)", "null"},
      {"do { 1; try { 2; throw 0 } catch { 3; continue } } while (false)", "3"},
      {"for (let i = 0; i < 3; i++) { try { if (i === 1) throw 0; i } catch {} }", "2"},
      {"for (let i = 0; i < 3; i++) { try { i; if (i === 2) throw 0 } catch {} }", "null"},
      {"try { 1; try { 2; throw 0 } finally { 3 } } catch {}", "null"},
      {"eval('try { 1; throw 0 } catch {}')", "null"},
      {"'use strict'; try { 1; throw 0 } catch {}", "null"},
      {"(() => { try { throw 1 } catch (e) { return e + 1 } })()", "2"},
  };
  for (const auto& [script, value] : table) expect_value(script, value);
}

}  // namespace
}  // namespace heddle::engine

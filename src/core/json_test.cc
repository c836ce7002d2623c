#include "heddle/core/json.h"

#include <gtest/gtest.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

namespace heddle::core {
namespace {

bool accepted(std::string_view text) { return !check_json(text).has_value(); }

TEST(Json, TakesOneValueOfTheGrammar) {
  for (const char* good : {"null", " true\r\n\t", "false", "0", "-0", "-0.0e+10", "1E400", "12345678901234567890",
                           "\"\"", R"("\"\\\/\b\f\n\r\t\u0000\uD800")", "\"\x7F\xE2\x80\xA8\"", "[]", "[ ]", "{}",
                           "{ }", "[[],{}]", R"({"a":1,"a":2,"":{"__proto__":[]}})", "[1 , 2 ]"})
    EXPECT_TRUE(accepted(good)) << good;
  for (const char* bad : {"",
                          " ",
                          "nul",
                          "nulll",
                          "True",
                          "01",
                          "1.",
                          ".5",
                          "-",
                          "+1",
                          "1e",
                          "1e+",
                          "0x1",
                          "NaN",
                          "Infinity",
                          "\"",
                          "\"\\\"",
                          "\"\\x\"",
                          "\"\\u12g4\"",
                          "\"\\u12",
                          "\"a\nb\"",
                          "'a'",
                          "[",
                          "]",
                          "[,]",
                          "[1,]",
                          "[1 2]",
                          "[1}",
                          "{",
                          "}",
                          "{,}",
                          "{1:2}",
                          "{\"a\"}",
                          "{\"a\":}",
                          "{\"a\":1,}",
                          "{\"a\":1]",
                          "{\"a\" 1}",
                          "1 2",
                          "{}{}",
                          "// x\n1",
                          "\xEF\xBB\xBF"
                          "1",
                          "\"\xED\xA0\x80\"",
                          "\"\xC0\x80\"",
                          "\xA0"
                          "1"})
    EXPECT_FALSE(accepted(bad)) << bad;
  EXPECT_FALSE(accepted(std::string_view("1\0", 2)));
  EXPECT_FALSE(accepted(std::string_view("\"\0\"", 3)));
}

// Two independent readers agree on text that is nearly JSON, but for what is known: the other one takes a NUL for the
// end and a byte order mark for nothing, and refuses numbers past a double's range and lone surrogates.
TEST(Json, AgreesWithAnotherReader) {
  const std::string_view pieces[] = {
      "{", "}",  "[",    "]",   ",",    ":",  "\"a\"",  "\"",  "\\",      "1", "0",        "-",    ".",  "e",  "E+",
      " ", "\n", "true", "nul", "null", "\t", "\"b\":", "\\n", "\\u00e9", "x", "\xC3\xA9", "\xC3", "[]", "{}", "false"};
  std::mt19937 random(20260101);  // NOLINT: the same texts each time
  int good = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text;
    for (auto left = random() % 9 + 1; left > 0; --left) text += pieces[random() % std::size(pieces)];
    const bool ours = accepted(text);
    ASSERT_EQ(ours, nlohmann::json::accept(text)) << text;
    good += ours ? 1 : 0;
  }
  EXPECT_GT(good, 1000);  // both verdicts were met
}

TEST(Json, DepthCostsNoStack) {
  const std::string open(4'000'000, '[');
  EXPECT_FALSE(accepted(open));
  EXPECT_TRUE(accepted(open + std::string(open.size(), ']')));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_TRUE(accepted(objects + "1" + std::string(100'000, '}')));
}

}  // namespace
}  // namespace heddle::core

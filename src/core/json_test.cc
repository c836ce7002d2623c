#include "heddle/core/json.h"

#include <gtest/gtest.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

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

// JRN-4
TEST(Json, NestsToACeilingThatIsGiven) {
  const std::string deep = std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']');
  EXPECT_TRUE(is_json(deep));
  EXPECT_FALSE(is_json('[' + deep + ']'));
  EXPECT_TRUE(is_json('[' + deep + ']', kMaxJsonDepth + 1));
  const auto fault = check_json('[' + deep + ']', kMaxJsonDepth);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, JsonFault::Kind::too_deep);
  EXPECT_EQ(fault->offset, kMaxJsonDepth);
  EXPECT_EQ(check_json("\"\xFF\"")->kind, JsonFault::Kind::encoding);
  EXPECT_EQ(check_json("[1")->kind, JsonFault::Kind::syntax);
  // Past the levels that need no memory of their own, arrays and objects are still told apart.
  std::string mixed;
  std::string closing;
  for (int i = 0; i < 3000; ++i) {
    mixed += i % 3 == 0 ? "{\"a\":" : "[";
    closing.insert(closing.begin(), i % 3 == 0 ? '}' : ']');
  }
  EXPECT_TRUE(accepted(mixed + "1" + closing));
  closing[100] = closing[100] == ']' ? '}' : ']';
  EXPECT_FALSE(accepted(mixed + "1" + closing));
}

TEST(Json, ObjectsAreToldFromOtherValues) {
  EXPECT_TRUE(is_json_object(" {}"));
  for (const char* other : {"[{}]", "", " ", "1", "{", "{}x"}) EXPECT_FALSE(is_json_object(other)) << other;
}

TEST(Json, FindsMembers) {
  const std::string_view object = R"( {"a" : [1,{"b":2}] , "b":"word","c":3, "a":4 } )";
  EXPECT_EQ(json_member(object, "a"), R"([1,{"b":2}])");
  EXPECT_EQ(json_word(object, "b"), "word");
  EXPECT_EQ(json_member(object, "c"), "3");
  EXPECT_FALSE(json_member(object, "d"));
  EXPECT_FALSE(json_word(object, "c"));
  for (const char* none : {"{}", "[1]", "", "{\"a", "{\"b\":1"}) EXPECT_FALSE(json_member(none, "a")) << none;
}

std::vector<JsonMember> members_of(std::string_view object) {
  std::vector<JsonMember> all;
  JsonMembers members(object);
  while (const auto member = members.next()) all.push_back(*member);
  return all;
}

TEST(Json, MembersArePartsOfTheText) {
  const std::string_view text = R"( { "a\"}" : [1, {"x":"]}"}] , "b":"\\" ,"c" : -0.0 })";
  ASSERT_TRUE(accepted(text));
  const auto members = members_of(text);
  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(unquote_json(members[0].name), "a\"}");
  EXPECT_EQ(members[0].value, R"([1, {"x":"]}"}])");
  EXPECT_EQ(members[1].value, R"("\\")");
  EXPECT_EQ(members[2].value, "-0.0");
  EXPECT_TRUE(members_of("{ }").empty());
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(members_of(objects + "1" + std::string(100'000, '}')).size(), 1U);
}

// JRN-4
TEST(Json, WritesStringsThatReadBack) {
  std::string text;
  for (int c = 0; c < 0x80; ++c) text += static_cast<char>(c);
  text += "\xC3\xA9\xE2\x80\xA8\xF0\x9F\x98\x80";
  const std::string quoted = quote_json(text);
  EXPECT_TRUE(accepted(quoted));
  EXPECT_EQ(unquote_json(quoted), text);
  EXPECT_EQ(nlohmann::json::parse(quoted).get<std::string>(), text);
  EXPECT_EQ(quoted, nlohmann::json(text).dump());
  EXPECT_EQ(quote_json("a\xFF\xED\xA0\x80z"), "\"a\xEF\xBF\xBD\xEF\xBF\xBDz\"");
}

// JRN-4: a lone surrogate is no text, a pair is, and an escaped backslash before a u is no escape.
TEST(Json, UnquotesEscapes) {
  EXPECT_EQ(unquote_json("\"\\ud83d\\ude00\\u00e9\\u20AC\\/\""), "\xF0\x9F\x98\x80\xC3\xA9\xE2\x82\xAC/");
  EXPECT_EQ(unquote_json(R"("\\ud800")"), "\\ud800");
  for (const char* lone : {R"("\ud83d")", R"("\ude00")", R"("\ud83d\ud83d\ude00")", R"("\ud83dx")", "1", "\""}) {
    EXPECT_EQ(unquote_json(lone), std::nullopt) << lone;
  }
}

// JRN-4, SBX-15
TEST(Json, LoneSurrogatesAreReplaced) {
  EXPECT_EQ(storable_json(R"("plain")"), R"("plain")");
  EXPECT_EQ(storable_json(R"("\ud800")"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(storable_json(R"("\uDC00x\uD83D")"), "\"\xEF\xBF\xBDx\xEF\xBF\xBD\"");
  EXPECT_EQ(storable_json(R"("\ud83d\ude00")"), R"("\ud83d\ude00")");
  EXPECT_EQ(storable_json(R"("\ud83d\ud83d\ude00")"), "\"\xEF\xBF\xBD\\ud83d\\ude00\"");
  EXPECT_EQ(storable_json(R"("\\ud800")"), R"("\\ud800")");
  EXPECT_EQ(storable_json(R"("\\\ud800\n\u0041")"), "\"\\\\\xEF\xBF\xBD\\n\\u0041\"");
  EXPECT_EQ(storable_json("\"\xED\xA0\x80\""), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(storable_json("\"\xFF\xC0\""), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(storable_json("\"\\"), "\"\\");
}

}  // namespace
}  // namespace heddle::core

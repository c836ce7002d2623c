#include "json.h"

#include <gtest/gtest.h>

namespace heddle::cli {
namespace {

bool accepted(std::string_view text) { return !check_json(text).has_value(); }

TEST(JsonTest, FaultsHaveTheirPlace) {
  const auto place = [](std::string_view text) { return fault_text(text, check_json(text).value()); };
  EXPECT_EQ(place("{\n  \"a\": 1,\n}"), "line 3, column 1: a key in quotation marks must stand here");
  EXPECT_EQ(place("[1,\n2"), "line 2, column 2: ',' or ']' must stand here, but the text ends");
  EXPECT_EQ(place("1 x"), "line 1, column 3: there is more after the value");
  EXPECT_EQ(place("[\"\xFF\"]"), "line 1, column 3: byte 2 is not valid UTF-8");
}

TEST(JsonTest, AnObjectOfAnyDepthHasItsMembers) {
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(members_of(objects + "1" + std::string(100'000, '}')).size(), 1U);
}

TEST(JsonTest, MembersArePartsOfTheText) {
  const std::string_view text = R"( { "a\"}" : [1, {"x":"]}"}] , "b":"\\" ,"c" : -0.0 })";
  ASSERT_TRUE(accepted(text));
  const auto members = members_of(text);
  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(unquote_json(members[0].key), "a\"}");
  EXPECT_EQ(members[0].value, R"([1, {"x":"]}"}])");
  EXPECT_EQ(members[1].value, R"("\\")");
  EXPECT_EQ(members[2].value, "-0.0");
  EXPECT_TRUE(members_of("{ }").empty());
}

TEST(JsonTest, QuotesAndUnquotes) {
  const std::string text("a\"\\\n\x1B\0\xC3\xA9", 8);
  EXPECT_EQ(unquote_json(quote_json(text)), text);
  EXPECT_EQ(unquote_json("\"\\ud83d\\ude00\""), "\xF0\x9F\x98\x80");
  EXPECT_EQ(unquote_json("\"\\ud83d\""), std::nullopt);
  EXPECT_EQ(quote_json("\xFF"), "\"\xEF\xBF\xBD\"");
}

TEST(JsonTest, ATerminalHasNothingToObey) {
  EXPECT_EQ(terminal_safe_json("\"\x7F\xC2\x9B\xC2\xA0\xC3\x9B\""), "\"\\u007f\\u009b\xC2\xA0\xC3\x9B\"");
}

}  // namespace
}  // namespace heddle::cli

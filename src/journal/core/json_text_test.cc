#include "heddle/journal/core/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace heddle::journal {
namespace {

// JRN-4
TEST(JsonText, AcceptsTheGrammarAndNothingElse) {
  for (const char* good : {"0", "-0.5e+10", "null", " true ", "\"\"", "[]", "{}", "[1,[2,{\"a\":[]}],\"x\"]",
                           "{\"a\":{\"b\":{}},\"c\":[{}]}", "\"\\ud800\"", "\"\\u0000\\/\\b\"", "\t\r\n1\n"}) {
    EXPECT_TRUE(is_json(good)) << good;
  }
  for (const char* bad : {"",
                          " ",
                          "01",
                          "1.",
                          ".5",
                          "+1",
                          "1e",
                          "-",
                          "nul",
                          "truee",
                          "tru",
                          "[1,]",
                          "[,1]",
                          "[1 2]",
                          "{\"a\"}",
                          "{\"a\":}",
                          "{a:1}",
                          "{\"a\":1,}",
                          "{,}",
                          "[",
                          "]",
                          "[}",
                          "{]",
                          "\"",
                          "\"\\x\"",
                          "\"\\u12G4\"",
                          "\"\n\"",
                          "1 1",
                          "[]]",
                          "NaN",
                          "'a'",
                          "// c\n1",
                          "\"\xFF\"",
                          "\"\xED\xA0\x80\"",
                          "\xEF\xBB\xBF 1"}) {
    EXPECT_FALSE(is_json(bad)) << bad;
  }
  EXPECT_FALSE(is_json(std::string_view("1\0", 2)));
  EXPECT_FALSE(is_json(std::string_view("\"\0\"", 3)));
  EXPECT_TRUE(is_json_object(" {}"));
  EXPECT_FALSE(is_json_object("[{}]"));
}

TEST(JsonText, NestsToItsCeilingWithoutRecursion) {
  const std::string deep = std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']');
  EXPECT_TRUE(is_json(deep));
  EXPECT_FALSE(is_json('[' + deep + ']'));
  EXPECT_FALSE(is_json(std::string(8U << 20, '[')));
}

// JRN-4: another implementation is of the same opinion on texts that are nearly JSON.
TEST(JsonText, AgreesWithAnotherParser) {
  std::mt19937 random(20260101);  // NOLINT(cert-msc51-cpp): the same texts every time
  const std::string seeds[] = {R"({"a":[1,2.5e-3,{"b":null}],"c":"x\n\u0041","d":true})", R"([[],{},"",0,-1,false])"};
  const std::string_view alphabet = "{}[]\",:0123456789eE+-.\\ntrufalse \xC3\xA9\x01";
  int accepted = 0;
  for (int round = 0; round < 40'000; ++round) {
    std::string text = seeds[random() % 2];
    for (std::uint64_t changes = random() % 3; changes != 0; --changes) {
      const std::size_t at = random() % text.size();
      const char c = alphabet[random() % alphabet.size()];
      if (random() % 3 == 0) {
        text.erase(at, 1);
      } else if (random() % 2 == 0) {
        text.insert(at, 1, c);
      } else {
        text[at] = c;
      }
    }
    const bool expected = nlohmann::json::accept(text);
    EXPECT_EQ(is_json(text), expected) << text;
    accepted += expected ? 1 : 0;
  }
  EXPECT_GT(accepted, 10'000);
}

TEST(JsonText, FindsMembers) {
  const std::string_view object = R"( {"a" : [1,{"b":2}] , "b":"word","c":3} )";
  EXPECT_EQ(json_member(object, "a"), R"([1,{"b":2}])");
  EXPECT_EQ(json_word(object, "b"), "word");
  EXPECT_EQ(json_member(object, "c"), "3");
  EXPECT_FALSE(json_member(object, "d"));
  EXPECT_FALSE(json_word(object, "c"));
  EXPECT_FALSE(json_member("{}", "a"));
  EXPECT_FALSE(json_member("[1]", "a"));
}

TEST(JsonText, WritesStringsThatReadBack) {
  std::string text;
  for (int c = 0; c < 0x80; ++c) text += static_cast<char>(c);
  text += "\xC3\xA9\xF0\x9F\x98\x80";
  std::string quoted;
  append_json_string(quoted, text);
  EXPECT_TRUE(is_json(quoted));
  EXPECT_EQ(nlohmann::json::parse(quoted).get<std::string>(), text);
}

}  // namespace
}  // namespace heddle::journal

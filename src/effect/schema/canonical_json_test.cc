#include "canonical_json.h"

#include <gtest/gtest.h>

#include "heddle/effect/schema/shape.h"

namespace heddle::effect {
namespace {

// SBX-14: the examples of RFC 8785, 3.2.2 and 3.2.3.
TEST(CanonicalJson, IsRfc8785) {
  EXPECT_EQ(canonical_json("{\"numbers\": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],"
                           "\"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\","
                           "\"literals\": [null, true, false]}")
                .value(),
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
            "\"string\":\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
  EXPECT_EQ(canonical_json(R"({"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh",)"
                           R"("1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control",)"
                           R"("\u00f6":"Latin Small Letter O With Diaeresis"})")
                .value(),
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\","
            "\"\u00f6\":\"Latin Small Letter O With Diaeresis\",\"\u20ac\":\"Euro Sign\","
            "\"\U0001F600\":\"Emoji: Grinning Face\",\"\uFB33\":\"Hebrew Letter Dalet With Dagesh\"}");
  // Numbers are doubles there, large integers too.
  EXPECT_EQ(canonical_json("9007199254740993").value(), "9007199254740992");
}

TEST(CanonicalJson, RefusesWhatIsNotIJson) {
  for (const std::string_view bad : {"", "{", R"({"a":1,"a":1})", R"("\ud800")", "[1e999]"}) {
    EXPECT_EQ(canonical_json(bad).error().code, core::Errc::malformed) << bad;
  }
  EXPECT_FALSE(canonical_json(std::string(100'000, '[') + std::string(100'000, ']')).ok());
}

// SBX-14: two texts of one schema have one hash; it is the SHA-256 of the canonical text.
TEST(ShapeHash, IsOfTheSchemaNotOfItsText) {
  const auto hash = shape_hash(R"({"type":"object","maximum":1.0})").value();
  EXPECT_EQ(shape_hash(" {\"maximum\": 1, \"type\" : \"ob\\u006aect\"}").value(), hash);
  EXPECT_NE(shape_hash(R"({"type":"object","maximum":2})").value(), hash);
  EXPECT_EQ(hash, ContentAddress::of(R"({"maximum":1,"type":"object"})"));
}

}  // namespace
}  // namespace heddle::effect

#include "heddle/effect/schema/shape.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle::effect {
namespace {

bool has_shape(std::string_view schema, std::string_view value) {
  return !Shape::compile(schema).value().mismatch(value).has_value();
}

// SBX-14: draft 7, the keywords that came with it included.
TEST(Shape, ValidatesDraft7) {
  constexpr std::string_view kRow =
      R"({"type":"object","required":["id"],"properties":{"id":{"type":"integer","exclusiveMinimum":0},)"
      R"("tags":{"type":"array","items":{"type":"string","pattern":"^[a-z]+$"},"uniqueItems":true}},)"
      R"("additionalProperties":false})";
  EXPECT_TRUE(has_shape(kRow, R"({"id":1,"tags":["a","b"]})"));
  EXPECT_FALSE(has_shape(kRow, R"({"id":0})"));
  EXPECT_FALSE(has_shape(kRow, R"({"id":"1"})"));
  EXPECT_FALSE(has_shape(kRow, R"({"id":1,"x":1})"));
  EXPECT_FALSE(has_shape(kRow, R"({"id":1,"tags":["A"]})"));
  EXPECT_FALSE(has_shape(kRow, R"({"id":1,"tags":["a","a"]})"));
  EXPECT_FALSE(has_shape(R"({"if":{"const":1},"then":false})", "1"));
  EXPECT_TRUE(has_shape(R"({"if":{"const":1},"then":false})", "2"));
  EXPECT_FALSE(has_shape(R"({"contains":{"const":1}})", "[2]"));
  EXPECT_FALSE(has_shape(R"({"propertyNames":{"maxLength":1}})", R"({"ab":1})"));
  EXPECT_TRUE(has_shape("true", "[1]"));
  EXPECT_FALSE(has_shape("false", "1"));
}

TEST(Shape, SaysWhereAValueIsWrong) {
  const Shape shape = Shape::compile(R"({"properties":{"a":{"items":{"type":"string"}}}})").value();
  const std::string why = shape.mismatch(R"({"a":["x",2]})").value();
  EXPECT_NE(why.find("value[a][1]"), std::string::npos) << why;
}

// SBX-14: recursion into the value is what references are for.
TEST(Shape, FollowsReferencesWithinTheDocument) {
  constexpr std::string_view kTree =
      R"({"definitions":{"n":{"type":"object","properties":{"l":{"$ref":"#/definitions/n"},"v":{"type":"number"}},)"
      R"("required":["v"]}},"$ref":"#/definitions/n"})";
  EXPECT_TRUE(has_shape(kTree, R"({"v":1,"l":{"v":2,"l":{"v":3}}})"));
  EXPECT_FALSE(has_shape(kTree, R"({"v":1,"l":{"v":2,"l":{"v":"x"}}})"));
  EXPECT_TRUE(has_shape(R"({"items":{"$ref":"#"}})", "[[[]]]"));
}

// SBX-14: a schema that would never end, leave the machine or abort the validator is refused before it is used.
TEST(Shape, RefusesSchemasThatCannotBeUsed) {
  for (const std::string_view bad :
       {"", "1", "null", "[]", R"({"type":"obj"})", R"({"pattern":"("})", R"({"patternProperties":{"[":{}}})",
        R"({"$ref":"#"})", R"({"allOf":[{"$ref":"#"}]})", R"({"not":{"anyOf":[{"$ref":"#"}]}})",
        R"({"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}})",
        R"({"$ref":"http://example.org/schema.json"})", R"({"items":{"$ref":"other.json"}})", R"({"$ref":"#/nowhere"})",
        R"({"$ref":"#/x/y","x":{"y":{"pattern":"("}}})", R"({"properties":{"a":1}})", R"({"minLength":"x"})"}) {
    const auto shape = Shape::compile(bad);
    ASSERT_FALSE(shape.ok()) << bad;
    EXPECT_EQ(shape.error().code, core::Errc::malformed) << bad;
  }
  EXPECT_FALSE(Shape::compile("{\"title\":\"" + std::string(Shape::kMaxSchemaBytes, 'x') + "\"}").ok());
  std::string chain = R"({"definitions":{)";
  for (int i = 0; i < 3000; ++i) {
    chain += "\"" + std::to_string(i) + R"(":{"$ref":"#/definitions/)" + std::to_string(i + 1) + "\"},";
  }
  EXPECT_FALSE(Shape::compile(chain + R"("3000":{}},"$ref":"#/definitions/0"})").ok());
}

// SBX-14: no value of a script's keeps the validator busy or overflows its stack.
TEST(Shape, BoundsWhatAValueCanCost) {
  const std::string long_text = "\"" + std::string(1 << 20, 'a') + "\"";
  EXPECT_FALSE(has_shape(R"({"pattern":"^(a|b)*$"})", long_text));
  EXPECT_FALSE(has_shape(R"({"format":"date"})", long_text));
  EXPECT_FALSE(has_shape(R"({"patternProperties":{"^(a|b)*$":{}}})", "{" + long_text + ":1}"));
  EXPECT_TRUE(has_shape(R"({"type":"string"})", long_text));
  std::string many = "[0";
  for (int i = 1; i < 100'000; ++i) many += "," + std::to_string(i);
  EXPECT_FALSE(has_shape(R"({"uniqueItems":true})", many + "]"));
  EXPECT_TRUE(has_shape(R"({"uniqueItems":false})", many + "]"));
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  EXPECT_TRUE(has_shape(R"({"items":{"$ref":"#"}})", deep));
}

}  // namespace
}  // namespace heddle::effect

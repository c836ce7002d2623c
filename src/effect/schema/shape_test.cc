#include "heddle/effect/schema/shape.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "schema_check.h"

namespace heddle::effect {
namespace {

bool has_shape(std::string_view schema, std::string_view value) {
  return Shape::compile(schema).value().check(value, {}, core::Deadline::never()).fits();
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
  const std::string why = shape.check(R"({"a":["x",2]})", {}, core::Deadline::never()).why;
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
       {"",
        "1",
        "null",
        "[]",
        R"({"type":"obj"})",
        R"({"pattern":"("})",
        R"({"patternProperties":{"[":{}}})",
        R"({"$ref":"#"})",
        R"({"allOf":[{"$ref":"#"}]})",
        R"({"not":{"anyOf":[{"$ref":"#"}]}})",
        R"({"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}})",
        R"({"$ref":"http://example.org/schema.json"})",
        R"({"items":{"$ref":"other.json"}})",
        R"({"$ref":"#/nowhere"})",
        R"({"$ref":"#/x/y","x":{"y":{"pattern":"("}}})",
        R"({"$schema":"https://json-schema.org/draft/2020-12/schema"})",
        R"({"allOf":[{"$id":"a.json"}]})",
        R"({"enum":1})",
        R"({"required":[1]})",
        R"({"multipleOf":0})",
        R"({"minItems":-1})",
        R"({"allOf":[]})",
        R"({"uniqueItems":1})",
        R"({"dependencies":{"a":1}})",
        R"({"definitions":{"a":3}})",
        R"({"format":1})",
        R"({"$ref":1})",
        R"({"$ref":"#/a%2"})",
        R"({"additionalItems":1})",
        R"({"type":[]})",
        R"({"minimum":"1"})",
        R"({"properties":{"a":1}})",
        R"({"minLength":"x"})"}) {
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

// SBX-23: long texts, many items and deep values get the right answer, whatever the pattern.
TEST(Shape, AnswersForLargeValues) {
  const std::string text(1 << 20, 'a');
  for (const std::string_view pattern : {"^(a+)+$", "^(a|a)*$", "^(a*)*b?$", "(x+x+)+y|a$"}) {
    const std::string schema = "{\"pattern\":\"" + std::string(pattern) + "\"}";
    EXPECT_TRUE(has_shape(schema, "\"" + text + "\"")) << pattern;
    EXPECT_FALSE(has_shape(schema, "\"" + text + "!\"")) << pattern;
    const std::string names = "{\"patternProperties\":{\"" + std::string(pattern) + "\":false}}";
    EXPECT_FALSE(has_shape(names, "{\"" + text + "\":1}")) << pattern;
    EXPECT_TRUE(has_shape(names, "{\"" + text + "!\":1}")) << pattern;
  }
  EXPECT_FALSE(has_shape(R"({"format":"date"})", "\"" + text + "\""));
  std::string many = "[0";
  for (int i = 1; i < 100'000; ++i) many += "," + std::to_string(i);
  EXPECT_TRUE(has_shape(R"({"uniqueItems":true})", many + "]"));
  EXPECT_FALSE(has_shape(R"({"uniqueItems":true})", many + ",77777]"));
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  EXPECT_TRUE(has_shape(R"({"items":{"$ref":"#"}})", deep));
}

// A schema that is looked at twice for each level of the value: 2^400 ways.
constexpr std::string_view kTwiceALevel =
    R"({"type":["array","string"],"items":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]},"minLength":2})";
std::string nested(std::size_t levels) { return std::string(levels, '[') + "\"x\"" + std::string(levels, ']'); }

// SBX-23: a check that multiplies heeds stop and deadline, and ends without them.
TEST(Shape, HeedsStopAndDeadline) {
  using Kind = Shape::Verdict::Kind;
  const Shape shape = Shape::compile(kTwiceALevel).value();
  const std::string value = nested(400);
  EXPECT_EQ(shape.check(nested(4), {}, core::Deadline::never()).kind, Kind::differs) << "the control";
  EXPECT_EQ(shape.check(value, {}, core::Deadline::after(std::chrono::milliseconds(20))).kind, Kind::given_up);
  std::stop_source stop;
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  EXPECT_EQ(shape.check(value, stop.get_token(), core::Deadline::never()).kind, Kind::given_up);
  stopper.join();
  EXPECT_EQ(shape.check("[]", stop.get_token(), core::Deadline::never()).kind, Kind::given_up);
  EXPECT_EQ(shape.check("[]", {}, core::Deadline::after(std::chrono::seconds(0))).kind, Kind::given_up);
  const auto verdict = shape.check(value, {}, core::Deadline::never());
  EXPECT_EQ(verdict.kind, Kind::differs);
  EXPECT_NE(verdict.why.find("cannot be checked in 100000000 steps"), std::string::npos) << verdict.why;
}

// SBX-23: reading a schema takes memory as its text does: a long name is not kept for each schema below it.
TEST(Shape, KeepsNoPathForEachSchema) {
  std::string below;
  for (int i = 0; i < 10'000; ++i) below += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":{}";
  const std::string name(100'000, 'n');
  for (const std::string& schema : {"{\"properties\":{\"" + name + "\":{\"properties\":{" + below + "}}}}",
                                    "{\"$ref\":\"#/definitions/" + name.substr(0, 60'000) + "\",\"definitions\":{\"" +
                                        name.substr(0, 60'000) + "\":{\"properties\":{" + below + "}}}}"}) {
    rusage before{};
    rusage after{};
    ASSERT_EQ(::getrusage(RUSAGE_SELF, &before), 0);
    EXPECT_TRUE(Shape::compile(schema).ok());
    ASSERT_EQ(::getrusage(RUSAGE_SELF, &after), 0);
    EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 200 << 10) << "KiB; a path for each would be 1 GB";
  }
}

// SBX-23: a value that is wrong in every place costs one message, and one bounded.
TEST(Shape, TellsTheFirstDifferenceAlone) {
  std::string value(900, '[');
  for (int i = 0; i < 200'000; ++i) value += "0,";
  value += "0" + std::string(900, ']');
  const Shape shape = Shape::compile(R"({"type":"array","items":{"$ref":"#"}})").value();
  const auto verdict = shape.check(value, {}, core::Deadline::never());
  EXPECT_EQ(verdict.kind, Shape::Verdict::Kind::differs);
  EXPECT_LE(verdict.why.size(), 2048U);
  const std::string name(10'000, 'n');
  EXPECT_LE(Shape::compile(R"({"additionalProperties":false})")
                .value()
                .check("{\"" + name + "\":1}", {}, core::Deadline::never())
                .why.size(),
            2048U);
}

// SBX-23: steps grow as the value does, not with its square.
TEST(Shape, TakesLinearSteps) {
  const auto steps = [](std::string_view schema, int items) {
    nlohmann::json value = nlohmann::json::array();
    for (int i = 0; i < items; ++i) value.push_back({{"n", i}, {"s", "item " + std::to_string(i)}});
    const nlohmann::json document = nlohmann::json::parse(schema);
    Work work({}, core::Deadline::never());
    std::string why;
    EXPECT_TRUE(has_shape(read_schema(document).value(), value, work, why)) << why;
    return work.steps();
  };
  std::string values = R"({"items":{"enum":[)";
  for (int i = 0; i < 2000; ++i)
    values += R"({"n":)" + std::to_string(i) + R"(,"s":"item )" + std::to_string(i) + "\"},";
  values += "null]}}";
  for (const std::string& schema :
       {std::string(R"({"uniqueItems":true})"), values,
        std::string(R"({"items":{"properties":{"s":{"pattern":"^(item|item) +[0-9]+$"}},"required":["n","s"]}})"),
        std::string(R"({"contains":{"properties":{"n":{"minimum":1}}}})")}) {
    const auto small = steps(schema, 200);
    EXPECT_LE(steps(schema, 2000), 12 * small) << schema;
  }
}

// SBX-14: equality is of values, not of texts or of doubles near them.
TEST(Shape, ComparesValues) {
  EXPECT_TRUE(has_shape(R"({"const":1})", "1.0"));
  EXPECT_TRUE(has_shape(R"({"const":{"a":[1.0],"b":"x"}})", R"({"b":"x","a":[1]})"));
  EXPECT_FALSE(has_shape(R"({"const":9007199254740993})", "9007199254740992"));
  EXPECT_FALSE(has_shape(R"({"const":-1})", "18446744073709551615"));
  EXPECT_FALSE(has_shape(R"({"enum":["1",[1],false]})", "1"));
  EXPECT_TRUE(has_shape(R"({"enum":[0,null]})", "-0.0"));
  EXPECT_FALSE(has_shape(R"({"uniqueItems":true})", "[1,2,1.0]"));
  EXPECT_TRUE(has_shape(R"({"uniqueItems":true})", R"([1,"1",[1],true,9007199254740993,9007199254740992])"));
  EXPECT_TRUE(has_shape(R"({"type":"integer"})", "1.0"));
  EXPECT_FALSE(has_shape(R"({"type":"integer"})", "1.5"));
  EXPECT_TRUE(has_shape(R"({"multipleOf":0.1})", "0.3"));
  EXPECT_FALSE(has_shape(R"({"multipleOf":0.1})", "0.35"));
  EXPECT_FALSE(has_shape(R"({"multipleOf":3})", "10"));
  EXPECT_FALSE(has_shape(R"({"multipleOf":0.123456789})", "1e308"));
  EXPECT_FALSE(has_shape(R"({"maximum":9007199254740992})", "9007199254740993"));
  EXPECT_TRUE(has_shape(R"({"maxLength":1})", "\"\U0001F600\""));
  EXPECT_FALSE(has_shape(R"({"properties":{"a\u0000b":false}})", R"({"a\u0000b":1})"));
  EXPECT_TRUE(has_shape(R"({"properties":{"a\u0000b":false}})", R"({"a":1})"));
}

// SBX-14: keywords that the other tests do not have.
TEST(Shape, KnowsEveryKeyword) {
  struct Case {
    std::string_view schema, good, bad;
  };
  for (const Case& one : std::initializer_list<Case>{
           {R"({"type":["null","boolean"]})", "null", "0"},
           {R"({"minimum":1})", "1", "0"},
           {R"({"maximum":1})", "1", "2"},
           {R"({"exclusiveMaximum":1})", "0", "1"},
           {R"({"minLength":2})", "\"ab\"", "\"a\""},
           {R"({"minItems":1})", "[0]", "[]"},
           {R"({"maxItems":1})", "[0]", "[0,0]"},
           {R"({"minProperties":1})", "{\"a\":0}", "{}"},
           {R"({"maxProperties":0})", "{}", "{\"a\":0}"},
           {R"({"items":[{"const":1}],"additionalItems":{"const":2}})", "[1,2,2]", "[1,1]"},
           {R"({"items":[{"const":1}],"additionalItems":false})", "[]", "[1,1]"},
           {R"({"additionalItems":false})", "[1]", ""},
           {R"({"items":false})", "[]", "[1]"},
           {R"({"properties":{"a":true},"patternProperties":{"^b":{"const":1}},"additionalProperties":{"const":2}})",
            R"({"a":9,"b":1,"c":2})", R"({"b":2})"},
           {R"({"dependencies":{"a":["b"]}})", R"({"a":1,"b":1})", R"({"a":1})"},
           {R"({"dependencies":{"a":{"required":["b"]}}})", R"({"b":1})", R"({"a":1})"},
           {R"({"allOf":[{"minimum":1},{"maximum":2}]})", "2", "3"},
           {R"({"anyOf":[{"const":1},{"const":2}]})", "2", "3"},
           {R"({"oneOf":[{"minimum":1},{"maximum":2}]})", "3", "2"},
           {R"({"oneOf":[{"minimum":1},{"maximum":-2}]})", "3", "0"},
           {R"({"not":{"const":1}})", "2", "1"},
           {R"({"if":{"const":1},"else":{"const":2}})", "1", "3"},
           {R"({"then":false})", "1", ""},
           {R"({"format":"date"})", "\"2024-02-29\"", "\"2023-02-29\""},
           {R"({"format":"time"})", "\"23:59:60Z\"", "\"12:00:60Z\""},
           {R"({"format":"date-time"})", "\"2024-01-31T00:00:00.5+01:00\"", "\"2024-01-31 00:00:00Z\""},
           {R"({"format":"date"})", "1", "\"24-02-29\""},
           {R"({"format":"email"})", "\"not one\"", ""},
           {R"({"$ref":"#/definitions/a%20b~1c","definitions":{"a b/c":{"const":1}},"const":2})", "1", "2"},
       }) {
    EXPECT_TRUE(has_shape(one.schema, one.good)) << one.schema << one.good;
    EXPECT_TRUE(one.bad.empty() || !has_shape(one.schema, one.bad)) << one.schema << one.bad;
  }
}

// SBX-23: a pattern that cannot be kept to linear time is refused with its place; so are too many.
TEST(Shape, NamesThePatternThatItRefuses) {
  const auto shape = Shape::compile(R"x({"properties":{"a":{"items":{"pattern":"^(?!x)"}}}})x");
  EXPECT_NE(shape.error().context.find("#/properties/a/items/pattern"), std::string::npos) << shape.error().message();
  EXPECT_NE(shape.error().context.find("^(?!x)"), std::string::npos);
  const auto with = [](int patterns, const std::string& pattern) {
    std::string schema = R"({"patternProperties":{"":true)";
    for (int i = 1; i < patterns; ++i) schema += ",\"" + pattern + "{" + std::to_string(i) + "}\":true";
    return Shape::compile(schema + "}}");
  };
  EXPECT_TRUE(with(64, "a").ok());
  EXPECT_NE(with(65, "a").error().context.find("more than 64 regular expressions"), std::string::npos);
  EXPECT_TRUE(with(12, R"(\\p{L})").ok());
  EXPECT_NE(with(30, R"(\\p{L})").error().context.find("too large together"), std::string::npos);
}

}  // namespace
}  // namespace heddle::effect

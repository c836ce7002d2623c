#include "heddle/sandbox/effect/eval_input.h"

#include <gtest/gtest.h>

namespace heddle::sandbox {
namespace {

const std::string kAddress = effect::ContentAddress::of("x").text();

// SBX-12
TEST(EvalInput, ParsesAllMembers) {
  const auto input = SandboxEvalInput::parse("{\"script\":\"" + kAddress +
                                             R"(","input":{"a": [1]},"shape":{"type":"number"},"limits":)"
                                             R"({"wallClockMs":5,"memoryBytes":6,"inputBytes":7,"outputBytes":8}})")
                         .value();
  EXPECT_EQ(input.script.text(), kAddress);
  EXPECT_EQ(input.input_json, R"({"a": [1]})");
  EXPECT_EQ(input.shape_json, R"({"type":"number"})");
  EXPECT_EQ(input.limits.wall_clock, std::chrono::milliseconds(5));
  EXPECT_EQ(input.limits.memory_bytes, 6U);
  EXPECT_EQ(input.limits.input_bytes, 7U);
  EXPECT_EQ(input.limits.output_bytes, 8U);
}

// SBX-12, SBX-22: what is asked is written as it is read.
TEST(EvalInput, ComesBackFromItsText) {
  SandboxEvalInput input{effect::ContentAddress::of("x"), R"({"a":[1]})", R"({"type":"number"})", {}};
  input.limits = {std::chrono::milliseconds(5), 6, 7, 8};
  for (int round = 0; round < 2; ++round) {
    const auto again = SandboxEvalInput::parse(input.to_json()).value();
    EXPECT_EQ(again.script, input.script);
    EXPECT_EQ(again.input_json, input.input_json);
    EXPECT_EQ(again.shape_json, input.shape_json);
    EXPECT_EQ(again.limits.wall_clock, input.limits.wall_clock);
    EXPECT_EQ(again.limits.memory_bytes, input.limits.memory_bytes);
    EXPECT_EQ(again.limits.input_bytes, input.limits.input_bytes);
    EXPECT_EQ(again.limits.output_bytes, input.limits.output_bytes);
    input = {effect::ContentAddress::of("y"), "1", {}, {}};
  }
}

// SBX-12, SBX-21: a value that cannot be read is cut out as it stands, for the effect to refuse on its channel.
TEST(EvalInput, LeavesTheValueAlone) {
  const std::string deep = std::string(1500, '[') + std::string(1500, ']');
  for (const std::string& value : {std::string("1e999"), deep, std::string(R"({"a":1,"a":2})")}) {
    EXPECT_EQ(
        SandboxEvalInput::parse("{\"script\":\"" + kAddress + R"(","in\u0070ut":)" + value + "}").value().input_json,
        value);
  }
}

// SBX-12: shape and limits are optional, an input that is not there is null.
TEST(EvalInput, NeedsTheScriptAlone) {
  const auto input = SandboxEvalInput::parse("{\"script\":\"" + kAddress + "\"}").value();
  EXPECT_EQ(input.input_json, "null");
  EXPECT_FALSE(input.shape_json || input.limits.wall_clock || input.limits.memory_bytes || input.limits.output_bytes);
}

TEST(EvalInput, RefusesAnythingElse) {
  const std::string script = "\"script\":\"" + kAddress + "\"";
  for (const std::string& bad :
       {std::string(), std::string("[]"), std::string("{}"), std::string(R"({"script":1})"),
        std::string(R"({"script":"x"})"), "{" + script + ",\"x\":1}", "{" + script + ",\"input\":1,\"input\":2}",
        "{" + script + ",\"input\":NaN}", "{" + script + ",\"input\":}",
        "{" + script + ",\"shape\":" + std::string(1500, '[') + std::string(1500, ']') + "}",
        "{" + script + "," + script + "}", "{" + script + ",\"limits\":1}",
        "{" + script + ",\"limits\":{\"wallClockMs\":0}}", "{" + script + ",\"limits\":{\"wallClockMs\":-1}}",
        "{" + script + ",\"limits\":{\"wallClockMs\":1.5}}", "{" + script + ",\"limits\":{\"wallClockMs\":\"5\"}}",
        "{" + script + ",\"limits\":{\"wallClockMs\":1e300}}", "{" + script + ",\"limits\":{\"wallClockMs\":86400001}}",
        "{" + script + ",\"limits\":{\"cpu\":1}}"}) {
    const auto input = SandboxEvalInput::parse(bad);
    ASSERT_FALSE(input.ok()) << bad;
    EXPECT_EQ(input.error().code, core::Errc::malformed) << bad;
  }
}

}  // namespace
}  // namespace heddle::sandbox

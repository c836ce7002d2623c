// The scripts of tests/cases/javascript.json, straight on the engine: each gives what it says, and the run after it is
// clean.
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "fixture.h"
#include "heddle/core/text.h"

namespace heddle::engine {
namespace {

using nlohmann::json;

json cases() {
  std::ifstream file(std::string(HEDDLE_CASES_DIR) + "/javascript.json");
  return json::parse(file);
}

// The outcome's name as the cases write it.
std::string outcome(const RunResult& result) {
  switch (result.ending) {
    case Ending::ok:
      return "ok";
    case Ending::threw:
      return "scriptError";
    case Ending::memory:
      return "limitExceeded:memory";
    case Ending::output:
      return "limitExceeded:output";
    case Ending::stopped:
      return "limitExceeded:wallClock";
    case Ending::input_too_large:
      return "inputTooLarge";
    case Ending::fault:
      return "failed";
  }
  return "?";
}

// "ok", "ok:42", "limitExceeded", "limitExceeded:memory".
bool matches(const RunResult& result, const std::string& wanted) {
  const std::string got = outcome(result);
  if (wanted.rfind("ok:", 0) == 0) return got == "ok" && json::parse(result.value) == json::parse(wanted.substr(3));
  return got == wanted || got.rfind(wanted + ":", 0) == 0;
}

// Keys that `check` looks at, that the test below or the one through the command does, or that are remarks.
const std::set<std::string> kKnownKeys = {"ok",
                                          "ok_after_storing",
                                          "ok_keys",
                                          "ok_note",
                                          "channel",
                                          "name",
                                          "any_of",
                                          "differs_between_runs",
                                          "why",
                                          "note",
                                          "within",
                                          "then",
                                          "message_units_at_most"};

void check(const json& expect, const RunResult& result, RunResult again) {
  for (const auto& item : expect.items()) EXPECT_EQ(kKnownKeys.count(item.key()), 1U) << item.key();
  if (expect.contains("ok")) {
    ASSERT_EQ(result.ending, Ending::ok) << result.message;
    EXPECT_EQ(json::parse(result.value), expect["ok"]);
  }
  if (expect.contains("ok_after_storing")) {
    ASSERT_EQ(result.ending, Ending::ok) << result.message;
    EXPECT_EQ(json::parse(result.value), expect["ok_after_storing"]);
  }
  if (expect.contains("ok_keys")) {
    ASSERT_EQ(result.ending, Ending::ok) << result.message;
    const json value = json::parse(result.value);
    std::vector<std::string> keys;
    for (const auto& [key, member] : value.items()) keys.push_back(key);
    EXPECT_EQ(keys, expect["ok_keys"].get<std::vector<std::string>>());
  }
  if (expect.contains("channel")) {
    EXPECT_EQ(outcome(result), expect["channel"].get<std::string>());
    EXPECT_LE(core::utf16_units(result.message), core::kMaxGuestTextUnits);
    EXPECT_FALSE(result.message.empty());
  }
  if (expect.contains("name")) {
    EXPECT_EQ(result.name, expect["name"].get<std::string>());
  }
  if (expect.contains("any_of")) {
    bool any = false;
    for (const json& wanted : expect["any_of"]) any = any || matches(result, wanted.get<std::string>());
    EXPECT_TRUE(any) << outcome(result) << " " << result.value << result.message;
  }
  if (expect.contains("differs_between_runs")) {
    ASSERT_EQ(result.ending, Ending::ok);
    EXPECT_NE(result.value, again.value);
  }
}

class CasesTest : public EngineTest {};

// SBX-3, SBX-4, SBX-14, SBX-15, SBX-19, SBX-21
TEST_F(CasesTest, EveryCaseGivesWhatItSaysAndLeavesNothing) {
  const json file = cases();
  const Limits limits{file["limits"]["memory_bytes"].get<std::uint64_t>(),
                      file["limits"]["output_bytes"].get<std::uint64_t>()};
  std::set<std::string> seen;
  for (const json& one : file["cases"]) {
    const std::string id = one["id"].get<std::string>();
    SCOPED_TRACE(id);
#ifdef HEDDLE_UNDER_TSAN
    // Signals are not delivered to uninstrumented code.
    if (id == "time-indexof-generic" || id == "time-bigint-pow" || id == "time-join") continue;
#endif
    EXPECT_TRUE(seen.insert(id).second);
    const std::string script = one["script"].get<std::string>();
    const std::string input = one.value("input", json()).dump();
    // Only those that may end by the clock wait for it.
    const bool may_stop = one["expect"].dump().find("limitExceeded:wallClock") != std::string::npos ||
                          one["expect"].dump().find("\"limitExceeded\"") != std::string::npos;
    patience_ = std::chrono::milliseconds(may_stop ? 200 : 20'000);
    const RunResult result = run(script, input, limits);
    patience_ = std::chrono::seconds(20);
    const bool twice = one["expect"].contains("differs_between_runs");
    check(one["expect"], result, twice ? run(script, input, limits) : RunResult{});
    if (one.contains("next_run")) check(one["next_expect"], run(one["next_run"].get<std::string>()), {});
    expect_clean();
  }
  EXPECT_GE(seen.size(), 50U);
}

}  // namespace
}  // namespace heddle::engine

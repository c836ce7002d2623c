#include "report.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace heddle::cli {
namespace {

using sandbox::quickjs::LimitKind;
using sandbox::quickjs::Outcome;

// SBX-21: the list is closed, every kind has a row, and no two outcomes share a name or an exit code.
TEST(ReportTest, TheTableIsWhole) {
  std::set<std::string_view> names;
  std::set<int> codes{kExitSomeNotOk, kExitUsage, kExitOutput, kExitBrokenPipe};
  for (const OutcomeRow& row : outcome_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(codes.insert(row.exit_code).second) << row.exit_code;
    EXPECT_TRUE(row.exit_code < 64 || row.kind == OutcomeKind::cancelled) << row.name;
    EXPECT_EQ(&row_of(row.kind), &row);
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"ok", "scriptError", "limitExceeded", "inputTooLarge",
                                               "inputNotSerializable", "shapeMismatch", "cancelled", "failed"}));
  std::set<std::string_view> limits;
  for (const LimitRow& row : limit_table()) limits.insert(row.name);
  EXPECT_EQ(limits, (std::set<std::string_view>{"cpu", "memory", "wallClock", "output"}));
}

// The manual and the table say the same.
TEST(ReportTest, TheManualHasTheTable) {
  std::ifstream file(HEDDLE_COMMAND_MANUAL);
  const std::string manual{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  ASSERT_FALSE(manual.empty());
  for (const OutcomeRow& row : outcome_table()) {
    const std::string line = "| `" + std::string(row.name) + "` | " + std::to_string(row.exit_code) + " |";
    EXPECT_NE(manual.find(line), std::string::npos) << line;
  }
}

// SBX-4: each outcome of the backend has its channel; every object is one line of JSON with an outcome and a time.
TEST(ReportTest, EachOutcomeHasItsChannel) {
  const auto object = [](Outcome outcome) {
    outcome.elapsed = std::chrono::microseconds(2'000'045);
    const auto text = to_json(report_of(std::move(outcome)));
    EXPECT_EQ(text.find('\n'), std::string::npos);
    return nlohmann::json::parse(text);
  };
  Outcome outcome;
  outcome.kind = Outcome::Kind::ok;
  outcome.value = "[1,\n2]";
  EXPECT_EQ(object(outcome), nlohmann::json::parse(R"({"outcome":"ok","value":[1,2],"ms":2000.045})"));
  outcome.kind = Outcome::Kind::threw;
  outcome.message = std::string(5'000'000, 'x') + "\xFF";
  EXPECT_EQ(object(outcome)["name"], nullptr);
  EXPECT_EQ(object(outcome)["message"], std::string(2048, 'x'));  // SBX-6
  EXPECT_FALSE(object(outcome).contains("line"));
  outcome.name = "Error";
  outcome.line = 2;
  EXPECT_EQ(object(outcome)["line"], 2);
  EXPECT_FALSE(object(outcome).contains("column"));
  outcome.kind = Outcome::Kind::limit;
  for (const auto& [kind, name] :
       {std::pair(LimitKind::cpu, "cpu"), std::pair(LimitKind::memory, "memory"),
        std::pair(LimitKind::wall_clock, "wallClock"), std::pair(LimitKind::output, "output")}) {
    outcome.limit = kind;
    EXPECT_EQ(object(outcome), (nlohmann::json{{"outcome", "limitExceeded"}, {"kind", name}, {"ms", 2000.045}}));
  }
  outcome.kind = Outcome::Kind::input_too_large;
  EXPECT_EQ(object(outcome), (nlohmann::json{{"outcome", "inputTooLarge"}, {"ms", 2000.045}}));
  outcome.kind = Outcome::Kind::cancelled;
  EXPECT_EQ(object(outcome), (nlohmann::json{{"outcome", "cancelled"}, {"ms", 2000.045}}));
  outcome.kind = Outcome::Kind::infrastructure;
  outcome.error = core::make_error(core::Errc::start_up, "start the worker", "it \"died\"");
  EXPECT_EQ(object(outcome)["message"], "start the worker: it \"died\"");
  // SBX-5: no known kind is a failure, never a guess.
  outcome.kind = static_cast<Outcome::Kind>(99);
  EXPECT_EQ(object(outcome)["outcome"], "failed");
}

// JAIL-14: the object has the member only when it was asked for; a guest's bytes stay one line of text.
TEST(Report, ExplainsWhenAsked) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::ok;
  outcome.value = "42";
  EXPECT_FALSE(nlohmann::json::parse(to_json(report_of(outcome))).contains("explain"));
  sandbox::quickjs::Explanation explanation;
  explanation.applied = {"a \"fact\""};
  explanation.denied.push_back({"openat", "", "openat /\x1b[31m (observed): rule", "rule", "hint"});
  explanation.dropped = 3;
  outcome.explanation = explanation;
  const auto json = nlohmann::json::parse(to_json(report_of(outcome)))["explain"];
  EXPECT_EQ(json["applied"][0], "a \"fact\"");
  EXPECT_EQ(json["denied"][0]["syscall"], "openat");
  EXPECT_EQ(json["denied"][0]["hint"], "hint");
  EXPECT_EQ(json["dropped"], 3);
  const std::string text = explanation_text(explanation);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("(hint)"), std::string::npos);
  EXPECT_NE(text.find("3 more"), std::string::npos);
  EXPECT_NE(explanation_text({}).find("denied: nothing"), std::string::npos);
}

}  // namespace
}  // namespace heddle::cli

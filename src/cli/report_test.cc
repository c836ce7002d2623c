#include "report.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace heddle::cli {
namespace {

using sandbox::Channel;
using sandbox::Evaluated;
using sandbox::Limit;
using sandbox::SandboxFailure;

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
  for (const LimitRow& row : limit_table()) limits.insert(sandbox::limit_name(row.limit));
  EXPECT_EQ(limits, (std::set<std::string_view>{"cpu", "memory", "wallClock", "output"}));
}

// SBX-25, SBX-26, JRN-4: what a run remarks is in the object, and, safe for a terminal, in lines for people.
TEST(ReportTest, WhatARunRemarksIsSaid) {
  using Level = sandbox::spi::ConsoleLevel;
  Report plain = report(OutcomeKind::ok);
  plain.value = "1";
  EXPECT_EQ(to_json(plain), R"({"outcome":"ok","value":1,"ms":0.000})");
  EXPECT_EQ(remarks_text(plain), "");
  plain.remarks = {{{Level::log, "a\n\x1B[31mb"}, {Level::error, ""}}, true, "", "odd\nvalue"};
  EXPECT_EQ(to_json(plain),
            R"({"outcome":"ok","value":1,"ms":0.000,"note":"odd\nvalue",)"
            R"("console":[{"level":"log","text":"a\n\u001b[31mb"},{"level":"error","text":""}],"consoleCut":true})");
  EXPECT_EQ(remarks_text(plain),
            "console.log: a\n   [31mb\nconsole.error: \nheddle: the console is cut here; no more of it is kept\n"
            "heddle: note: odd value\n");
  Report threw = report(OutcomeKind::script_error, "m");
  EXPECT_EQ(to_text(threw, "s.js"), "heddle: s.js: m (correct the script)");
  threw.remarks.hint = "do\nthis";
  EXPECT_EQ(to_text(threw, "s.js"), "heddle: s.js: m (do this)");
  EXPECT_EQ(to_json(threw), R"({"outcome":"scriptError","name":null,"message":"m","ms":0.000,"hint":"do\nthis"})");
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

// SBX-21: each reply of the effect has its object, one line of JSON with an outcome and a time.
TEST(ReportTest, EachReplyHasItsObject) {
  const auto object = [](sandbox::SandboxEffect::Reply reply) {
    RunEnd end{std::move(reply), {}};
    end.facts.elapsed = std::chrono::microseconds(2'000'045);
    const auto text = to_json(report_of(std::move(end)));
    EXPECT_EQ(text.find('\n'), std::string::npos);
    return nlohmann::json::parse(text);
  };
  EXPECT_EQ(object(Evaluated{"[1,2]", std::nullopt}),
            nlohmann::json::parse(R"({"outcome":"ok","value":[1,2],"ms":2000.045})"));
  SandboxFailure failure;
  failure.message = "a\nb";
  EXPECT_EQ(object(failure),
            nlohmann::json::parse(R"({"outcome":"scriptError","name":null,"message":"a\nb","ms":2000.045})"));
  failure.name = "Error";
  failure.line = 2;
  EXPECT_EQ(object(failure)["name"], "Error");
  EXPECT_EQ(object(failure)["line"], 2);
  EXPECT_FALSE(object(failure).contains("column"));
  failure.channel = Channel::limit_exceeded;
  for (const LimitRow& row : limit_table()) {
    failure.limit = row.limit;
    EXPECT_EQ(object(failure), (nlohmann::json{{"outcome", "limitExceeded"},
                                               {"kind", std::string(sandbox::limit_name(row.limit))},
                                               {"ms", 2000.045}}));
  }
  failure.limit.reset();
  failure.channel = Channel::input_too_large;
  EXPECT_EQ(object(failure), (nlohmann::json{{"outcome", "inputTooLarge"}, {"ms", 2000.045}}));
  failure.channel = Channel::input_not_serializable;
  EXPECT_EQ(object(failure),
            (nlohmann::json{{"outcome", "inputNotSerializable"}, {"message", "a\nb"}, {"ms", 2000.045}}));
  failure.channel = Channel::shape_mismatch;
  EXPECT_EQ(object(failure), (nlohmann::json{{"outcome", "shapeMismatch"}, {"message", "a\nb"}, {"ms", 2000.045}}));
  EXPECT_EQ(object(effect::Cancelled{"x"}), (nlohmann::json{{"outcome", "cancelled"}, {"ms", 2000.045}}));
  EXPECT_EQ(object(effect::untyped("it \"died\"")),
            (nlohmann::json{{"outcome", "failed"}, {"message", "it \"died\""}, {"ms", 2000.045}}));
}

// SBX-14: a result that the engine did not finish, since it was over its ceiling, is `output` and not `memory`. Nothing
// else is changed by that fact.
TEST(ReportTest, TheCeilingOfTheOutputIsNamed) {
  SandboxFailure failure;
  failure.channel = Channel::limit_exceeded;
  failure.limit = Limit::memory;
  sandbox::quickjs::RunFacts facts;
  EXPECT_EQ(report_of({failure, facts}).limit, Limit::memory);
  facts.output_exceeded = true;
  EXPECT_EQ(report_of({failure, facts}).limit, Limit::output);
  failure.limit = Limit::wall_clock;
  EXPECT_EQ(report_of({failure, facts}).limit, Limit::wall_clock);
}

// JAIL-14: the object has the member only when it was asked for; a guest's bytes stay one line of text.
TEST(Report, ExplainsWhenAsked) {
  RunEnd end{Evaluated{"42", std::nullopt}, {}};
  EXPECT_FALSE(nlohmann::json::parse(to_json(report_of(end))).contains("explain"));
  sandbox::quickjs::Explanation explanation;
  explanation.applied = {"a \"fact\""};
  explanation.denied.push_back({"openat", "", "openat /\x1b[31m (observed): rule", "rule", "hint"});
  explanation.dropped = 3;
  end.facts.explanation = explanation;
  const auto json = nlohmann::json::parse(to_json(report_of(end)))["explain"];
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

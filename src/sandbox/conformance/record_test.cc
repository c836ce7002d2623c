#include "heddle/sandbox/conformance/record.h"

#include <gtest/gtest.h>

namespace heddle::sandbox::conformance {
namespace {

Record example() {
  Report report;
  report.declaration.language = "model";
  report.declaration.network = spi::Network::allowlist;
  report.declaration.memory = true;
  for (int i = 0; i < static_cast<int>(kCaseCount); ++i) {
    CaseResult result;
    result.id = static_cast<CaseId>(i);
    result.status = i == 4 ? CaseStatus::skipped : CaseStatus::passed;
    result.reason = i == 4 ? "cpu is not declared" : "";
    result.took = std::chrono::milliseconds(i);
    report.cases.push_back(result);
  }
  return {std::string(kKitVersion), effect::ContentAddress::of("binary"), fixtures_json(javascript_fixtures()), report};
}

// CNF-8, CNF-10: with its scripts, whole.
TEST(Record, ComesBackAsItWasWritten) {
  const std::string text = record_json(example());
  const Record record = parse_record(text).value();
  EXPECT_EQ(record_json(record), text);
  EXPECT_EQ(record.binary, effect::ContentAddress::of("binary"));
  EXPECT_EQ(
      declaration_json(record.report.declaration),
      R"({"cpu":false,"freshPerRun":false,"language":"model","memory":true,"network":"allowlist","wallClock":"soft"})");
  EXPECT_EQ(record.fixtures, fixtures_json(javascript_fixtures()));
}

// CNF-8: a record that was edited into something else is none.
TEST(Record, IsReadStrictly) {
  const std::string good = record_json(example());
  const auto with = [&good](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  for (const std::string& bad :
       {std::string(), std::string("[]"), with("\"kit\"", "\"kid\""), with("sha256:", "sha512:"),
        with("\"echo\"", "\"ecco\""), with("\"passed\": true", "\"passed\": false"), with("\"passed\"", "\"best\""),
        with("allowlist", "some"), with("\"memory\": true", "\"memory\": 1"),
        with("\"echo\": \"input\"", "\"echo\": \"1\""), with("\"address\"", "\"name\""),
        with("\"content\"", "\"text\""), good + "x"}) {
    EXPECT_FALSE(parse_record(bad).ok()) << bad;
  }
  // A failed case under a verdict of "passed".
  EXPECT_FALSE(parse_record(with("\"status\": \"passed\"", "\"status\": \"failed\"")).ok());
}

}  // namespace
}  // namespace heddle::sandbox::conformance

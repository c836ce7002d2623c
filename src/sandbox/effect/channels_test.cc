#include "heddle/sandbox/effect/channels.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace heddle::sandbox {
namespace {

std::string outcome_words(const OutcomeRow& row) {
  switch (row.kind) {
    case spi::Outcome::Kind::ok:
      return "`ok`";
    case spi::Outcome::Kind::limit:
      return "`limit` " + std::string(limit_name(*row.reported));
    case spi::Outcome::Kind::threw:
      return "`threw`";
    case spi::Outcome::Kind::input_too_large:
      return "`input_too_large`";
    case spi::Outcome::Kind::infrastructure:
      return "`infrastructure`";
    case spi::Outcome::Kind::none:
      break;
  }
  return "?";
}

std::string line_of(const OutcomeRow& row) {
  const std::string reply = row.meaning == Meaning::value     ? "value"
                            : row.meaning == Meaning::channel ? "typed failure"
                                                              : "untyped failure, may be tried again";
  const std::string channel = row.channel ? "`" + std::string(channel_name(*row.channel)) + "`" : "–";
  const std::string detail = row.reported ? "`" + std::string(limit_name(*row.reported)) + "`" : "–";
  return "| " + outcome_words(row) + " | " + reply + " | " + channel + " | " + detail + " |";
}

// SBX-21: the guide's table is the code's, row for row.
TEST(OutcomeTable, IsTheGuides) {
  std::ifstream guide(HEDDLE_OUTCOMES_GUIDE);
  ASSERT_TRUE(guide.is_open());
  std::vector<std::string> rows;
  bool inside = false;
  for (std::string line; std::getline(guide, line);) {
    if (line.rfind("| outcome of the backend |", 0) == 0) {
      inside = true;
    } else if (inside && line.rfind("|", 0) != 0) {
      break;
    } else if (inside && line.rfind("|---", 0) != 0) {
      rows.push_back(line);
    }
  }
  std::vector<std::string> wanted;
  for (const OutcomeRow& row : outcome_table()) wanted.push_back(line_of(row));
  EXPECT_EQ(rows, wanted);
}

// SBX-4, SBX-21: no two rows for one outcome, and none for what is no outcome.
TEST(OutcomeTable, HasOneRowForEachOutcome) {
  for (const OutcomeRow& row : outcome_table()) {
    spi::Outcome outcome;
    outcome.kind = row.kind;
    if (row.limit) outcome.limit = *row.limit;
    EXPECT_EQ(row_of(outcome), &row);
  }
  EXPECT_EQ(row_of(spi::Outcome()), nullptr);
}

// SBX-21, SBX-22: a flow reads back what was recorded.
TEST(Channels, ComeBackFromWhatIsRecorded) {
  SandboxFailure failure;
  failure.name = "Range\"Error";
  failure.message = "no\n\u00e9";
  auto again = from_typed(to_typed(failure)).value();
  EXPECT_EQ(again.channel, Channel::script_error);
  EXPECT_EQ(again.name, failure.name);
  EXPECT_EQ(again.message, failure.message);
  failure.name.reset();
  EXPECT_FALSE(from_typed(to_typed(failure))->name);
  for (const Limit limit : {Limit::cpu, Limit::memory, Limit::wall_clock, Limit::output}) {
    failure.channel = Channel::limit_exceeded;
    failure.limit = limit;
    EXPECT_EQ(from_typed(to_typed(failure))->limit, limit);
  }
  EXPECT_FALSE(from_typed({"limitExceeded", R"({"kind":"none"})", ""}));
  EXPECT_FALSE(from_typed({"effectDenied", "{}", ""}));
  EXPECT_FALSE(from_typed({"scriptError", "no JSON", ""}));
}

}  // namespace
}  // namespace heddle::sandbox

#include "heddle/effect/runtime/policy.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>

namespace heddle::effect {
namespace {

using namespace std::chrono_literals;

// EFF-1, EFF-5: all that may stand in a policy.
TEST(Policy, IsReadWhole) {
  const auto policy = parse_policy(R"(
[[rule]]
name = "known scripts"
effect = "sandboxEval"
flow = "report-*"
annotations = { script = "sha256:aa", "with blank" = "*" }
verdict = "allow"

[[rule]]
name = "no mail"
effect = "mail*"
verdict = "deny"
reason = "ask first"

[schedule]
total = 8
each = 4
effects = { sandboxEval = 2, "fs.read" = 3 }

[budget]
calls = 100
time_ms = 1500
bytes = 10_000
cost = 0

[price.sandboxEval]
per_call = 1
per_second = 2
per_kib = 3
)",
                                   "p.toml");
  ASSERT_TRUE(policy.ok()) << policy.error().message();
  const Policy& read = policy.value();
  ASSERT_EQ(read.rules.size(), 2U);
  EXPECT_EQ(read.rules[0].name, "known scripts");
  EXPECT_EQ(read.rules[0].flow, "report-*");
  EXPECT_EQ(read.rules[0].annotations.size(), 2U);
  EXPECT_EQ(read.rules[0].verdict, Rule::Verdict::allow);
  EXPECT_EQ(read.rules[1].verdict, Rule::Verdict::deny);
  EXPECT_EQ(read.rules[1].flow, "*");
  EXPECT_EQ(read.rules[1].reason, "ask first");
  EXPECT_EQ(read.schedule.total, 8U);
  EXPECT_EQ(read.schedule.each, 4U);
  EXPECT_EQ(read.schedule.effects.at("fs.read"), 3U);
  EXPECT_EQ(read.budget.calls, 100U);
  EXPECT_EQ(read.budget.time, 1500ms);
  EXPECT_EQ(read.budget.bytes, 10'000U);
  EXPECT_EQ(read.budget.cost, 0U);
  EXPECT_EQ(read.prices.at("sandboxEval").per_kib, 3U);
}

// EFF-3: an empty policy allows nothing.
TEST(Policy, DeniesWhenItIsEmpty) {
  const Policy policy = parse_policy("", "p.toml").value();
  EXPECT_TRUE(policy.rules.empty());
  EXPECT_FALSE(policy.budget.calls || policy.budget.time || policy.budget.bytes || policy.budget.cost);
}

// EFF-3: a slip of the pen is an error with its line, never a policy that says something else.
TEST(Policy, RefusesWhatItDoesNotKnow) {
  struct Case {
    const char* toml;
    const char* said;
  };
  constexpr std::array kCases{
      Case{"[[rule]]\nname = \"a\"\nverdct = \"deny\"\n", "p.toml:3: there is nothing named verdct here"},
      Case{"[[rule]]\nname = \"a\"\n", "needs a verdict"},
      Case{"[[rule]]\nverdict = \"allow\"\n", "needs a name"},
      Case{"[[rule]]\nname = \"a\"\nverdict = \"maybe\"\n", "p.toml:3: verdict is"},
      Case{"[[rule]]\nname = 1\nverdict = \"allow\"\n", "name must be a text"},
      Case{"[[rule]]\nname = \"a\"\nverdict = \"allow\"\nannotations = [\"x\"]\n", "annotations must be a table"},
      Case{"[[rule]]\nname = \"a\"\nverdict = \"allow\"\nannotations = {x = 1}\n", "x must be a text"},
      Case{"[rule]\nname = \"a\"\n", "rules are written [[rule]]"},
      Case{"rules = []\n", "p.toml:1: there is nothing named rules here"},
      Case{"[schedule]\ntotal = 0\n", "p.toml:2: total must be above zero"},
      Case{"[schedule]\neffects = {a = 0}\n", "a must be above zero"},
      Case{"[schedule]\nall = 1\n", "there is nothing named all here"},
      Case{"[budget]\ncalls = -1\n", "p.toml:2: calls must be a whole number"},
      Case{"[budget]\ncalls = 1.5\n", "calls must be a whole number"},
      Case{"[budget]\ncalls = \"9\"\n", "calls must be a whole number"},
      Case{"[budget]\ntime = 9\n", "there is nothing named time here"},
      Case{"[budget]\ntime_ms = 9223372036854775807\n", "time_ms is too large"},
      Case{"[price]\nsandboxEval = 1\n", "a price must be a table"},
      Case{"[price.a]\nper_hour = 1\n", "there is nothing named per_hour here"},
      Case{"[budget]\ncalls = 1\ncalls = 2\n", "p.toml:3"},
      Case{"[budget\n", "p.toml:1"},
      Case{"x = \"\xFF\"\n", "not UTF-8"},
  };
  for (const Case& one : kCases) {
    const auto policy = parse_policy(one.toml, "p.toml");
    ASSERT_FALSE(policy.ok()) << one.toml;
    EXPECT_EQ(policy.error().code, core::Errc::malformed);
    EXPECT_NE(policy.error().message().find(one.said), std::string::npos) << one.toml << policy.error().message();
  }
}

// EFF-3: nor does one that is made to be deep end the process.
TEST(Policy, RefusesWhatIsTooDeep) {
  std::string key = "a";
  for (int i = 0; i < 200'000; ++i) key += ".a";
  const auto policy = parse_policy("[budget]\n" + key + " = 1", "p.toml");
  ASSERT_FALSE(policy.ok());
  EXPECT_NE(policy.error().message().find("p.toml:2:"), std::string::npos) << policy.error().message();
}

// EFF-3
TEST(Policy, ComesFromAFile) {
  const std::string path = ::testing::TempDir() + "heddle-policy-test.toml";
  std::ofstream(path) << "[budget]\ncalls = 7\n";
  EXPECT_EQ(load_policy(path).value().budget.calls, 7U);
  std::ofstream(path) << "[budgt]\n";
  EXPECT_NE(load_policy(path).error().message().find(path + ":1"), std::string::npos);
  std::remove(path.c_str());
  EXPECT_EQ(load_policy(path).error().sys_errno, ENOENT);
}

}  // namespace
}  // namespace heddle::effect

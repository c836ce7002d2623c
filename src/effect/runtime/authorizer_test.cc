#include "heddle/effect/runtime/authorizer.h"

#include <gtest/gtest.h>

namespace heddle::effect {
namespace {

Decision decide(const Authorizer& authorizer, std::string_view flow, std::string_view effect,
                const Annotations& annotations = {}) {
  return authorizer.authorize({flow, "1", effect, "null", annotations});
}

Rule rule(std::string name, std::string effect, std::string flow, Rule::Verdict verdict) {
  return Rule{std::move(name), std::move(effect), std::move(flow), {}, verdict, {}};
}

// EFF-3: patterns.
TEST(Authorizer, MatchesPatterns) {
  for (const auto& [pattern, text] : {std::pair("*", ""),
                                      {"*", "x"},
                                      {"abc", "abc"},
                                      {"a*", "a"},
                                      {"a*c", "abbc"},
                                      {"*c", "abc"},
                                      {"a*b*c", "aXbYbZc"},
                                      {"**", "x"},
                                      {"*aab", "aaaab"}}) {
    EXPECT_TRUE(matches_pattern(pattern, text)) << pattern << ' ' << text;
  }
  for (const auto& [pattern, text] : {std::pair("", "x"),
                                      {"abc", "abcd"},
                                      {"abc", "ab"},
                                      {"a*c", "ab"},
                                      {"*b", "abc"},
                                      {"a?c", "abc"},
                                      {"A", "a"},
                                      {"a*b*c", "acb"}}) {
    EXPECT_FALSE(matches_pattern(pattern, text)) << pattern << ' ' << text;
  }
  const std::string many(20'000, 'a');
  EXPECT_FALSE(matches_pattern("*a*a*a*a*a*b", many)) << "and in good time";
}

// EFF-3: the first rule that matches decides; what none allows is denied.
TEST(Authorizer, TheFirstRuleDecides) {
  const RuleAuthorizer rules(
      {rule("no rm", "fs.remove", "*", Rule::Verdict::deny), rule("files", "fs.*", "report-*", Rule::Verdict::allow)});
  EXPECT_TRUE(decide(rules, "report-1", "fs.read").allowed());
  EXPECT_EQ(decide(rules, "report-1", "fs.remove").rule(), "no rm");
  EXPECT_EQ(decide(rules, "other", "fs.read").rule(), "default");
  EXPECT_EQ(decide(RuleAuthorizer({}), "f", "a").rule(), "default");
}

// EFF-3, SBX-13: a rule for one script holds for no other, and for no call that names none.
TEST(Authorizer, MatchesAnnotations) {
  Rule known = rule("known", "sandboxEval", "*", Rule::Verdict::allow);
  known.annotations = {{"script", "sha256:aa*"}};
  const RuleAuthorizer rules({known});
  EXPECT_TRUE(decide(rules, "f", "sandboxEval", {{"shapeHash", "x"}, {"script", "sha256:aabb"}}).allowed());
  EXPECT_FALSE(decide(rules, "f", "sandboxEval", {{"script", "sha256:bb"}}).allowed());
  EXPECT_FALSE(decide(rules, "f", "sandboxEval").allowed());
}

// EFF-3: nobody to ask is no.
TEST(Authorizer, DeniesWhenThereIsNobodyToAsk) {
  EXPECT_FALSE(decide(CallbackAuthorizer(nullptr), "f", "a").allowed());
  EXPECT_FALSE(decide(EveryAuthorizer({}), "f", "a").allowed());
  EXPECT_FALSE(decide(EveryAuthorizer({nullptr}), "f", "a").allowed());
}

// EFF-3: all have to allow it.
TEST(Authorizer, AsksEveryOne) {
  const auto yes = std::make_shared<CallbackAuthorizer>([](const Request&) { return Decision::allow(); });
  int asked = 0;
  const auto no = std::make_shared<CallbackAuthorizer>([&](const Request&) {
    ++asked;
    return Decision::deny("mine", "because");
  });
  EXPECT_TRUE(decide(EveryAuthorizer({yes, yes}), "f", "a").allowed());
  EXPECT_EQ(decide(EveryAuthorizer({yes, no}), "f", "a").rule(), "mine");
  EXPECT_EQ(decide(EveryAuthorizer({no, yes}), "f", "a").reason(), "because");
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace heddle::effect

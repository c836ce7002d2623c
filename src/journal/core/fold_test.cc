#include "heddle/journal/core/fold.h"

#include <gtest/gtest.h>

#include "testing/history.h"

namespace heddle::journal {
namespace {

constexpr EffectRef kFetch{"f", "k", "fetch", 1};

State folded(const std::vector<Draft>& drafts) {
  State state;
  for (const Fact& fact : testing::facts_of(drafts)) apply(state, fact);
  return state;
}

const EffectState& effect(const State& state) { return state.flows.at("f").effects.at("k"); }

// JRN-3, EFF-6
TEST(Fold, FollowsAnEffectFromIntentToOutcome) {
  const Draft begun = intent(kFetch, Repeatable::yes, {}, "1");
  State state = folded({flow_started("f", "nightly", "0"), begun});
  EXPECT_EQ(state.sequence, 2U);
  EXPECT_EQ(state.flows.at("f").name, "nightly");
  EXPECT_EQ(effect(state).effect, "fetch");
  EXPECT_EQ(effect(state).phase, EffectPhase::begun);
  EXPECT_TRUE(effect(state).repeatable);
  EXPECT_EQ(effect(state).intent, 2U);

  state = folded({begun, outcome_error(kFetch, "gone", Repeatable::yes), intent(kFetch, Repeatable::no, {}, "1"),
                  outcome_success(kFetch, "2")});
  EXPECT_EQ(effect(state).phase, EffectPhase::succeeded);
  EXPECT_EQ(effect(state).attempts, 2U);
  EXPECT_EQ(effect(state).intent, 3U);
  EXPECT_EQ(effect(state).settled_by, 4U);
  EXPECT_FALSE(effect(state).repeatable);

  EXPECT_EQ(effect(folded({begun, outcome_failure(kFetch, "c", "m", "{}")})).phase, EffectPhase::failed);
  EXPECT_EQ(effect(folded({begun, outcome_error(kFetch, "m", Repeatable::no)})).phase, EffectPhase::errored);
  EXPECT_EQ(effect(folded({begun, outcome_cancelled(kFetch, "m")})).phase, EffectPhase::cancelled);
}

// EFF-6
TEST(Fold, AnOperatorResolvesADoubt) {
  const Draft begun = intent(kFetch, Repeatable::no, {}, "1");
  const State done = folded({begun, resolved(kFetch, Resolution::success, "op", "", "2")});
  EXPECT_EQ(effect(done).phase, EffectPhase::succeeded);
  EXPECT_EQ(effect(done).settled_by, 2U);
  EXPECT_EQ(effect(folded({begun, resolved(kFetch, Resolution::failure, "op", "", {})})).phase, EffectPhase::failed);
  EXPECT_EQ(effect(folded({begun, resolved(kFetch, Resolution::run_again, "op", "", {})})).phase, EffectPhase::none);
}

// JRN-8, EFF-3
TEST(Fold, DenialsAreCountedByWhoRefused) {
  const State state =
      folded({intent(kFetch, Repeatable::no, {}, "1"), access_denied(kFetch, "openat", "/etc/passwd", "landlock"),
              egress_denied(kFetch, "evil.test", 443, "", "allow-list", "not listed"), outcome_success(kFetch, "2"),
              effect_denied({"f", "other", "fetch", 1}, "deny-all", "no")});
  EXPECT_EQ(effect(state).phase, EffectPhase::succeeded);
  EXPECT_EQ(effect(state).denials, (Denials{0, 1, 1, 3}));
  EXPECT_EQ(state.flows.at("f").effects.at("other").phase, EffectPhase::denied);
  EXPECT_EQ(state.flows.at("f").denials, (Denials{1, 1, 1, 5}));
}

TEST(Fold, AFlowEndsAndMayStartAgain) {
  const Draft started = flow_started("f", "n", "0");
  const Draft ended = flow_ended("f", Ending::failure, "c", "m", {});
  EXPECT_EQ(folded({started, ended}).flows.at("f").ending, Ending::failure);
  EXPECT_EQ(folded({started, ended}).flows.at("f").ended, 2U);
  EXPECT_FALSE(folded({started, ended, started}).flows.at("f").ending);
}

// JRN-1
TEST(Fold, SkipsKindsThatItDoesNotKnow) {
  State state = folded({intent(kFetch, Repeatable::no, {}, "1")});
  const State before = state;
  Fact strange = testing::facts_of({intent(kFetch, Repeatable::no, {}, "1")})[0];
  strange.sequence = 2;
  strange.kind = Kind::unknown;
  strange.kind_text = "TELEPORTED";
  apply(state, strange);
  EXPECT_EQ(state.sequence, 2U);
  EXPECT_EQ(state.flows, before.flows);
}

// JRN-6: cut anywhere, written down and read back, then gone on with: the same state.
TEST(Fold, GoesOnFromAStateThatWasWrittenDown) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const std::vector<Fact> facts = testing::facts_of(testing::history(seed, 120));
    State whole;
    for (const Fact& fact : facts) apply(whole, fact);
    for (std::size_t cut = 0; cut <= facts.size(); cut += 7) {
      State state;
      for (std::size_t i = 0; i < cut; ++i) apply(state, facts[i]);
      auto read = state_from_json(state_json(state));
      ASSERT_TRUE(read.ok()) << read.error().message();
      ASSERT_EQ(read.value(), state);
      for (std::size_t i = cut; i < facts.size(); ++i) apply(read.value(), facts[i]);
      ASSERT_EQ(read.value(), whole) << "cut at " << cut;
    }
  }
}

TEST(Fold, AStateThatIsNoneIsRefused) {
  const std::string good = state_json(folded(testing::history(1, 40)));
  ASSERT_TRUE(state_from_json(good).ok());
  for (
      const char* bad :
      {"", "[]", "{}", "null", R"({"sequence":-1,"flows":{}})", R"({"sequence":1,"flows":[]})",
       R"({"sequence":1,"flows":{"f":{"name":"n","started":1,"ended":0,"denials":[0,0,0],"effects":{}}}})",
       R"({"sequence":1,"flows":{"f":{"name":"n","started":1,"ended":0,"denials":[0,0,0,0],"effects":{"k":["e",9,0,0,0,0,[0,0,0,0]]}}}})",
       R"({"sequence":1,"flows":{"f":{"name":"n","ending":"x","started":1,"ended":0,"denials":[0,0,0,0],"effects":{}}}})"}) {
    EXPECT_FALSE(state_from_json(bad).ok()) << bad;
  }
  for (std::size_t cut = 0; cut < good.size(); ++cut) EXPECT_FALSE(state_from_json(good.substr(0, cut)).ok());
}

}  // namespace
}  // namespace heddle::journal

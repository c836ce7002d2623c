// Retention: what pruning takes away, what it leaves, and how it shows. Compiled into each store's test program.
#include <gtest/gtest.h>

#include "heddle/journal/core/fold.h"
#include "heddle/journal/core/prune.h"
#include "heddle/journal/core/replay.h"
#include "testing/store_test.h"

namespace heddle::journal::testing {
namespace {

using core::Errc;

class Prune : public StoreTest {
 protected:
  Prune() { backend_->index_every = 4; }

  static std::vector<Draft> flow(const std::string& id, bool ended) {
    const EffectRef ref{id, "1", "mail", 1};
    std::vector<Draft> drafts{flow_started(id, "code", R"({"secret":1})"), intent(ref, Repeatable::no, {}, "[2]"),
                              outcome_success(ref, '"' + std::string(kInlineBodyBytes, 's') + id + '"')};
    if (ended) drafts.push_back(flow_ended(id, Ending::success, {}, {}, "3"));
    return drafts;
  }

  static PruneOptions everything() { return {now() + std::chrono::hours(1), {}, "ops", "retention"}; }

  // Two flows that have ended, interleaved with one that has not.
  std::unique_ptr<Store> some_flows() {
    auto store = backend_->open();
    const std::vector<Draft> a = flow("a", true), b = flow("b", true), open = flow("open", false);
    for (std::size_t i = 0; i < a.size(); ++i) {
      for (const std::vector<Draft>* each : {&a, &open, &b}) {
        if (i == each->size()) continue;
        EXPECT_TRUE(store->append_one((*each)[i], soon()).ok());
      }
    }
    return store;
  }

  std::vector<Fact> of_flow(Store& store, const std::string& id) {
    Query query;
    query.flow = id;
    const auto page = store.read(query, soon());
    EXPECT_TRUE(page.ok()) << page.error().message();
    return page.ok() ? page.value().facts : std::vector<Fact>();
  }
};

// JRN-11: contents of flows that have ended go, a fact says which, and everything else is as it was.
TEST_F(Prune, TakesAwayWhatOldFlowsSaid) {
  const auto store = some_flows();
  const std::vector<Fact> before = all(*store);
  ASSERT_EQ(before.size(), 11U);
  const PrunePlan plan = plan_prune(*store, everything(), soon()).value();
  EXPECT_EQ(plan.flows, 2U);
  EXPECT_EQ(plan.facts, 8U);
  EXPECT_EQ(prune(*store, plan, everything(), soon()).value(), 12U);

  const auto reopened = backend_->open();
  const std::vector<Fact> after = all(*reopened);
  ASSERT_EQ(after.size(), 12U);
  for (std::size_t i = 0; i < before.size(); ++i) {
    Fact expected = before[i];
    if (expected.flow != "open") {
      expected.payload = "{}";
      expected.body.reset();
      expected.pruned = true;
    }
    EXPECT_EQ(after[i], expected) << i;
  }
  EXPECT_EQ(after[11].kind, Kind::pruned);
  EXPECT_EQ(after[11].payload, R"({"facts":8,"flows":2,"by":"ops","reason":"retention"})");
  EXPECT_EQ(after[11].body->text, "[[1,1],[3,4],[6,7],[9,11]]");
  for (const char* const id : {"a", "b"}) EXPECT_EQ(of_flow(*reopened, id).size(), 4U);
  EXPECT_EQ(of_flow(*reopened, "open").size(), 3U);

  const auto verified = verify(*reopened, soon());
  ASSERT_TRUE(verified.ok()) << verified.error().message();
  EXPECT_EQ(verified.value().pruned, 8U);
  const State state = replay(*reopened, {}, From::start, soon()).value();
  EXPECT_EQ(state.flows.size(), 1U);
  EXPECT_EQ(state.flows.count("open"), 1U);
  // It goes on as any journal does, and there is nothing left to prune.
  ASSERT_TRUE(reopened->append_one(draft("a", "x"), soon()).ok());
  EXPECT_EQ(of_flow(*store, "a").back().ordinal, 5U);
  EXPECT_EQ(plan_prune(*reopened, everything(), soon()).value().facts, 0U);
  EXPECT_EQ(prune(*reopened, {}, everything(), soon()).value(), 0U);
}

// JRN-11: by age, and by flow. The control: without these limits there is something to prune.
TEST_F(Prune, ByAgeAndByFlow) {
  const auto store = some_flows();
  PruneOptions options = everything();
  options.before = now() - std::chrono::hours(1);
  EXPECT_EQ(plan_prune(*store, options, soon()).value().facts, 0U);
  options = everything();
  options.flow = "b";
  const PrunePlan plan = plan_prune(*store, options, soon()).value();
  EXPECT_EQ(plan.flows, 1U);
  EXPECT_EQ(plan.facts, 4U);
  ASSERT_TRUE(prune(*store, plan, options, soon()).ok());
  EXPECT_FALSE(of_flow(*store, "a").at(0).pruned);
  EXPECT_TRUE(of_flow(*store, "b").at(0).pruned);
  options.flow = "open";
  EXPECT_EQ(plan_prune(*store, options, soon()).value().facts, 0U);
  // The body that both had is still there for who has it.
  EXPECT_TRUE(verify(*store, soon()).ok());
}

// JRN-11: contents that are gone without a word are damage, and so is a word that is not true.
TEST_F(Prune, VerifyFindsWhatNobodySaid) {
  const auto store = some_flows();
  ASSERT_TRUE(prune(*store, plan_prune(*store, everything(), soon()).value(), everything(), soon()).ok());
  ASSERT_TRUE(verify(*store, soon()).ok());
  backend_->run_sql("UPDATE fact SET payload = '', body = NULL, body_digest = NULL WHERE sequence = 5");
  const auto refused = verify(*store, soon());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::damaged);
  EXPECT_NE(refused.error().message().find("fact 5: what it said is gone"), std::string::npos)
      << refused.error().message();
}

TEST_F(Prune, AFactThatSaysWhatIsNotTrueIsFound) {
  const auto store = some_flows();
  for (const char* const ranges : {"[[1,1]]", "[[2,1]]", "[[1,99]]", "{}", "[[1]]", "[[0,1]]"}) {
    const auto lie = pruned(1, 1, "x", "x", ranges);
    ASSERT_TRUE(store->append_one(lie, soon()).ok());
    EXPECT_EQ(verify(*store, soon()).error().code, Errc::damaged) << ranges;
  }
}

// JRN-6, JRN-11: a snapshot of everything from before still has what was pruned, and is not used.
TEST_F(Prune, ASnapshotFromBeforeIsNotUsed) {
  const auto store = some_flows();
  ASSERT_TRUE(take_snapshot(*store, {}, soon()).ok());
  ASSERT_TRUE(take_snapshot(*store, "a", soon()).ok());
  ASSERT_TRUE(store->append_one(flow_ended("a", Ending::success, {}, {}, "3"), soon()).ok());
  ASSERT_TRUE(prune(*store, plan_prune(*store, everything(), soon()).value(), everything(), soon()).ok());
  for (const std::optional<std::string>& scope : {std::optional<std::string>(), std::optional<std::string>("a")}) {
    EXPECT_EQ(replay(*store, scope, From::newest_snapshot, soon()).value(),
              replay(*store, scope, From::start, soon()).value());
  }
  ASSERT_TRUE(take_snapshot(*store, {}, soon()).ok());
  EXPECT_EQ(replay(*store, {}, From::newest_snapshot, soon()).value(), replay(*store, {}, From::start, soon()).value());
}

TEST_F(Prune, WhatIsNotThereCannotBePruned) {
  const auto store = some_flows();
  const Range beyond[] = {{5, 12}};
  EXPECT_EQ(store->erase(beyond, pruned(1, 1, "x", "x", "[[5,12]]"), soon()).error().code, Errc::invalid_argument);
  EXPECT_EQ(store->head(soon()).value().sequence, 11U);
  EXPECT_TRUE(verify(*store, soon()).ok());
}

}  // namespace
}  // namespace heddle::journal::testing

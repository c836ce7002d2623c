// The tests of the index of flows that every store passes (JRN-2). Compiled into each store's test program.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>

#include "heddle/journal/core/flow_index.h"
#include "heddle/journal/core/replay.h"
#include "testing/history.h"
#include "testing/store_test.h"

namespace heddle::journal::testing {
namespace {

using core::Errc;

// An index that ends at fact 8 of 11, or as the test goes on to make it.
class FlowIndex : public StoreTest {
 protected:
  FlowIndex() { backend_->index_every = 4; }

  std::vector<Fact> of_flow(Store& store, Query query) {
    std::vector<Fact> facts;
    for (;;) {
      const auto page = store.read(query, soon());
      if (!page.ok()) {
        error_ = page.error();
        return facts;
      }
      facts.insert(facts.end(), page.value().facts.begin(), page.value().facts.end());
      if (page.value().at_end) return facts;
      EXPECT_GT(page.value().next, query.from);
      query.from = page.value().next;
    }
  }

  std::optional<core::Error> error_;
};

// JRN-1: a flow is the facts of that flow, wherever the index ends, wherever the reader begins, page by page or at
// once.
TEST_F(FlowIndex, AFlowIsTheSameOnBothSidesOfItsEnd) {
  const auto store = backend_->open();
  backend_->index_every = 1;  // of the first fact
  ASSERT_TRUE(backend_->open()->append_one(history(14, 1)[0], soon()).ok());
  const std::vector<Draft> drafts = history(14, 20);
  std::set<std::string> flows{"no such flow"};
  for (const Draft& made : drafts) flows.insert(made.flow);
  for (std::size_t at = 1; at < drafts.size();) {
    const std::size_t count = std::min(drafts.size() - at, at % 3 + 1);
    ASSERT_TRUE(store->append(std::span<const Draft>(drafts).subspan(at, count), soon()).ok());
    at += count;
    const std::vector<Fact> facts = all(*store);
    ASSERT_EQ(facts.size(), at);
    Query query;
    for (const std::string& flow : flows) {
      query.flow = flow;
      for (query.from = 1; query.from <= at + 1; query.from += 1 + query.from / 8) {
        for (const std::size_t limit : {1U, 2U, 1000U}) {
          query.limit = limit;
          for (const bool some : {false, true}) {
            query.kinds = some ? std::vector<Kind>{Kind::outcome, Kind::resolved} : std::vector<Kind>{};
            std::vector<Fact> expected;
            for (const Fact& fact : facts) {
              const bool wanted = !some || fact.kind == Kind::outcome || fact.kind == Kind::resolved;
              if (fact.flow == flow && fact.sequence >= query.from && wanted) expected.push_back(fact);
            }
            ASSERT_EQ(of_flow(*store, query), expected) << flow << " from " << query.from << " of " << at;
            ASSERT_FALSE(error_) << error_->message();
          }
        }
      }
    }
  }
  EXPECT_TRUE(verify(*store, soon()).ok());
}

// JRN-5: writers that take turns, each with an index in its own steps, number each flow as one writer does.
TEST_F(FlowIndex, WritersThatAlternateCountAsOne) {
  std::vector<std::unique_ptr<Store>> stores;
  for (const std::uint32_t every : {4U, 1U, kIndexEvery, 6U}) {
    backend_->index_every = every;
    stores.push_back(backend_->open());
  }
  std::mt19937 random(31);  // NOLINT(cert-msc51-cpp): the same turns every time
  std::map<std::string, std::uint64_t> counts;
  for (int turn = 0; turn < 150; ++turn) {
    // The one that seldom indexes is often alone, so that its counts are its own.
    Store& store = *stores[turn % 50 < 20 ? 2 : random() % stores.size()];
    std::vector<Draft> drafts;
    for (std::size_t left = 1 + random() % 3; left > 0; --left) {
      drafts.push_back(draft(std::to_string(random() % 7), std::to_string(turn)));
    }
    ASSERT_TRUE(store.append(drafts, soon()).ok());
    for (const Draft& made : drafts) ++counts[made.flow];
    Query query;
    query.flow = drafts.back().flow;
    const std::vector<Fact> facts = of_flow(*stores[random() % stores.size()], query);
    ASSERT_FALSE(error_) << error_->message();
    ASSERT_EQ(facts.size(), counts[*query.flow]);
    ASSERT_EQ(facts.back().ordinal, facts.size());
  }
  const auto verified = verify(*backend_->open(), soon());
  EXPECT_TRUE(verified.ok()) << verified.error().message();
}

// JRN-5, EFF-6: an index that lies is found by who reads the flow, or does no harm; and by verify in any case.
TEST_F(FlowIndex, NoticesWhenItLies) {
  const auto store = backend_->open();
  for (int i = 0; i < 11; ++i) ASSERT_TRUE(store->append_one(draft(i % 3 == 0 ? "g" : "f", "x"), soon()).ok());
  Query query;
  query.flow = "f";
  const std::vector<Fact> before = of_flow(*store, query);  // 2 3 5 6 8 | 9 11
  ASSERT_EQ(before.size(), 7U);
  ASSERT_TRUE(verify(*store, soon()).ok());
  // Gives whether reading the flow from 1 notices it.
  const auto lies = [&](const std::string& lie, const std::string& back) {
    backend_->run_sql(lie);
    const auto verified = verify(*store, soon());
    EXPECT_FALSE(verified.ok()) << lie;
    if (!verified.ok()) {
      EXPECT_EQ(verified.error().code, Errc::damaged) << verified.error().message();
    }
    bool noticed = false;
    for (const std::size_t limit : {1000U, 1U}) {
      error_.reset();
      query.limit = limit;
      const std::vector<Fact> facts = of_flow(*store, query);
      noticed = error_.has_value();
      if (noticed) {
        EXPECT_EQ(error_->code, Errc::damaged) << error_->message();
        EXPECT_TRUE(std::equal(facts.begin(), facts.end(), before.begin())) << lie;
      } else {
        EXPECT_EQ(facts, before) << lie;
      }
    }
    backend_->run_sql(back);
    EXPECT_TRUE(verify(*store, soon()).ok()) << back;
    return noticed;
  };
  const auto packed = [&](const std::vector<std::uint64_t>& sequences) {
    return backend_->blob(pack_sequences(sequences));
  };
  const std::map<std::string, std::vector<std::uint64_t>> rows{{"3", {2, 3}}, {"8", {5, 6, 8}}};
  for (const auto& [last, sequences] : rows) {
    const std::string which = " WHERE last = " + last;
    const std::string lost = "('f', " + last + ", " + packed(sequences) + ")";
    EXPECT_TRUE(
        lies("DELETE FROM flow_index" + which, "INSERT INTO flow_index (flow, last, sequences) VALUES " + lost));
    EXPECT_TRUE(lies("UPDATE flow_index SET flow = 'g'" + which, "UPDATE flow_index SET flow = 'f'" + which));
    EXPECT_TRUE(lies("UPDATE flow_index SET flow = 'h'" + which, "UPDATE flow_index SET flow = 'f'" + which));
    EXPECT_TRUE(
        lies("UPDATE flow_index SET last = 50" + which, "UPDATE flow_index SET last = " + last + " WHERE last = 50"));
    EXPECT_TRUE(lies("UPDATE flow_index SET last = 9223372036854775807" + which,
                     "UPDATE flow_index SET last = " + last + " WHERE last > 50"));
    const std::uint64_t end = sequences.back();
    // One less, another flow's, one too many, one of another row, one that is not there, none, and what is no row.
    for (const std::string& wrong :
         {packed({end}), packed({1, end}), packed({2, 3, 4, end + 1}), packed({2, 5, end}), packed({2, end, 11}),
          packed({2, end, 40}), backend_->blob(""), backend_->blob(std::string(1, '\0')), backend_->blob("\x80")}) {
      EXPECT_TRUE(lies("UPDATE flow_index SET sequences = " + wrong + which,
                       "UPDATE flow_index SET sequences = " + packed(sequences) + which))
          << wrong;
    }
  }
  EXPECT_TRUE(
      lies("UPDATE flow_index SET flow = 'f' WHERE last = 4", "UPDATE flow_index SET flow = 'g' WHERE last = 4"));
  EXPECT_TRUE(lies("INSERT INTO flow_index (flow, last, sequences) VALUES ('f', 9, " + packed({9}) + ")",
                   "DELETE FROM flow_index WHERE last = 9"));
  for (const char* flow : {"f", "g"}) {
    const bool mine = *flow == 'f';
    const std::string which = std::string(" WHERE id = '") + flow + "'";
    for (const char* change : {"facts - 1", "facts + 1", "-facts"}) {
      const std::string back = change[0] == '-' ? "-facts" : change[6] == '-' ? "facts + 1" : "facts - 1";
      EXPECT_EQ(
          lies("UPDATE flow SET facts = " + std::string(change) + which, "UPDATE flow SET facts = " + back + which),
          mine);
    }
    EXPECT_EQ(
        lies("UPDATE flow SET id = 'h'" + which, std::string("UPDATE flow SET id = '") + flow + "' WHERE id = 'h'"),
        mine);
  }
  EXPECT_FALSE(lies("INSERT INTO flow (id, facts) VALUES ('h', 1)", "DELETE FROM flow WHERE id = 'h'"));
  EXPECT_FALSE(
      lies("INSERT INTO flow (id, facts) VALUES ('', -9223372036854775808)", "DELETE FROM flow WHERE id = ''"));
  EXPECT_FALSE(lies("INSERT INTO flow_index (flow, last, sequences) VALUES ('', -9223372036854775808, " +
                        backend_->blob("\x01") + ")",
                    "DELETE FROM flow_index WHERE flow = ''"));
  // The end of the index. Where it says less than there is, all of the rest is looked through.
  for (const char* wrong : {"7", "9", "10", "11", "12", "-1"}) {
    EXPECT_TRUE(lies(std::string("UPDATE journal SET indexed = ") + wrong, "UPDATE journal SET indexed = 8")) << wrong;
  }
  EXPECT_EQ(of_flow(*store, query), before);
}

// JRN-1: of a long row of the index a page takes what it is about, so that a flow is not read anew for each page.
TEST_F(FlowIndex, APageTakesNoMoreThanItNeeds) {
  const auto store = backend_->open();
  ASSERT_TRUE(store->append(std::vector<Draft>(4, draft("f", "x")), soon()).ok());
  ASSERT_TRUE(store->append(std::vector<Draft>(46, draft("f", "x")), soon()).ok());
  backend_->run_sql("UPDATE fact SET effect = 'y' WHERE sequence IN (3, 20, 48)");
  Query query;
  query.flow = "f";
  query.limit = 5;
  for (const std::uint64_t from : {5U, 22U, 40U}) {
    query.from = from;
    const auto page = store->read(query, soon());
    ASSERT_TRUE(page.ok()) << page.error().message();
    ASSERT_EQ(page.value().facts.size(), 5U);
    EXPECT_EQ(page.value().facts[0].ordinal, from);
  }
  for (const std::uint64_t from : {1U, 16U, 44U}) {
    query.from = from;
    EXPECT_EQ(store->read(query, soon()).error().code, Errc::damaged) << from;
  }
}

// JRN-5, EFF-6: what was damaged before it came into the index is found as what was damaged later.
TEST_F(FlowIndex, TakesNoDamageIn) {
  const auto store = backend_->open();
  for (const char* flow : {"f", "g", "f"}) ASSERT_TRUE(store->append_one(draft(flow, "x"), soon()).ok());
  backend_->run_sql("UPDATE fact SET flow = 'g' WHERE sequence = 3");
  // Who has not counted the facts looks at them.
  const auto refused = backend_->open()->append_one(draft("g", "x"), soon());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::damaged) << refused.error().message();
  // Who has counted them does not, and knows better.
  const auto appended = store->append_one(draft("g", "x"), soon());
  ASSERT_TRUE(appended.ok()) << appended.error().message();
  Query query;
  query.flow = "f";
  const auto page = store->read(query, soon());
  ASSERT_FALSE(page.ok());
  EXPECT_EQ(page.error().code, Errc::damaged) << page.error().message();
  // The other flow is what it was: facts 2 and 4.
  query.flow = "g";
  const std::vector<Fact> facts = of_flow(*store, query);
  ASSERT_FALSE(error_) << error_->message();
  ASSERT_EQ(facts.size(), 2U);
  EXPECT_EQ(facts[0].sequence, 2U);
  EXPECT_EQ(facts[1].sequence, 4U);
  EXPECT_EQ(verify(*store, soon()).error().code, Errc::damaged);
}

// JRN-5, EFF-6: what comes after the index is looked through to its end, and to the last of the flow's facts.
TEST_F(FlowIndex, NoticesWhatIsMissingAfterIt) {
  const auto store = backend_->open();
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(store->append_one(draft("f", "x"), soon()).ok());
  Query query;
  query.flow = "f";
  for (const std::uint64_t from : {1U, 5U, 6U}) {
    query.from = from;
    EXPECT_EQ(store->read(query, soon()).value().facts.size(), 7U - from);
  }
  query.from = 1;
  if (backend_->knows_its_end()) {
    backend_->run_sql("UPDATE fact SET sequence = 60 WHERE sequence = 6");
    EXPECT_EQ(store->read(query, soon()).error().code, Errc::damaged);
    backend_->run_sql("UPDATE fact SET sequence = 6 WHERE sequence = 60");
    EXPECT_TRUE(store->read(query, soon()).ok());
  }
  // Chained as it should be, by somebody who counts wrong.
  insert_fact(store->head(soon()).value(), 9, kSchema, "f");
  EXPECT_EQ(store->read(query, soon()).error().code, Errc::damaged);
  query.flow = "g";
  EXPECT_TRUE(store->read(query, soon()).value().facts.empty());
}

// JRN-1: another program may move the border into the middle of what a writer knows; no fact is indexed twice then.
TEST_F(FlowIndex, IsContinuedFromABorderInTheMiddle) {
  const auto store = backend_->open();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store->append_one(draft("f", "x"), soon()).ok());
  const std::vector<std::uint64_t> first{1, 2};
  backend_->run_sql("INSERT INTO flow_index (flow, last, sequences) VALUES ('f', 2, " +
                    backend_->blob(pack_sequences(first)) + ")");
  backend_->run_sql("INSERT INTO flow (id, facts) VALUES ('f', 2)");
  backend_->run_sql("UPDATE journal SET indexed = 2");
  insert_fact(store->head(soon()).value(), 4, kSchema, "f");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store->append_one(draft("f", "x"), soon()).ok());
  const auto verified = verify(*store, soon());
  EXPECT_TRUE(verified.ok()) << verified.error().message();
  Query query;
  query.flow = "f";
  EXPECT_EQ(of_flow(*store, query).size(), 7U);
  EXPECT_FALSE(error_);
}

// JRN-5: nor does a writer go on from a border that lies.
TEST_F(FlowIndex, IsNotContinuedFromAnotherEnd) {
  const auto store = backend_->open();
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(store->append_one(draft("f", "x"), soon()).ok());
  backend_->run_sql("UPDATE journal SET indexed = 6");
  const auto refused = backend_->open()->append_one(draft("f", "x"), soon());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::damaged) << refused.error().message();
  backend_->run_sql("UPDATE journal SET indexed = 4");
  ASSERT_EQ(backend_->open()->append_one(draft("f", "x"), soon()).value(), 8U);
  EXPECT_TRUE(verify(*store, soon()).ok());
}

}  // namespace
}  // namespace heddle::journal::testing

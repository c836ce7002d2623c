// The suite that every store passes (JRN-2). Compiled into each store's test program.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "heddle/core/text.h"
#include "heddle/journal/core/facts.h"
#include "heddle/journal/core/replay.h"
#include "testing/history.h"
#include "testing/store_test.h"

namespace heddle::journal::testing {
namespace {

using namespace std::chrono_literals;
using core::Deadline;
using core::Errc;

// With few facts, all of them come after the end of the index; or most of them before it.
class StoreSuite : public StoreTest, public ::testing::WithParamInterface<std::uint32_t> {
 protected:
  StoreSuite() { backend_->index_every = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(IndexEvery, StoreSuite, ::testing::Values(kIndexEvery, 3U));

// JRN-4, JRN-1
TEST_P(StoreSuite, ValuesComeBackByteForByte) {
  const auto store = backend_->open();
  std::vector<std::string> bodies = {
      "null",
      "\"\"",
      " [ 1.0 , 1.00,1e400, -0 ]\n",
      R"({"nul":"\u0000","lone":"\ud800","dup":1,"dup":2,"\\":"\""})",
      "\"h\xC3\xA9\xF0\x9F\x98\x80\xEF\xBF\xBD\x7F\"",
      '"' + std::string(kInlineBodyBytes - 2, 'x') + '"',
      '"' + std::string(kInlineBodyBytes - 1, 'x') + '"',
      '"' + std::string(300'000, 'y') + '"',
  };
  const std::string payload = "{ \"b\" : 1, \"a\":\"\\u0000\xE2\x82\xAC\" }";
  for (const std::string& body : bodies) {
    Draft with_body = draft("fl\xC3\xB6w 'x' \"y\"", "key;--", Kind::outcome, payload);
    with_body.body = body;
    ASSERT_TRUE(store->append_one(with_body, soon()).ok());
  }
  const auto reopened = backend_->open();
  const std::vector<Fact> facts = all(*reopened);
  ASSERT_EQ(facts.size(), bodies.size());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    EXPECT_EQ(facts[i].sequence, i + 1);
    EXPECT_EQ(facts[i].schema, kSchema);
    EXPECT_EQ(facts[i].flow, "fl\xC3\xB6w 'x' \"y\"");
    EXPECT_EQ(facts[i].effect, "key;--");
    EXPECT_EQ(facts[i].kind, Kind::outcome);
    EXPECT_EQ(facts[i].kind_text, "OUTCOME");
    EXPECT_EQ(facts[i].payload, payload);
    ASSERT_TRUE(facts[i].body);
    EXPECT_EQ(facts[i].body->text, bodies[i]);
    EXPECT_EQ(facts[i].body->digest, core::sha256(bodies[i]));
    EXPECT_LT(std::chrono::abs(facts[i].time - now()), 1h);
  }
}

// JRN-4: whatever bytes a guest sends as text, each store keeps the fact, and gives back the same text.
TEST_P(StoreSuite, KeepsWhateverAGuestSays) {
  std::mt19937 random(23);  // NOLINT(cert-msc51-cpp): the same texts every time
  std::vector<Draft> drafts;
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (std::size_t left = round % 20 == 0 ? 6000 : random() % 60; left > 0; --left) {
      const std::string_view pieces[] = {
          std::string_view("\0", 1), "\xED\xA0\x80", "\"", "\\", "\xF0\x9F\x98\x80", "'"};
      if (random() % 3 == 0) {
        text += pieces[random() % 6];
      } else {
        text += static_cast<char>(random() % 256);
      }
    }
    const EffectRef ref{"flow", "key", text, 1};
    drafts.push_back(outcome_failure(ref, text, text, "{}"));
    drafts.push_back(access_denied(ref, text, text, text));
    drafts.push_back(flow_ended("flow", Ending::error, {}, text, {}));
  }
  const auto store = backend_->open();
  const auto receipt = store->append(drafts, soon());
  ASSERT_TRUE(receipt.ok()) << receipt.error().message();
  const std::vector<Fact> facts = all(*backend_->open());
  ASSERT_EQ(facts.size(), drafts.size());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    ASSERT_EQ(facts[i].payload, drafts[i].payload);
    ASSERT_TRUE(core::valid_utf8(facts[i].payload));
    ASSERT_LE(core::utf16_units(facts[i].payload), 7 * core::kMaxGuestTextUnits + 4096);
  }
}

// JRN-1: large bodies lie by their content, once.
TEST_P(StoreSuite, EqualLargeBodiesAreKeptOnce) {
  const auto store = backend_->open();
  Draft large = draft("f", "a", Kind::outcome);
  large.body = '"' + std::string(kInlineBodyBytes * 2, 'z') + '"';
  ASSERT_TRUE(store->append_one(large, soon()).ok());
  ASSERT_TRUE(store->append(std::vector<Draft>{large, large}, soon()).ok());
  backend_->run_sql("DELETE FROM body WHERE digest <> " + backend_->blob(core::sha256(*large.body).raw()));
  EXPECT_EQ(all(*store).size(), 3U);
  Query digests;
  digests.bodies = Bodies::digests_only;
  backend_->run_sql("DELETE FROM body");
  const Page page = store->read(digests, soon()).value();
  ASSERT_EQ(page.facts.size(), 3U);
  EXPECT_EQ(page.facts[2].body->digest, core::sha256(*large.body));
  EXPECT_TRUE(page.facts[2].body->text.empty());
  EXPECT_EQ(store->read({}, soon()).error().code, Errc::damaged);
}

TEST_P(StoreSuite, FactsOfOneAppendStandTogether) {
  const auto store = backend_->open();
  const std::vector<Draft> drafts = {draft("f", "a"), draft("f", "b"), draft("g", "c")};
  const Receipt first = store->append(drafts, soon()).value();
  const Receipt second = store->append(drafts, soon()).value();
  EXPECT_EQ(first.first, 1U);
  EXPECT_EQ(first.last, 3U);
  EXPECT_EQ(second.first, 4U);
  EXPECT_EQ(second.last, 6U);
  EXPECT_EQ(all(*store)[4].effect, "b");
}

// JRN-4: what cannot be stored is refused before anything of the append is.
TEST_P(StoreSuite, RefusesWhatCannotBeStored) {
  const auto store = backend_->open();
  const Draft good = draft("f", "a");
  const auto refused = [&](const Draft& bad) {
    const auto result = store->append(std::vector<Draft>{good, bad}, soon());
    return result.ok() ? Errc::system : result.error().code;
  };
  EXPECT_EQ(refused(draft("\xFF", "a")), Errc::malformed);
  EXPECT_EQ(refused(draft("f", std::string("a\0b", 3))), Errc::malformed);
  EXPECT_EQ(refused(draft("f", "\xED\xA0\x80")), Errc::malformed);
  EXPECT_EQ(refused(draft(std::string(kMaxNameBytes + 1, 'f'), "a")), Errc::too_large);
  EXPECT_EQ(refused(draft("f", "a", Kind::intent, "[]")), Errc::malformed);
  EXPECT_EQ(refused(draft("f", "a", Kind::intent, "{\"a\":\"\xFF\"}")), Errc::malformed);
  EXPECT_EQ(refused(draft("f", "a", Kind::unknown)), Errc::invalid_argument);
  EXPECT_EQ(refused(draft("f", "a", Kind::intent, "{\"a\":\"" + std::string(kMaxPayloadBytes, 'x') + "\"}")),
            Errc::too_large);
  Draft bad_body = good;
  bad_body.body = "undefined";
  EXPECT_EQ(refused(bad_body), Errc::malformed);
  EXPECT_EQ(store->append({}, soon()).error().code, Errc::invalid_argument);
  EXPECT_EQ(store->head(soon()).value().sequence, 0U);
  EXPECT_TRUE(store->append_one(good, soon()).ok());
}

TEST_P(StoreSuite, ReadsByFlowKindTimeAndSequence) {
  const auto store = backend_->open();
  std::vector<Draft> drafts;
  drafts.reserve(40);
  for (int i = 0; i < 40; ++i) {
    drafts.push_back(draft(i % 4 == 0 ? "f" : "g", std::to_string(i), i % 2 == 0 ? Kind::intent : Kind::outcome));
  }
  ASSERT_TRUE(store->append(drafts, soon()).ok());
  std::this_thread::sleep_for(5ms);
  const Time later = now();
  ASSERT_TRUE(store->append_one(draft("f", "last", Kind::flow_ended), soon()).ok());

  const auto sequences = [&](const Query& query) {
    std::vector<std::uint64_t> found;
    const Page page = store->read(query, soon()).value();
    for (const Fact& fact : page.facts) found.push_back(fact.sequence);
    return found;
  };
  Query by_flow;
  by_flow.flow = "f";
  EXPECT_EQ(sequences(by_flow), (std::vector<std::uint64_t>{1, 5, 9, 13, 17, 21, 25, 29, 33, 37, 41}));
  by_flow.from = 30;
  EXPECT_EQ(sequences(by_flow), (std::vector<std::uint64_t>{33, 37, 41}));
  by_flow.kinds = {Kind::flow_ended, Kind::snapshot};
  EXPECT_EQ(sequences(by_flow), (std::vector<std::uint64_t>{41}));
  by_flow.flow = "no such flow";
  EXPECT_TRUE(sequences(by_flow).empty());

  Query by_kind;
  by_kind.kinds = {Kind::outcome};
  by_kind.from = 35;
  EXPECT_EQ(sequences(by_kind), (std::vector<std::uint64_t>{36, 38, 40}));
  by_kind.kinds = {Kind::outcome, Kind::flow_ended};
  EXPECT_EQ(sequences(by_kind), (std::vector<std::uint64_t>{36, 38, 40, 41}));

  Query by_time;
  by_time.since = later;
  EXPECT_EQ(sequences(by_time), (std::vector<std::uint64_t>{41}));
  by_time.since.reset();
  by_time.until = later;
  by_time.from = 39;
  EXPECT_EQ(sequences(by_time), (std::vector<std::uint64_t>{39, 40}));

  Query page;
  page.limit = 7;
  Page first = store->read(page, soon()).value();
  EXPECT_EQ(first.facts.size(), 7U);
  EXPECT_EQ(first.next, 8U);
  EXPECT_FALSE(first.at_end);
  EXPECT_EQ(all(*store, 7).size(), 41U);
  page.from = 41;
  EXPECT_TRUE(store->read(page, soon()).value().at_end);
  page.from = 42;
  EXPECT_EQ(store->read(page, soon()).value().next, 42U);
}

// JRN-5: threads and stores append side by side; sequences have no gap, receipts are true, each thread's order holds.
TEST_P(StoreSuite, ThreadsAndStoresShareAJournal) {
  constexpr int thread_count = 8;
  constexpr int append_count = 25;
  const auto one = backend_->open();
  const auto other = backend_->open();
  std::vector<std::vector<std::uint64_t>> acknowledged(thread_count);
  {
    std::vector<std::thread> threads;
    threads.reserve(thread_count);
    for (int t = 0; t < thread_count; ++t) {
      threads.emplace_back([&, t] {
        Store& store = t % 2 == 0 ? *one : *other;
        for (int i = 0; i < append_count; ++i) {
          const auto receipt = store.append_one(draft("thread " + std::to_string(t), std::to_string(i)), soon());
          if (receipt.ok()) acknowledged[static_cast<std::size_t>(t)].push_back(receipt.value());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const std::vector<Fact> facts = all(*one, 33);
  ASSERT_EQ(facts.size(), static_cast<std::size_t>(thread_count * append_count));
  std::map<std::string, int> next;
  for (const Fact& fact : facts) EXPECT_EQ(fact.effect, std::to_string(next[fact.flow]++));
  for (int t = 0; t < thread_count; ++t) {
    const auto& sequences = acknowledged[static_cast<std::size_t>(t)];
    ASSERT_EQ(sequences.size(), static_cast<std::size_t>(append_count));
    EXPECT_TRUE(std::is_sorted(sequences.begin(), sequences.end()));
    for (int i = 0; i < append_count; ++i) {
      const Fact& fact = facts[sequences[static_cast<std::size_t>(i)] - 1];
      EXPECT_EQ(fact.flow, "thread " + std::to_string(t));
      EXPECT_EQ(fact.effect, std::to_string(i));
    }
  }
}

// JRN-7
TEST_P(StoreSuite, FollowsAsTheJournalGrows) {
  const auto store = backend_->open();
  const auto other = backend_->open();
  Query query;
  query.flow = "f";
  const Page nothing = store->follow(query, Wait{{}, Deadline::after(30ms)}).value();
  EXPECT_TRUE(nothing.facts.empty());
  std::thread writer([&] {
    for (int i = 0; i < 20; ++i) {
      Store& where = i % 2 == 0 ? *store : *other;
      EXPECT_TRUE(where.append_one(draft("g", "x"), soon()).ok());
      EXPECT_TRUE(where.append_one(draft("f", std::to_string(i)), soon()).ok());
    }
  });
  std::size_t seen = 0;
  query.from = nothing.next;
  while (seen < 20) {
    const auto page = store->follow(query, soon());
    ASSERT_TRUE(page.ok()) << page.error().message();
    ASSERT_FALSE(page.value().facts.empty()) << "waited in vain after " << seen;
    for (const Fact& fact : page.value().facts) EXPECT_EQ(fact.effect, std::to_string(seen++));
    query.from = page.value().next;
  }
  writer.join();

  std::stop_source stop;
  std::thread stopper([&] {
    std::this_thread::sleep_for(30ms);
    stop.request_stop();
  });
  EXPECT_EQ(store->follow(query, Wait{stop.get_token(), Deadline::after(20s)}).error().code, Errc::cancelled);
  stopper.join();
}

// JRN-1: what a newer MINOR wrote is read, and its kinds are there as text for those who skip them.
TEST_P(StoreSuite, ReadsANewerMinor) {
  const auto store = backend_->open();
  ASSERT_TRUE(store->append_one(draft("f", "a"), soon()).ok());
  const SchemaVersion newer{kSchema.major_version, kSchema.minor_version + 7, 1};
  insert_fact(store->head(soon()).value(), 2, newer, "f");
  ASSERT_EQ(store->append_one(draft("f", "b"), soon()).value(), 3U);
  const std::vector<Fact> facts = all(*backend_->open());
  ASSERT_EQ(facts.size(), 3U);
  EXPECT_EQ(facts[1].schema, newer);
  EXPECT_EQ(facts[1].kind, Kind::unknown);
  EXPECT_EQ(facts[1].kind_text, "TELEPORTED");
  EXPECT_EQ(facts[1].payload, R"({"to":"mars"})");
  EXPECT_EQ(facts[2].schema, kSchema);
  Query query;
  query.flow = "f";
  EXPECT_EQ(store->read(query, soon()).value().facts, facts);
}

// JRN-1: a newer MAJOR is refused by open stores and by new ones, for reading and for writing, and both are named.
TEST_P(StoreSuite, RefusesANewerMajor) {
  const auto store = backend_->open();
  ASSERT_TRUE(store->append_one(draft("f", "a"), soon()).ok());
  insert_fact(store->head(soon()).value(), 2, {2, 3, 4}, "f");
  const auto check = [](const core::Error& error) {
    EXPECT_EQ(error.code, Errc::unsupported);
    EXPECT_NE(error.message().find("2.3.4"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find(kSchema.text()), std::string::npos) << error.message();
  };
  check(store->read({}, soon()).error());
  check(store->append_one(draft("f", "b"), soon()).error());
  check(backend_->try_open().error());
  backend_->run_sql("UPDATE journal SET schema = '" + kSchema.text() + "'");
  check(store->read({}, soon()).error());
}

// JRN-5: a fact that is not what was written is never given out.
TEST_P(StoreSuite, NoticesEveryChange) {
  const auto store = backend_->open();
  for (int i = 0; i < 5; ++i) {
    Draft with_body = draft("f", std::to_string(i), Kind::outcome, R"({"n":1})");
    with_body.body = "[1]";
    ASSERT_TRUE(store->append_one(with_body, soon()).ok());
  }
  const auto damaged = [&](const std::string& change, const std::string& back) {
    backend_->run_sql(change);
    const auto page = store->read({}, soon());
    EXPECT_FALSE(page.ok()) << change;
    if (!page.ok()) {
      EXPECT_EQ(page.error().code, Errc::damaged) << page.error().message();
    }
    backend_->run_sql(back);
    ASSERT_TRUE(store->read({}, soon()).ok()) << back;
  };
  damaged("UPDATE fact SET flow = 'g' WHERE sequence = 3", "UPDATE fact SET flow = 'f' WHERE sequence = 3");
  damaged("UPDATE fact SET effect = '9' WHERE sequence = 3", "UPDATE fact SET effect = '2' WHERE sequence = 3");
  damaged("UPDATE fact SET kind = 'INTENT' WHERE sequence = 3", "UPDATE fact SET kind = 'OUTCOME' WHERE sequence = 3");
  damaged("UPDATE fact SET ordinal = 9 WHERE sequence = 3", "UPDATE fact SET ordinal = 3 WHERE sequence = 3");
  damaged("UPDATE fact SET time = time + 1 WHERE sequence = 3", "UPDATE fact SET time = time - 1 WHERE sequence = 3");
  damaged("UPDATE fact SET schema = '1.0.1' WHERE sequence = 3",
          "UPDATE fact SET schema = '" + kSchema.text() + "' WHERE sequence = 3");
  damaged("UPDATE fact SET payload = '{\"n\":2}' WHERE sequence = 3",
          "UPDATE fact SET payload = '{\"n\":1}' WHERE sequence = 3");
  damaged("UPDATE fact SET body = '[2]' WHERE sequence = 3", "UPDATE fact SET body = '[1]' WHERE sequence = 3");
  damaged("UPDATE journal SET last = last - 1", "UPDATE journal SET last = last + 1");
  damaged("UPDATE journal SET last = last + 1", "UPDATE journal SET last = last - 1");
  damaged("UPDATE fact SET sequence = 50 WHERE sequence = 3", "UPDATE fact SET sequence = 3 WHERE sequence = 50");
  damaged("UPDATE fact SET sequence = 50 WHERE sequence = 5", "UPDATE fact SET sequence = 5 WHERE sequence = 50");
  damaged("UPDATE fact SET sequence = 50 WHERE sequence = 1", "UPDATE fact SET sequence = 1 WHERE sequence = 50");
  backend_->run_sql("DELETE FROM fact WHERE sequence = " + std::string(backend_->knows_its_end() ? "5" : "4"));
  EXPECT_EQ(store->read({}, soon()).error().code, Errc::damaged);
}

// JRN-5, EFF-6: a flow that lacks a fact would do an effect twice, so reading a flow notices as well, wherever it
// begins.
TEST_P(StoreSuite, NoticesWhatAFlowLacks) {
  const auto store = backend_->open();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(store->append_one(draft(i % 2 == 0 ? "f" : "g", "x"), soon()).ok());
  Query query;
  query.flow = "f";
  for (const int lost : {1, 5, 9}) {
    const std::string which = " WHERE sequence = " + std::to_string(lost);
    backend_->run_sql("UPDATE fact SET flow = 'h'" + which);
    for (std::uint64_t from = 1; from <= static_cast<std::uint64_t>(lost); ++from) {
      query.from = from;
      const auto page = store->read(query, soon());
      ASSERT_FALSE(page.ok()) << lost << " from " << from;
      EXPECT_EQ(page.error().code, Errc::damaged);
    }
    query.limit = 1;  // page by page
    query.from = 1;
    bool noticed = false;
    for (bool at_end = false; !at_end && !noticed;) {
      const auto page = store->read(query, soon());
      noticed = !page.ok();
      if (noticed) break;
      at_end = page.value().at_end;
      query.from = page.value().next;
    }
    EXPECT_TRUE(noticed) << lost;
    query.limit = 1000;
    backend_->run_sql("UPDATE fact SET flow = 'f'" + which);
    query.from = 1;
    EXPECT_EQ(store->read(query, soon()).value().facts.size(), 5U);
  }
  query.flow = "h";
  EXPECT_TRUE(store->read(query, soon()).value().facts.empty());
}

// A stop or a deadline ends an append that has not begun; it is then not stored.
TEST_P(StoreSuite, AWaitThatIsOverStoresNothing) {
  const auto store = backend_->open();
  std::stop_source stop;
  std::atomic<int> stored{0};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const Wait wait = t < 4 ? Wait{stop.get_token(), Deadline::after(20s)} : Wait{{}, Deadline::after(100us)};
        const auto receipt = store->append_one(draft("f", std::to_string(t)), wait);
        if (receipt.ok()) {
          ++stored;
        } else {
          EXPECT_TRUE(receipt.error().code == Errc::cancelled || receipt.error().code == Errc::timed_out)
              << receipt.error().message();
        }
        if (t == 0 && i == 20) stop.request_stop();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store->head(soon()).value().sequence, static_cast<std::uint64_t>(stored.load()));
  EXPECT_EQ(all(*store).size(), static_cast<std::size_t>(stored.load()));
}

// JRN-3: each store gives back the facts that were appended, so its fold is the fold of these, whichever store it is.
TEST_P(StoreSuite, FoldsToTheStateOfTheFacts) {
  const std::vector<Draft> drafts = history(11, 300);
  const std::vector<Fact> expected = facts_of(drafts);
  State state;
  for (const Fact& fact : expected) apply(state, fact);

  const auto store = backend_->open();
  ASSERT_TRUE(store->append(drafts, soon()).ok());
  std::vector<Fact> facts = all(*store, 77);
  ASSERT_EQ(facts.size(), expected.size());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    facts[i].time = expected[i].time;
    EXPECT_GT(facts[i].ordinal, 0U);
    facts[i].ordinal = expected[i].ordinal;
    facts[i].checksum = expected[i].checksum;
    EXPECT_EQ(facts[i], expected[i]) << i;
  }
  EXPECT_EQ(replay(*store, {}, From::start, soon()).value(), state);
}

// JRN-6
TEST_P(StoreSuite, ReplayFromASnapshotEqualsReplayFromTheStart) {
  const auto store = backend_->open();
  const std::vector<Draft> drafts = history(12, 200);
  const std::string flow = drafts[0].flow;
  for (std::size_t i = 0; i < drafts.size(); i += 20) {
    ASSERT_TRUE(store->append(std::span<const Draft>(drafts).subspan(i, 20), soon()).ok());
    if (i % 60 == 40) {
      ASSERT_TRUE(take_snapshot(*store, {}, soon()).ok());
      ASSERT_TRUE(take_snapshot(*store, flow, soon()).ok());
    }
    for (const std::optional<std::string>& scope : {std::optional<std::string>(), std::optional<std::string>(flow)}) {
      const State from_start = replay(*store, scope, From::start, soon()).value();
      EXPECT_EQ(replay(*store, scope, From::newest_snapshot, soon()).value(), from_start);
      EXPECT_FALSE(from_start.flows.empty());
    }
  }
  // A snapshot is really used: one that lies shows.
  Draft lie{"", "", Kind::snapshot, R"({"fold":1,"upto":0})", state_json({})};
  ASSERT_TRUE(store->append_one(lie, soon()).ok());
  State lied{store->head(soon()).value().sequence - 1, {}};
  lie.body = state_json(lied);
  ASSERT_TRUE(store->append_one(lie, soon()).ok());
  EXPECT_TRUE(replay(*store, {}, From::newest_snapshot, soon()).value().flows.empty());
  // One of another fold is not.
  lie.payload = R"({"fold":999,"upto":1})";
  ASSERT_TRUE(store->append_one(lie, soon()).ok());
  EXPECT_TRUE(take_snapshot(*store, flow, soon()).ok());
  EXPECT_EQ(replay(*store, flow, From::newest_snapshot, soon()).value(),
            replay(*store, flow, From::start, soon()).value());
}

TEST_P(StoreSuite, VerifiesAWholeJournal) {
  const auto store = backend_->open();
  ASSERT_TRUE(store->append(history(13, 100), soon()).ok());
  const auto verified = verify(*store, soon());
  ASSERT_TRUE(verified.ok()) << verified.error().message();
  EXPECT_EQ(verified.value().head, store->head(soon()).value());
  EXPECT_EQ(verified.value().facts, 100U);
  EXPECT_GT(verified.value().bodies, 50U);
  EXPECT_EQ(verified.value().skipped, 0U);
  backend_->run_sql("UPDATE fact SET payload = '{}' WHERE sequence = 70");
  EXPECT_EQ(verify(*store, soon()).error().code, Errc::damaged);
}

}  // namespace
}  // namespace heddle::journal::testing

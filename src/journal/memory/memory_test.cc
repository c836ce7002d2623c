#include "heddle/journal/memory/memory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "heddle/journal/core/facts.h"
#include "heddle/journal/core/replay.h"
#include "testing/history.h"

namespace heddle::journal {
namespace {

using namespace std::chrono_literals;

// JRN-1, JRN-3, JRN-4: what comes back is what any journal makes of these drafts.
TEST(MemoryStore, GivesTheFactsThatAnyJournalGives) {
  const auto drafts = testing::history(7, 500);
  std::vector<Fact> expected = testing::facts_of(drafts);
  const auto store = open_memory();
  for (std::size_t at = 0; at < drafts.size(); at += 50) {
    const auto receipt = store->append(std::span(drafts).subspan(at, 50), {});
    ASSERT_TRUE(receipt.ok()) << receipt.error().message();
    EXPECT_EQ(receipt.value().first, at + 1);
    EXPECT_EQ(receipt.value().last, at + 50);
  }
  Query query;
  query.limit = 70;
  std::vector<Fact> found;
  for (bool more = true; more;) {
    Page page = store->read(query, {}).value();
    for (Fact& fact : page.facts) found.push_back(std::move(fact));
    query.from = page.next;
    more = !page.at_end;
  }
  ASSERT_EQ(found.size(), expected.size());
  Digest previous;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Fact& fact = found[i];
    EXPECT_EQ(fact.checksum,
              chain(previous, {fact.sequence, fact.ordinal, fact.time, fact.schema, fact.flow, fact.effect,
                               fact.kind_text, fact.payload, fact.body ? &fact.body->digest : nullptr}));
    previous = fact.checksum;
    expected[i].ordinal = fact.ordinal;  // verify() below sees to it
    expected[i].time = fact.time;
    expected[i].checksum = fact.checksum;
    EXPECT_EQ(fact, expected[i]) << i;
  }
  EXPECT_EQ(store->head({}).value(), (Head{found.size(), previous}));
  EXPECT_EQ(verify(*store).value().facts, found.size());
  ASSERT_TRUE(take_snapshot(*store, std::nullopt).ok());
  EXPECT_EQ(replay(*store, std::nullopt, From::newest_snapshot).value().flows,
            replay(*store, std::nullopt, From::start).value().flows);
}

// JRN-1: one flow, some kinds, from a sequence on; a draft that cannot be stored takes none of its append with it.
TEST(MemoryStore, FiltersAndRefuses) {
  const auto store = open_memory();
  for (const char* flow : {"a", "b", "a", "b"}) ASSERT_TRUE(store->append_one(flow_started(flow, "x", "1")).ok());
  ASSERT_TRUE(store->append_one(intent({"a", "1", "x", 1}, Repeatable::no, {}, "2")).ok());
  Query query;
  query.flow = "a";
  query.from = 2;
  query.limit = 1;
  Page page = store->read(query, {}).value();
  ASSERT_EQ(page.facts.size(), 1U);
  EXPECT_EQ(page.facts[0].sequence, 3U);
  EXPECT_FALSE(page.at_end);
  query.kinds = {Kind::intent};
  page = store->read(query, {}).value();
  ASSERT_EQ(page.facts.size(), 1U);
  EXPECT_EQ(page.facts[0].ordinal, 3U);
  EXPECT_TRUE(page.at_end);
  EXPECT_EQ(page.next, 6U);
  const std::vector<Draft> bad{flow_started("a", "x", "1"), flow_started("a", "x", "{")};
  EXPECT_EQ(store->append(bad, {}).error().code, core::Errc::malformed);
  EXPECT_EQ(store->head({}).value().sequence, 5U);
}

// JRN-7: a follower sees what other threads append, in order, and heeds its stop.
TEST(MemoryStore, Follows) {
  const auto store = open_memory();
  std::vector<std::thread> writers;
  writers.reserve(4);
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&, i] {
      for (int n = 0; n < 50; ++n) EXPECT_TRUE(store->append_one(flow_started(std::to_string(i), "x", "1")).ok());
    });
  }
  Query query;
  query.flow = "2";
  std::uint64_t seen = 0;
  while (seen < 50) {
    const Page page = store->follow(query, {{}, core::Deadline::after(20s)}).value();
    ASSERT_FALSE(page.facts.empty());
    for (const Fact& fact : page.facts) EXPECT_EQ(fact.ordinal, ++seen);
    query.from = page.next;
  }
  for (std::thread& writer : writers) writer.join();
  std::stop_source stop;
  std::thread stopper([&] {
    std::this_thread::sleep_for(20ms);
    stop.request_stop();
  });
  const auto stopped = store->follow(query, {stop.get_token(), core::Deadline::after(20s)});
  stopper.join();
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, core::Errc::cancelled);
}

}  // namespace
}  // namespace heddle::journal

// Facts that no writer of Heddle's makes, put into a journal by somebody who can chain: every reader refuses them, and
// `verify` says which it is and what is wrong with it. Compiled into each store's test program.
#include <gtest/gtest.h>

#include <limits>

#include "heddle/journal/core/fold.h"
#include "heddle/journal/core/replay.h"
#include "testing/store_test.h"

namespace heddle::journal::testing {
namespace {

using core::Errc;

// A fact as a forger would have it; where nothing is said it breaks no rule.
struct Forged {
  std::string flow = "f";
  std::string effect = "a";
  std::string kind = "OUTCOME";
  std::string payload = "{}";
  std::optional<std::string> body;
  bool body_inline = true;
  std::int64_t time = 5;
};

class Hostile : public StoreTest {
 protected:
  // As the next fact, with the checksum that it must have.
  void forge(Store& store, const Forged& fact) {
    const Head head = store.head(soon()).value();
    const std::uint64_t sequence = head.sequence + 1;
    const Digest digest = core::sha256(fact.body.value_or(""));
    const Digest checksum =
        chain(head.checksum, {sequence, sequence, Time(std::chrono::microseconds(fact.time)), kSchema, fact.flow,
                              fact.effect, fact.kind, fact.payload, fact.body ? &digest : nullptr});
    const std::string where = std::to_string(sequence);
    const std::string body = fact.body ? backend_->text(*fact.body) : "NULL";
    backend_->run_sql(
        "INSERT INTO fact (sequence, ordinal, checksum, schema, time, flow, effect, kind, payload, body_digest, body) "
        "VALUES (" +
        where + ", " + where + ", " + backend_->blob(checksum.raw()) + ", '" + kSchema.text() + "', " +
        std::to_string(fact.time) + ", " + backend_->text(fact.flow) + ", " + backend_->text(fact.effect) + ", " +
        backend_->text(fact.kind) + ", " + backend_->text(fact.payload) + ", " +
        (fact.body ? backend_->blob(digest.raw()) : "NULL") + ", " + (fact.body_inline ? body : "NULL") + ")");
    if (fact.body && !fact.body_inline) {
      backend_->run_sql("INSERT INTO body (digest, text) VALUES (" + backend_->blob(digest.raw()) + ", " + body + ")");
    }
    backend_->run_sql("UPDATE journal SET last = " + where + ", checksum = " + backend_->blob(checksum.raw()));
  }

  // Every way to read it says `words`, and none gives the fact.
  void expect_refused(const Forged& fact, const std::string& words) {
    backend_ = nullptr;
    backend_ = make_backend();
    const auto store = backend_->open();
    ASSERT_TRUE(store->append_one(draft("f", "a"), soon()).ok());
    forge(*store, fact);
    const auto check = [&](const core::Error& error) {
      EXPECT_EQ(error.code, Errc::damaged) << error.message();
      EXPECT_NE(error.message().find("fact 2: "), std::string::npos) << error.message();
      EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
    };
    const auto all = store->read({}, soon());
    ASSERT_FALSE(all.ok()) << words;
    check(all.error());
    Query of_flow;
    of_flow.flow = "f";
    EXPECT_FALSE(store->read(of_flow, soon()).ok());
    const auto verified = verify(*store, soon());
    ASSERT_FALSE(verified.ok()) << words;
    check(verified.error());
    EXPECT_FALSE(replay(*store, "f", From::start, soon()).ok() && !fact.body) << words;
  }
};

std::string nested(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

// The control: forged by the rules it is a fact, so what is refused below is refused for what it is.
TEST_F(Hostile, AForgedFactByTheRulesIsRead) {
  const auto store = backend_->open();
  ASSERT_TRUE(store->append_one(draft("f", "a"), soon()).ok());
  Forged large;
  large.flow = std::string(kMaxNameBytes, 'f');
  large.payload = "{\"a\":\"" + std::string(kMaxPayloadBytes - 8, 'x') + "\"}";
  large.kind = std::string(kMaxKindBytes, 'K');
  Forged deep;
  deep.body = nested(1024);
  Forged apart;
  apart.body = '"' + std::string(kInlineBodyBytes, 'b') + '"';
  apart.body_inline = false;
  std::uint64_t count = 1;
  for (const Forged& fact : {Forged{}, deep, apart}) {
    forge(*store, fact);
    const auto page = store->read({}, soon());
    ASSERT_TRUE(page.ok()) << page.error().message();
    EXPECT_EQ(page.value().facts.size(), ++count);
  }
  // Of another flow, so its ordinal is wrong for a reader of that flow; who reads all does not count.
  forge(*store, large);
  EXPECT_EQ(store->read({}, soon()).value().facts.size(), count + 1);
}

// JRN-9
TEST_F(Hostile, WhatNoWriterMakesNoReaderGives) {
  const auto with = [](const auto& change) {
    Forged fact;
    change(fact);
    return fact;
  };
  // 300,000 levels ended a reader by a signal; what follows a payload could add members to a line of --json.
  for (const char* const payload :
       {"", "[]", "{", "{} {}", "{\"a\":1}, \"kind\":\"OUTCOME\"", "{\"a\":\"\x1B[31m\"}", "{\"a\":\"\n\"}"}) {
    expect_refused(with([&](Forged& fact) { fact.payload = payload; }), "the payload is not a JSON object");
  }
  expect_refused(with([](Forged& fact) { fact.payload = "{\"a\":" + nested(1025) + "}"; }), "is not a JSON object");
  expect_refused(with([](Forged& fact) { fact.payload = "{\"a\":" + nested(300'000) + "}"; }), "larger than 64 KiB");
  for (const std::string& body : {std::string(""), std::string("1 2"), std::string("1, \"checksum\":\"00\""),
                                  nested(1025), std::string("\"\x01\"")}) {
    expect_refused(with([&](Forged& fact) { fact.body = body; }), "the body is not JSON");
  }
  expect_refused(with([](Forged& fact) {
                   fact.body = nested(300'000);
                   fact.body_inline = false;
                 }),
                 "the body is not JSON");
  expect_refused(with([](Forged& fact) { fact.body = '"' + std::string(kInlineBodyBytes, 'x') + '"'; }),
                 "lies in the wrong table");
  expect_refused(with([](Forged& fact) {
                   fact.body = "1";
                   fact.body_inline = false;
                 }),
                 "lies in the wrong table");
  // One of 3 MB made replay quadratic.
  expect_refused(with([](Forged& fact) { fact.flow = std::string(3'000'000, 'f'); }), "the flow's id is longer");
  expect_refused(with([](Forged& fact) { fact.effect = std::string(kMaxNameBytes + 1, 'e'); }),
                 "the effect's key is longer");
  for (const std::string& kind : {std::string(""), std::string("outcome"), std::string("A B"), std::string("\x1B[2J"),
                                  std::string("\xC3\x84"), std::string(kMaxKindBytes + 1, 'K')}) {
    expect_refused(with([&](Forged& fact) { fact.kind = kind; }), "its kind is no word");
  }
  for (const std::int64_t time : {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                                  std::int64_t{253'402'300'800'000'000}, std::int64_t{-62'135'596'800'000'001}}) {
    expect_refused(with([&](Forged& fact) { fact.time = time; }), "its time is not between the years");
  }
}

// JRN-9
TEST_F(Hostile, TextThatIsNoTextIsRefused) {
  if (!backend_->keeps_any_bytes()) GTEST_SKIP() << "this store keeps well-formed text alone";
  Forged fact;
  fact.flow = "f\xFF";
  expect_refused(fact, "the flow's id is not well-formed");
  fact = {};
  fact.effect = std::string("a\0b", 3);
  expect_refused(fact, "the effect's key is not well-formed");
  fact = {};
  fact.payload = "{\"a\":\"\xED\xA0\x80\"}";
  expect_refused(fact, "the payload is not a JSON object");
  fact = {};
  fact.body = "\"\xFF\"";
  expect_refused(fact, "the body is not JSON");
}

// JRN-9: a page has a ceiling in bytes, since one large body may be that of many facts.
TEST_F(Hostile, APageEndsBeforeMemoryDoes) {
  const auto store = backend_->open();
  Draft large = draft("f", "a");
  large.body = '"' + std::string(kMaxPageBytes / 8, 'x') + '"';
  const std::vector<Draft> drafts(40, large);
  ASSERT_TRUE(store->append(drafts, soon()).ok());
  Query query;
  std::size_t seen = 0;
  for (bool at_end = false; !at_end;) {
    const auto page = store->read(query, soon());
    ASSERT_TRUE(page.ok()) << page.error().message();
    EXPECT_LE(page.value().facts.size(), 9U);
    EXPECT_GT(page.value().facts.size(), 0U);
    seen += page.value().facts.size();
    query.from = page.value().next;
    at_end = page.value().at_end;
  }
  EXPECT_EQ(seen, drafts.size());
  query = {};
  query.bodies = Bodies::digests_only;
  EXPECT_EQ(store->read(query, soon()).value().facts.size(), drafts.size());
}

// JRN-9: what a writer must know of facts that are not in the index does not stop at a page.
TEST_F(Hostile, AWriterLearnsALongTail) {
  backend_->index_every = 1'000'000;
  const std::vector<Draft> drafts(2500, draft("f", "a"));
  ASSERT_TRUE(backend_->open()->append(drafts, soon()).ok());
  ASSERT_TRUE(backend_->open()->append_one(draft("f", "a"), soon()).ok());
  Query query;
  query.flow = "f";
  query.from = 2501;
  EXPECT_EQ(backend_->open()->read(query, soon()).value().facts.at(0).ordinal, 2501U);
}

// JRN-5, JRN-9: the last fact is the one that was written last, even where somebody has chained another in its place.
TEST_F(Hostile, TheLastFactIsComparedWithTheHead) {
  backend_->index_every = 1;  // PostgreSQL's row of table journal is exact then
  const auto store = backend_->open();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store->append_one(draft("f", "a"), soon()).ok());
  Query query;
  query.limit = 2;
  const Page page = store->read(query, soon()).value();
  const Head head = store->head(soon()).value();
  query.from = 3;
  const Fact last = store->read(query, soon()).value().facts.at(0);
  const Digest other =
      chain(page.facts.at(1).checksum, {3, 3, last.time, last.schema, "f", "b", last.kind_text, last.payload, nullptr});
  const auto check = [&](const std::string& change, const std::string& back) {
    ASSERT_TRUE(store->read({}, soon()).ok());
    backend_->run_sql(change);
    EXPECT_EQ(store->read({}, soon()).error().code, Errc::damaged) << change;
    EXPECT_EQ(verify(*store, soon()).error().code, Errc::damaged) << change;
    Query of_flow;
    of_flow.flow = "f";
    EXPECT_EQ(store->read(of_flow, soon()).error().code, Errc::damaged) << change;
    backend_->run_sql(back);
  };
  check("UPDATE fact SET effect = 'b', checksum = " + backend_->blob(other.raw()) + " WHERE sequence = 3",
        "UPDATE fact SET effect = 'a', checksum = " + backend_->blob(head.checksum.raw()) + " WHERE sequence = 3");
  check("UPDATE journal SET checksum = " + backend_->blob(other.raw()),
        "UPDATE journal SET checksum = " + backend_->blob(head.checksum.raw()));
  EXPECT_TRUE(verify(*store, soon()).ok());
}

// JRN-9: a row that says how much there is.
TEST_F(Hostile, AHeadThatMakesNoSenseIsRefused) {
  const auto store = backend_->open();
  ASSERT_TRUE(store->append_one(draft("f", "a"), soon()).ok());
  if (backend_->knows_its_end()) {
    backend_->run_sql("UPDATE journal SET last = 9223372036854775807");
    EXPECT_EQ(store->head(soon()).error().code, Errc::damaged);
    EXPECT_EQ(store->append_one(draft("f", "b"), soon()).error().code, Errc::damaged);
  }
  backend_->run_sql("UPDATE journal SET last = -1");
  EXPECT_EQ(store->read({}, soon()).error().code, Errc::damaged);
}

}  // namespace
}  // namespace heddle::journal::testing

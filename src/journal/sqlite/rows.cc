#include "rows.h"

#include "heddle/journal/core/flow_index.h"

namespace heddle::journal {
namespace {

// What the index has of flow ?2 from its last row before fact ?1 on.
constexpr Sql kIndexOfFlow =
    "SELECT last, sequences FROM flow_index WHERE flow = ?2 AND"
    " last >= coalesce((SELECT max(last) FROM flow_index WHERE flow = ?2 AND last < ?1), ?1) ORDER BY last";
// A fact with the checksum of the one before it in the journal.
constexpr Sql kFactAt =
    "SELECT f.sequence, f.ordinal, f.time, f.schema, f.flow, f.effect, f.kind, f.payload, f.checksum, f.body_digest,"
    " f.body, p.checksum FROM fact AS f LEFT JOIN fact AS p ON p.sequence = f.sequence - 1 WHERE f.sequence = ?1";
constexpr Sql kBody = "SELECT text FROM body WHERE digest = ?1";
constexpr Sql kIntegrity = "PRAGMA integrity_check(1)";
constexpr Sql kWholeIndex = "SELECT flow, last, sequences FROM flow_index ORDER BY flow, last";
constexpr Sql kFlowOfFact = "SELECT 1 FROM fact WHERE sequence = ?1 AND flow = ?2";
constexpr Sql kFlows = "SELECT id, facts FROM flow";

core::Result<std::optional<std::string_view>> optional_blob(Statement& row, int column) {
  if (row.null_at(column)) return std::optional<std::string_view>();
  HEDDLE_ASSIGN(const std::string_view bytes, row.blob_at(column));
  return std::optional<std::string_view>(bytes);
}

core::Result<FactRow> fact_row(Statement& row, bool with_previous) {
  FactRow fact;
  HEDDLE_ASSIGN(fact.sequence, row.integer_at(0));
  HEDDLE_ASSIGN(fact.ordinal, row.integer_at(1));
  HEDDLE_ASSIGN(fact.time, row.integer_at(2));
  HEDDLE_ASSIGN(fact.schema, row.text_at(3));
  HEDDLE_ASSIGN(fact.flow, row.text_at(4));
  HEDDLE_ASSIGN(fact.effect, row.text_at(5));
  HEDDLE_ASSIGN(fact.kind, row.text_at(6));
  HEDDLE_ASSIGN(fact.payload, row.text_at(7));
  HEDDLE_ASSIGN(fact.checksum, row.blob_at(8));
  HEDDLE_ASSIGN(fact.body_digest, optional_blob(row, 9));
  if (!row.null_at(10)) {
    HEDDLE_ASSIGN(fact.body, row.text_at(10));
  }
  if (with_previous) {
    HEDDLE_ASSIGN(fact.previous, optional_blob(row, 11));
  }
  return fact;
}

}  // namespace

core::Result<HeadRow> read_head(Connection& connection, Statement& statement) {
  HEDDLE_ASSIGN(const bool row, statement.step());
  if (!row) return connection.damaged("its first table is empty");
  const auto read = [&]() -> core::Result<HeadRow> {
    HEDDLE_ASSIGN(const std::string_view schema, statement.text_at(0));
    HEDDLE_ASSIGN(const std::int64_t last, statement.integer_at(1));
    HEDDLE_ASSIGN(const std::string_view checksum, statement.blob_at(2));
    HEDDLE_ASSIGN(const std::int64_t indexed, statement.integer_at(3));
    return head_row(schema, last, checksum, indexed);
  };
  auto head = read();
  statement.reset();
  return head;
}

core::Result<std::uint64_t> facts_of(Connection& connection, Statement& statement, std::string_view flow) {
  statement.text(1, flow);
  const auto read = [&]() -> core::Result<std::uint64_t> {
    HEDDLE_ASSIGN(const bool row, statement.step());
    if (!row) return 0U;
    HEDDLE_ASSIGN(const std::int64_t facts, statement.integer_at(0));
    if (facts < 1) return connection.damaged("a flow has less than one fact");
    return static_cast<std::uint64_t>(facts);
  };
  auto facts = read();
  statement.reset();
  return facts;
}

core::Result<void> check_border(Statement& statement, std::uint64_t indexed) {
  if (indexed == 0) return {};
  const auto read = [&]() -> core::Result<void> {
    HEDDLE_ASSIGN(const bool row, statement.integer(1, static_cast<std::int64_t>(indexed)).step());
    HEDDLE_CHECK(row);
    HEDDLE_ASSIGN(const std::int64_t there, statement.integer_at(0));
    if (there == 0) return border_is_damaged(indexed);
    return {};
  };
  auto checked = read();
  statement.reset();
  return checked;
}

namespace {

// Hands rows over until there is none, or the page is full.
core::Result<void> take_rows(Statement& rows, PageReader& page, const PageReader::BodyOf& body_of) {
  for (;;) {
    HEDDLE_ASSIGN(const bool row, rows.step());
    if (!row) return {};
    HEDDLE_ASSIGN(const FactRow fact, fact_row(rows, false));
    HEDDLE_ASSIGN(const PageReader::Next next, page.take(fact, body_of));
    if (next == PageReader::Next::page_is_full) return {};
  }
}

}  // namespace

core::Result<std::vector<Fact>> facts_from(Statement& statement, const HeadRow& end, std::uint64_t from) {
  return facts_without_payload(end, from, [&](PageReader& page) {
    statement.integer(1, static_cast<std::int64_t>(page.first_row()));
    auto taken = take_rows(statement, page, {});
    statement.reset();
    return taken;
  });
}

core::Result<std::unique_ptr<Reader>> Reader::make(std::unique_ptr<Connection> connection) {
  std::unique_ptr<Reader> reader(new Reader(std::move(connection)));
  Connection& c = *reader->connection_;
  HEDDLE_TRY(c.run("PRAGMA query_only = ON"));
  HEDDLE_ASSIGN(reader->begin_, c.prepare("BEGIN"));
  HEDDLE_ASSIGN(reader->commit_, c.prepare("COMMIT"));
  HEDDLE_ASSIGN(reader->head_, c.prepare(kReadHead));
  HEDDLE_ASSIGN(reader->flow_, c.prepare(kReadFlow));
  HEDDLE_ASSIGN(reader->border_, c.prepare(kReadBorder));
  HEDDLE_ASSIGN(reader->index_, c.prepare(kIndexOfFlow));
  HEDDLE_ASSIGN(reader->fact_, c.prepare(kFactAt));
  HEDDLE_ASSIGN(reader->scan_, c.prepare(kScan));
  HEDDLE_ASSIGN(reader->body_, c.prepare(kBody));
  return reader;
}

core::Result<Head> Reader::head(const Wait& wait) {
  const WaitScope scope(*connection_, wait);
  HEDDLE_ASSIGN(const HeadRow row, read_head(*connection_, head_));
  return row.head;
}

core::Result<Page> Reader::read(const Query& query, const Wait& wait) {
  const WaitScope scope(*connection_, wait);
  // One transaction, so that head and facts are of one moment.
  HEDDLE_ASSIGN(Transaction transaction, Transaction::begin(*connection_, begin_));
  auto page = read_page(query);
  for (Statement* statement : {&index_, &fact_, &scan_, &body_}) statement->reset();
  HEDDLE_TRY(transaction.commit(commit_));
  return page;
}

core::Result<Page> Reader::read_page(const Query& query) {
  HEDDLE_ASSIGN(const HeadRow end, read_head(*connection_, head_));
  PageReader page(query, end);
  if (page.nothing_to_read()) return std::move(page).finish();
  if (page.begins_with_index()) HEDDLE_TRY(read_index(query, end, page));
  if (!page.full()) {
    scan_.integer(1, static_cast<std::int64_t>(page.first_row()));
    HEDDLE_TRY(take_rows(scan_, page, [this](const Digest& digest) { return body_of(digest); }));
  }
  return std::move(page).finish();
}

core::Result<void> Reader::read_index(const Query& query, const HeadRow& end, PageReader& page) {
  HEDDLE_TRY(check_border(border_, end.indexed));
  HEDDLE_TRY(take_index(query, page));
  if (page.full()) return {};
  HEDDLE_ASSIGN(const std::uint64_t facts, facts_of(*connection_, flow_, *query.flow));
  return page.end_of_index(facts);
}

// Hands over the facts that the index names until there is none, or the page is full.
core::Result<void> Reader::take_index(const Query& query, PageReader& page) {
  const auto body = [this](const Digest& digest) { return body_of(digest); };
  index_.integer(1, static_cast<std::int64_t>(page.from())).text(2, *query.flow);
  for (;;) {
    HEDDLE_ASSIGN(const bool row, index_.step());
    if (!row) return {};
    HEDDLE_ASSIGN(const std::int64_t last, index_.integer_at(0));
    HEDDLE_ASSIGN(const std::string_view packed, index_.blob_at(1));
    HEDDLE_ASSIGN(const std::vector<std::uint64_t> sequences, page.take_index_row(last, packed));
    for (const std::uint64_t sequence : sequences) {
      fact_.reset();
      HEDDLE_ASSIGN(const bool there, fact_.integer(1, static_cast<std::int64_t>(sequence)).step());
      if (!there) return PageReader::missing(sequence);
      HEDDLE_ASSIGN(const FactRow fact, fact_row(fact_, true));
      HEDDLE_ASSIGN(const PageReader::Next next, page.take(fact, body));
      if (next == PageReader::Next::page_is_full) return {};
    }
  }
}

core::Result<std::string> Reader::body_of(const Digest& digest) {
  body_.blob(1, digest.raw());
  const auto read = [&]() -> core::Result<std::string> {
    HEDDLE_ASSIGN(const bool row, body_.step());
    if (!row) return connection_->damaged("the body " + digest.hex() + " is missing");
    HEDDLE_ASSIGN(const std::string_view text, body_.text_at(0));
    return std::string(text);
  };
  auto text = read();
  body_.reset();
  return text;
}

core::Result<void> Reader::check_storage(const Wait& wait) {
  const WaitScope scope(*connection_, wait);
  HEDDLE_ASSIGN(Statement check, connection_->prepare(kIntegrity));
  HEDDLE_ASSIGN(const bool row, check.step());
  if (!row) return connection_->damaged("SQLite gave no verdict");
  HEDDLE_ASSIGN(const std::string_view verdict, check.text_at(0));
  if (verdict != "ok") return connection_->damaged(verdict);
  check.reset();
  // One transaction, so that facts and index are of one moment.
  HEDDLE_ASSIGN(Transaction transaction, Transaction::begin(*connection_, begin_));
  HEDDLE_TRY(check_index());
  return transaction.commit(commit_);
}

core::Result<void> Reader::check_index() {
  HEDDLE_ASSIGN(const HeadRow head, read_head(*connection_, head_));
  IndexCheck check(head.indexed);
  HEDDLE_ASSIGN(Statement rows, connection_->prepare(kWholeIndex));
  HEDDLE_ASSIGN(Statement fact, connection_->prepare(kFlowOfFact));
  for (;;) {
    HEDDLE_ASSIGN(const bool row, rows.step());
    if (!row) break;
    HEDDLE_ASSIGN(const std::string_view flow, rows.text_at(0));
    HEDDLE_ASSIGN(const std::int64_t last, rows.integer_at(1));
    HEDDLE_ASSIGN(const std::string_view packed, rows.blob_at(2));
    HEDDLE_ASSIGN(const std::vector<std::uint64_t> sequences, check.take_row(flow, last, packed));
    for (const std::uint64_t sequence : sequences) {
      HEDDLE_ASSIGN(const bool there, fact.integer(1, static_cast<std::int64_t>(sequence)).text(2, flow).step());
      if (!there) return IndexCheck::differs();
      fact.reset();
    }
  }
  HEDDLE_ASSIGN(Statement flows, connection_->prepare(kFlows));
  for (;;) {
    HEDDLE_ASSIGN(const bool row, flows.step());
    if (!row) return check.finish();
    HEDDLE_ASSIGN(const std::string_view flow, flows.text_at(0));
    HEDDLE_ASSIGN(const std::int64_t facts, flows.integer_at(1));
    HEDDLE_TRY(check.take_count(flow, facts));
  }
}

}  // namespace heddle::journal

#include "rows.h"

namespace heddle::journal {
namespace {

// A scan's rows, from ?1 on.
constexpr Sql kScan =
    "SELECT sequence, ordinal, time, schema, flow, effect, kind, payload, checksum, body_digest, body FROM fact"
    " WHERE sequence >= ?1 ORDER BY sequence";
// A flow's rows from ?1 on and the one before, each with the checksum of the fact before it in the journal.
constexpr Sql kByFlow =
    "SELECT f.sequence, f.ordinal, f.time, f.schema, f.flow, f.effect, f.kind, f.payload, f.checksum, f.body_digest,"
    " f.body, p.checksum FROM fact AS f LEFT JOIN fact AS p ON p.sequence = f.sequence - 1 WHERE f.flow = ?2 AND"
    " f.sequence >= coalesce((SELECT max(sequence) FROM fact WHERE flow = ?2 AND sequence < ?1), ?1)"
    " ORDER BY f.sequence";
constexpr Sql kBody = "SELECT text FROM body WHERE digest = ?1";
constexpr Sql kIntegrity = "PRAGMA integrity_check(1)";

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
    return head_row(schema, last, checksum);
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

core::Result<std::unique_ptr<Reader>> Reader::make(std::unique_ptr<Connection> connection) {
  std::unique_ptr<Reader> reader(new Reader(std::move(connection)));
  Connection& c = *reader->connection_;
  HEDDLE_TRY(c.run("PRAGMA query_only = ON"));
  HEDDLE_ASSIGN(reader->begin_, c.prepare("BEGIN"));
  HEDDLE_ASSIGN(reader->commit_, c.prepare("COMMIT"));
  HEDDLE_ASSIGN(reader->head_, c.prepare(kReadHead));
  HEDDLE_ASSIGN(reader->flow_, c.prepare(kReadFlow));
  HEDDLE_ASSIGN(reader->by_flow_, c.prepare(kByFlow));
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
  for (Statement* statement : {&by_flow_, &scan_, &body_}) statement->reset();
  HEDDLE_TRY(transaction.commit(commit_));
  return page;
}

core::Result<Page> Reader::read_page(const Query& query) {
  HEDDLE_ASSIGN(const HeadRow head, read_head(*connection_, head_));
  PageReader page(query, head);
  Statement& rows = query.flow ? by_flow_ : scan_;
  if (!page.nothing_to_read()) {
    rows.integer(1, static_cast<std::int64_t>(query.flow ? page.from() : page.first_row()));
    if (query.flow) rows.text(2, *query.flow);
    const auto body = [this](const Digest& digest) { return body_of(digest); };
    for (;;) {
      HEDDLE_ASSIGN(const bool row, rows.step());
      if (!row) break;
      HEDDLE_ASSIGN(const FactRow fact, fact_row(rows, query.flow.has_value()));
      HEDDLE_ASSIGN(const PageReader::Next next, page.take(fact, body));
      if (next == PageReader::Next::page_is_full) break;
    }
  }
  if (!query.flow) return std::move(page).finish(0);
  if (page.nothing_to_read()) return std::move(page).finish(0);
  HEDDLE_ASSIGN(const std::uint64_t facts, facts_of(*connection_, flow_, *query.flow));
  return std::move(page).finish(facts);
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
  return {};
}

}  // namespace heddle::journal

#include "rows.h"

#include <algorithm>
#include <limits>

namespace heddle::journal {
namespace {

// One statement for each index, and the scan. ?1 lowest sequence, ?2 flow or kind, ?3 kinds as ",A,B," or NULL,
// ?4 and ?5 the time's bounds, ?6 the limit. Each fact comes with the checksum of the one before it.
#define HEDDLE_FACT_COLUMNS                                                                          \
  "SELECT f.sequence, f.time, f.schema, f.flow, f.effect, f.kind, f.payload, f.body_digest, f.body," \
  " f.checksum, p.checksum FROM fact AS f LEFT JOIN fact AS p ON p.sequence = f.sequence - 1"        \
  " WHERE f.sequence >= ?1 AND f.time >= ?4 AND f.time < ?5"
#define HEDDLE_FACT_ORDER " ORDER BY f.sequence LIMIT ?6"

constexpr Sql kByFlow =
    HEDDLE_FACT_COLUMNS " AND f.flow = ?2 AND (?3 IS NULL OR instr(?3, ',' || f.kind || ',') > 0)" HEDDLE_FACT_ORDER;
constexpr Sql kByKind = HEDDLE_FACT_COLUMNS " AND f.kind = ?2 AND ?3 IS NULL" HEDDLE_FACT_ORDER;
constexpr Sql kScan =
    HEDDLE_FACT_COLUMNS " AND ?2 IS NULL AND (?3 IS NULL OR instr(?3, ',' || f.kind || ',') > 0)" HEDDLE_FACT_ORDER;
constexpr Sql kBody = "SELECT text FROM body WHERE digest = ?1";
constexpr Sql kIntegrity = "PRAGMA integrity_check(1)";

#undef HEDDLE_FACT_COLUMNS
#undef HEDDLE_FACT_ORDER

core::Result<Digest> digest_of(Connection& connection, std::string_view raw) {
  const auto digest = Digest::from_raw(raw);
  if (!digest) return connection.damaged("a digest has another size than 32 bytes");
  return *digest;
}

core::Error at_fact(core::Error error, std::int64_t sequence) {
  error.context = "fact " + std::to_string(sequence) + ": " + error.context;
  return error;
}

}  // namespace

core::Result<HeadRow> read_head(Connection& connection, Statement& statement) {
  HEDDLE_ASSIGN(const bool row, statement.step());
  if (!row) return connection.damaged("its first table is empty");
  const auto read = [&]() -> core::Result<HeadRow> {
    HeadRow head;
    HEDDLE_ASSIGN(const std::string_view schema, statement.text_at(0));
    HEDDLE_ASSIGN(head.schema, readable_schema(schema));
    HEDDLE_ASSIGN(const std::int64_t last, statement.integer_at(1));
    if (last < 0) return connection.damaged("its last sequence is negative");
    head.head.sequence = static_cast<std::uint64_t>(last);
    HEDDLE_ASSIGN(const std::string_view checksum, statement.blob_at(2));
    HEDDLE_ASSIGN(head.head.checksum, digest_of(connection, checksum));
    return head;
  };
  auto head = read();
  statement.reset();
  return head;
}

core::Result<std::unique_ptr<Reader>> Reader::make(std::unique_ptr<Connection> connection) {
  std::unique_ptr<Reader> reader(new Reader(std::move(connection)));
  Connection& c = *reader->connection_;
  HEDDLE_TRY(c.run("PRAGMA query_only = ON"));
  HEDDLE_ASSIGN(reader->begin_, c.prepare("BEGIN"));
  HEDDLE_ASSIGN(reader->commit_, c.prepare("COMMIT"));
  HEDDLE_ASSIGN(reader->head_, c.prepare(kReadHead));
  HEDDLE_ASSIGN(reader->by_flow_, c.prepare(kByFlow));
  HEDDLE_ASSIGN(reader->by_kind_, c.prepare(kByKind));
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
  for (Statement* statement : {&by_flow_, &by_kind_, &scan_, &body_}) statement->reset();
  HEDDLE_TRY(transaction.commit(commit_));
  return page;
}

core::Result<Page> Reader::read_page(const Query& query) {
  HEDDLE_ASSIGN(const HeadRow head, read_head(*connection_, head_));
  const std::uint64_t from = std::max<std::uint64_t>(query.from, 1);
  Page page;
  page.next = from;
  page.at_end = true;
  if (from > head.head.sequence) return page;

  std::string kinds = ",";
  for (const Kind kind : query.kinds) kinds += std::string(kind_name(kind)) + ',';
  const bool one_kind = query.kinds.size() == 1 && !query.flow;
  Statement& rows = query.flow ? by_flow_ : one_kind ? by_kind_ : scan_;
  rows.integer(1, static_cast<std::int64_t>(from));
  const std::string_view kind = one_kind ? kind_name(query.kinds[0]) : std::string_view();
  query.flow ? rows.text(2, *query.flow) : one_kind ? rows.text(2, kind) : rows.null(2);
  query.kinds.empty() || one_kind ? rows.null(3) : rows.text(3, kinds);
  rows.integer(4, query.since ? query.since->time_since_epoch().count() : std::numeric_limits<std::int64_t>::min());
  rows.integer(5, query.until ? query.until->time_since_epoch().count() : std::numeric_limits<std::int64_t>::max());
  const std::size_t limit = std::clamp<std::size_t>(query.limit, 1, 1U << 20);
  rows.integer(6, static_cast<std::int64_t>(limit));

  const bool every_fact = !query.flow && query.kinds.empty() && !query.since && !query.until;
  const auto missing = [&](std::uint64_t sequence) {
    return connection_->damaged("fact " + std::to_string(sequence) + " is missing");
  };
  std::uint64_t expected = from;
  while (page.facts.size() < limit) {
    HEDDLE_ASSIGN(const bool row, rows.step());
    if (!row) break;
    HEDDLE_ASSIGN(Fact fact, fact_at(rows, query.bodies));
    if (fact.sequence < expected) return connection_->damaged("facts are out of order");
    if (fact.sequence > head.head.sequence) return connection_->damaged("there are facts after the last one");
    if (every_fact && fact.sequence != expected) return missing(expected);
    if (fact.sequence == head.head.sequence && fact.checksum != head.head.checksum) {
      return connection_->damaged("the last fact is not the one that was written last");
    }
    expected = fact.sequence + 1;
    page.facts.push_back(std::move(fact));
  }
  page.at_end = page.facts.size() < limit || expected > head.head.sequence;
  if (every_fact && page.facts.size() < limit && expected != head.head.sequence + 1) return missing(expected);
  page.next = page.at_end ? head.head.sequence + 1 : expected;
  return page;
}

core::Result<Fact> Reader::fact_at(Statement& row, Bodies bodies) {
  Fact fact;
  HEDDLE_ASSIGN(const std::int64_t sequence, row.integer_at(0));
  fact.sequence = static_cast<std::uint64_t>(sequence);
  HEDDLE_ASSIGN(const std::int64_t micros, row.integer_at(1));
  fact.time = Time(std::chrono::microseconds(micros));
  HEDDLE_ASSIGN(const std::string_view schema, row.text_at(2));
  auto version = readable_schema(schema);
  if (!version.ok()) return at_fact(std::move(version).error(), sequence);
  fact.schema = version.value();
  HEDDLE_ASSIGN(fact.flow, row.text_at(3));
  HEDDLE_ASSIGN(fact.effect, row.text_at(4));
  HEDDLE_ASSIGN(fact.kind_text, row.text_at(5));
  fact.kind = kind_from(fact.kind_text);
  HEDDLE_ASSIGN(fact.payload, row.text_at(6));
  if (!row.null_at(7)) {
    Body body;
    HEDDLE_ASSIGN(const std::string_view digest, row.blob_at(7));
    HEDDLE_ASSIGN(body.digest, digest_of(*connection_, digest));
    if (bodies == Bodies::load && !row.null_at(8)) {
      HEDDLE_ASSIGN(body.text, row.text_at(8));
    } else if (bodies == Bodies::load) {
      auto text = body_of(body.digest);
      if (!text.ok()) return at_fact(std::move(text).error(), sequence);
      body.text = std::move(text).value();
    }
    // No JSON value is empty, so an empty text where one was asked for is not what was written.
    if (bodies == Bodies::load && body.text.empty()) return connection_->damaged("a body is empty");
    fact.body = std::move(body);
  } else if (!row.null_at(8)) {
    return connection_->damaged("a body has no digest");
  }
  HEDDLE_ASSIGN(const std::string_view checksum, row.blob_at(9));
  HEDDLE_ASSIGN(fact.checksum, digest_of(*connection_, checksum));
  Digest previous;
  if (sequence > 1) {
    if (row.null_at(10)) return connection_->damaged("the fact before " + std::to_string(sequence) + " is missing");
    HEDDLE_ASSIGN(const std::string_view raw, row.blob_at(10));
    HEDDLE_ASSIGN(previous, digest_of(*connection_, raw));
  }
  auto checked = check_fact(fact, previous);
  if (!checked.ok()) return std::move(checked).error();
  return fact;
}

core::Result<std::string> Reader::body_of(const Digest& digest) {
  body_.blob(1, digest.raw());
  const auto read = [&]() -> core::Result<std::string> {
    HEDDLE_ASSIGN(const bool row, body_.step());
    if (!row) return connection_->damaged("its body is missing");
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

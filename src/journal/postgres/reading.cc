#include "reading.h"

#include "statements.h"

namespace heddle::journal::pg {
namespace {

std::optional<std::string_view> optional_at(const Rows& rows, int row, int column) {
  if (rows.null_at(row, column)) return std::nullopt;
  return rows.bytes_at(row, column);
}

core::Result<FactRow> fact_row(const Rows& rows, int row, bool with_previous) {
  FactRow fact;
  HEDDLE_ASSIGN(fact.sequence, rows.number_at(row, 0));
  HEDDLE_ASSIGN(fact.ordinal, rows.number_at(row, 1));
  HEDDLE_ASSIGN(fact.time, rows.number_at(row, 2));
  fact.schema = rows.bytes_at(row, 3);
  fact.flow = rows.bytes_at(row, 4);
  fact.effect = rows.bytes_at(row, 5);
  fact.kind = rows.bytes_at(row, 6);
  fact.payload = rows.bytes_at(row, 7);
  fact.checksum = rows.bytes_at(row, 8);
  fact.body_digest = optional_at(rows, row, 9);
  fact.body = optional_at(rows, row, 10);
  if (with_previous) fact.previous = optional_at(rows, row, 11);
  return fact;
}

core::Result<std::string> body_of(Session& session, const Digest& digest, const Wait& wait) {
  HEDDLE_ASSIGN(const Rows rows, session.run(kReadBody, {Parameter::bytes(digest.raw())}, wait));
  if (rows.count() != 1) {
    return core::make_error(core::Errc::damaged, "read the journal", "the body " + digest.hex() + " is missing");
  }
  return std::string(rows.bytes_at(0, 0));
}

core::Result<Page> read_page(Session& session, const Query& query, const Wait& wait) {
  HEDDLE_ASSIGN(const HeadRow head, head_of(session.run(kReadHead, {}, wait)));
  PageReader page(query, head);
  if (page.nothing_to_read()) return std::move(page).finish(0);
  const auto body = [&](const Digest& digest) { return body_of(session, digest, wait); };
  auto from = static_cast<std::int64_t>(query.flow ? page.from() : page.first_row());
  if (query.flow) {
    HEDDLE_ASSIGN(const Rows before,
                  session.run(kBeforeInFlow, {Parameter::number(from), Parameter::text(*query.flow)}, wait));
    if (before.count() == 1) {
      HEDDLE_ASSIGN(const std::int64_t sequence, before.number_at(0, 0));
      if (sequence > 0) from = sequence;
    }
  }
  for (bool more = true; more;) {
    HEDDLE_ASSIGN(const Rows rows,
                  query.flow ? session.run(kByFlow, {Parameter::number(from), Parameter::text(*query.flow)}, wait)
                             : session.run(kScan, {Parameter::number(from)}, wait));
    more = rows.count() == kRowsAtOnce;
    for (int row = 0; row < rows.count(); ++row) {
      HEDDLE_ASSIGN(const FactRow fact, fact_row(rows, row, query.flow.has_value()));
      from = fact.sequence + 1;
      HEDDLE_ASSIGN(const PageReader::Next next, page.take(fact, body));
      if (next == PageReader::Next::page_is_full) {
        more = false;
        break;
      }
    }
  }
  if (!query.flow) return std::move(page).finish(0);
  HEDDLE_ASSIGN(const std::uint64_t facts, facts_of(session, *query.flow, wait));
  return std::move(page).finish(facts);
}

}  // namespace

core::Result<HeadRow> head_of(const core::Result<Rows>& rows) {
  if (!rows.ok()) return rows.error();
  if (rows.value().count() != 1) {
    return core::make_error(core::Errc::damaged, "read the journal", "table journal is empty");
  }
  HEDDLE_ASSIGN(const std::int64_t last, rows.value().number_at(0, 1));
  return head_row(rows.value().bytes_at(0, 0), last, rows.value().bytes_at(0, 2));
}

core::Result<std::uint64_t> facts_of(Session& session, std::string_view flow, const Wait& wait) {
  HEDDLE_ASSIGN(const Rows rows, session.run(kReadFlow, {Parameter::text(flow)}, wait));
  if (rows.count() == 0) return 0U;
  HEDDLE_ASSIGN(const std::int64_t facts, rows.number_at(0, 0));
  return static_cast<std::uint64_t>(facts);
}

core::Result<Page> read(Session& session, const Query& query, const Wait& wait) {
  const auto begun = session.run(kBeginRead, {}, wait);
  if (!begun.ok()) return begun.error();
  auto page = read_page(session, query, wait);
  if (!session.usable()) return page;
  const auto ended = session.run(page.ok() ? kCommit : kRollback, {}, wait);
  if (page.ok() && !ended.ok()) return ended.error();
  return page;
}

}  // namespace heddle::journal::pg

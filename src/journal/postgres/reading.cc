#include "reading.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "heddle/journal/core/flow_index.h"
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

using BodyOf = PageReader::BodyOf;

core::Result<void> scan(Session& session, PageReader& page, const BodyOf& body_of, const Wait& wait) {
  for (auto from = static_cast<std::int64_t>(page.first_row());;) {
    HEDDLE_ASSIGN(const Rows rows, session.run(kScan, {Parameter::number(from)}, wait));
    for (int row = 0; row < rows.count(); ++row) {
      HEDDLE_ASSIGN(const FactRow fact, fact_row(rows, row, false));
      HEDDLE_ASSIGN(const PageReader::Next next, page.take(fact, body_of));
      if (next == PageReader::Next::page_is_full) return {};
      from = fact.sequence + 1;
    }
    if (rows.count() < kRowsAtOnce) return {};
  }
}

// Hands facts over until there is none, or the page is full.
core::Result<void> take_facts(Session& session, std::span<const std::uint64_t> sequences, PageReader& page,
                              const BodyOf& body_of, const Wait& wait) {
  while (!sequences.empty()) {
    const auto some = sequences.first(std::min<std::size_t>(sequences.size(), kRowsAtOnce));
    sequences = sequences.subspan(some.size());
    Column column(Column::Type::number, some.size());
    for (const std::uint64_t sequence : some) column.add(Parameter::number(static_cast<std::int64_t>(sequence)));
    HEDDLE_ASSIGN(const Rows rows, session.run(kFactsAt, {column.parameter()}, wait));
    for (std::size_t i = 0; i < some.size(); ++i) {
      const int row = static_cast<int>(i);
      if (row == rows.count()) return PageReader::missing(some[i]);
      HEDDLE_ASSIGN(const FactRow fact, fact_row(rows, row, true));
      if (static_cast<std::uint64_t>(fact.sequence) != some[i]) return PageReader::missing(some[i]);
      HEDDLE_ASSIGN(const PageReader::Next next, page.take(fact, body_of));
      if (next == PageReader::Next::page_is_full) return {};
    }
  }
  return {};
}

core::Result<void> read_index(Session& session, const Query& query, const HeadRow& end, PageReader& page,
                              const BodyOf& body_of, const Wait& wait) {
  auto from = static_cast<std::int64_t>(page.from());
  HEDDLE_ASSIGN(const Rows entry, session.run(kReadIndex,
                                              {Parameter::text(*query.flow), Parameter::number(from),
                                               Parameter::number(static_cast<std::int64_t>(end.indexed))},
                                              wait));
  HEDDLE_ASSIGN(const std::int64_t before, entry.number_at(0, 0));
  HEDDLE_ASSIGN(const std::int64_t facts, entry.number_at(0, 1));
  HEDDLE_ASSIGN(const std::int64_t whole, entry.number_at(0, 2));
  if (end.indexed > 0 && whole == 0) return border_is_damaged(end.indexed);
  if (before > 0) from = before;
  for (;;) {
    HEDDLE_ASSIGN(const Rows rows,
                  session.run(kIndexOfFlow, {Parameter::text(*query.flow), Parameter::number(from)}, wait));
    for (int row = 0; row < rows.count(); ++row) {
      HEDDLE_ASSIGN(const std::int64_t last, rows.number_at(row, 0));
      HEDDLE_ASSIGN(const std::vector<std::uint64_t> sequences, page.take_index_row(last, rows.bytes_at(row, 1)));
      HEDDLE_TRY(take_facts(session, sequences, page, body_of, wait));
      if (page.full()) return {};
      from = last + 1;
    }
    if (rows.count() < kRowsAtOnce) return page.end_of_index(static_cast<std::uint64_t>(facts));
  }
}

core::Result<Page> read_page(Session& session, const Query& query, const Wait& wait) {
  HEDDLE_ASSIGN(const HeadRow end, head_of(session.run(kReadHead, {}, wait)));
  PageReader page(query, end);
  if (page.nothing_to_read()) return std::move(page).finish();
  const auto body = [&](const Digest& digest) { return body_of(session, digest, wait); };
  if (page.begins_with_index()) HEDDLE_TRY(read_index(session, query, end, page, body, wait));
  if (!page.full()) HEDDLE_TRY(scan(session, page, body, wait));
  return std::move(page).finish();
}

// Of entries of the index: are there such facts?
class EntryCheck {
 public:
  EntryCheck(Session& session, const Wait& wait) : session_(session), wait_(wait) {}

  core::Result<void> add(std::string_view flow, const std::vector<std::uint64_t>& sequences) {
    for (const std::uint64_t sequence : sequences) entries_.emplace_back(sequence, flow);
    return entries_.size() < kEntriesAtOnce ? core::Result<void>() : finish();
  }

  core::Result<void> finish() {
    Column sequences(Column::Type::number, entries_.size());
    Column flows(Column::Type::text, entries_.size());
    for (const auto& [sequence, flow] : entries_) {
      sequences.add(Parameter::number(static_cast<std::int64_t>(sequence)));
      flows.add(Parameter::text(flow));
    }
    HEDDLE_ASSIGN(const Rows rows, session_.run(kCountFacts, {sequences.parameter(), flows.parameter()}, wait_));
    HEDDLE_ASSIGN(const std::int64_t there, rows.number_at(0, 0));
    if (static_cast<std::uint64_t>(there) != entries_.size()) return IndexCheck::differs();
    entries_.clear();
    return {};
  }

 private:
  static constexpr std::size_t kEntriesAtOnce = 4096;

  Session& session_;
  const Wait& wait_;
  std::vector<std::pair<std::uint64_t, std::string>> entries_;
};

core::Result<void> check_index(Session& session, std::uint64_t indexed, const Wait& wait) {
  // What a statement gives, page by page; each begins with the last row of the one before it.
  const auto each = [&](Sql sql, const auto& take) -> core::Result<void> {
    std::string text;
    std::int64_t number = std::numeric_limits<std::int64_t>::min();
    for (int first = 0;; first = 1) {
      HEDDLE_ASSIGN(const Rows rows, session.run(sql, {Parameter::text(text), Parameter::number(number)}, wait));
      for (int row = first; row < rows.count(); ++row) {
        text = rows.bytes_at(row, 0);
        HEDDLE_ASSIGN(number, rows.number_at(row, 1));
        HEDDLE_TRY(take(rows, row, text, number));
      }
      if (rows.count() < kRowsAtOnce) return {};
    }
  };
  IndexCheck check(indexed);
  EntryCheck entries(session, wait);
  HEDDLE_TRY(each(kIndexFrom, [&](const Rows& rows, int row, std::string_view flow, std::int64_t last) {
    const auto sequences = check.take_row(flow, last, rows.bytes_at(row, 2));
    return sequences.ok() ? entries.add(flow, sequences.value()) : sequences.error();
  }));
  HEDDLE_TRY(entries.finish());
  HEDDLE_TRY(each(kFlowsFrom, [&](const Rows&, int, std::string_view flow, std::int64_t facts) {
    return check.take_count(flow, facts);
  }));
  return check.finish();
}

template <class T>
core::Result<T> in_transaction(Session& session, const Wait& wait, const std::function<core::Result<T>()>& work) {
  const auto begun = session.run(kBeginRead, {}, wait);
  if (!begun.ok()) return begun.error();
  core::Result<T> result = work();
  if (!session.usable()) return result;
  const auto ended = session.run(result.ok() ? kCommit : kRollback, {}, wait);
  if (result.ok() && !ended.ok()) return ended.error();
  return result;
}

}  // namespace

core::Result<HeadRow> head_of(const core::Result<Rows>& rows) {
  if (!rows.ok()) return rows.error();
  if (rows.value().count() != 1) {
    return core::make_error(core::Errc::damaged, "read the journal", "table journal is empty");
  }
  HEDDLE_ASSIGN(const std::int64_t last, rows.value().number_at(0, 1));
  HEDDLE_ASSIGN(const std::int64_t indexed, rows.value().number_at(0, 3));
  HEDDLE_ASSIGN(const std::int64_t bounded, rows.value().number_at(0, 4));
  HEDDLE_ASSIGN(HeadRow head, head_row(rows.value().bytes_at(0, 0), last, rows.value().bytes_at(0, 2), indexed));
  if (bounded == 0) {
    return core::make_error(core::Errc::damaged, "read the journal",
                            "the fact that was the last one when table journal was written is not there any more");
  }
  return head;
}

core::Result<std::uint64_t> facts_of(Session& session, std::string_view flow, const Wait& wait) {
  HEDDLE_ASSIGN(const Rows rows, session.run(kReadFlow, {Parameter::text(flow)}, wait));
  if (rows.count() == 0) return 0U;
  HEDDLE_ASSIGN(const std::int64_t facts, rows.number_at(0, 0));
  if (facts < 1) {
    return core::make_error(core::Errc::damaged, "read the journal", "a flow has less than one fact");
  }
  return static_cast<std::uint64_t>(facts);
}

core::Result<void> check_border(Session& session, std::uint64_t indexed, const Wait& wait) {
  if (indexed == 0) return {};
  HEDDLE_ASSIGN(const Rows rows,
                session.run(kReadBorder, {Parameter::number(static_cast<std::int64_t>(indexed))}, wait));
  HEDDLE_ASSIGN(const std::int64_t there, rows.number_at(0, 0));
  if (there == 0) return border_is_damaged(indexed);
  return {};
}

core::Result<std::vector<Fact>> facts_from(Session& session, const HeadRow& end, std::uint64_t from, const Wait& wait) {
  return facts_without_payload(end, from, [&](PageReader& page) { return scan(session, page, {}, wait); });
}

core::Result<Page> read(Session& session, const Query& query, const Wait& wait) {
  return in_transaction<Page>(session, wait, [&] { return read_page(session, query, wait); });
}

core::Result<void> check_storage(Session& session, const Wait& wait) {
  return in_transaction<void>(session, wait, [&]() -> core::Result<void> {
    HEDDLE_ASSIGN(const HeadRow head, head_of(session.run(kReadHead, {}, wait)));
    HEDDLE_TRY(check_border(session, head.indexed, wait));
    return check_index(session, head.indexed, wait);
  });
}

}  // namespace heddle::journal::pg

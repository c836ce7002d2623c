// Facts as rows of SQLite's tables: what is written, and reading with every check.
#pragma once

#include <memory>
#include <vector>

#include "connection.h"
#include "heddle/journal/core/store_parts.h"

namespace heddle::journal {

inline constexpr Sql kReadHead = "SELECT schema, last, checksum, indexed FROM journal WHERE id = 1";
inline constexpr Sql kSetHead = "UPDATE journal SET schema = ?1, last = ?2, checksum = ?3, indexed = ?4 WHERE id = 1";
inline constexpr Sql kInsertFact =
    "INSERT INTO fact (sequence, ordinal, checksum, schema, time, flow, effect, kind, payload, body_digest, body)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
inline constexpr Sql kReadFlow = "SELECT facts FROM flow WHERE id = ?1";
// Is the fact at the border ?1 in the index?
inline constexpr Sql kReadBorder =
    "SELECT EXISTS (SELECT 1 FROM fact AS f JOIN flow_index AS i ON i.flow = f.flow AND i.last = f.sequence"
    " WHERE f.sequence = ?1)";
inline constexpr Sql kScan =
    "SELECT sequence, ordinal, time, schema, flow, effect, kind, payload, checksum, body_digest, body FROM fact"
    " WHERE sequence >= ?1 ORDER BY sequence";
inline constexpr Sql kIndexFacts = "INSERT INTO flow_index (flow, last, sequences) VALUES (?1, ?2, ?3)";
inline constexpr Sql kSetFlow =
    "INSERT INTO flow (id, facts) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET facts = excluded.facts";
// What Store::erase takes away: of facts ?1 to ?2, and then bodies that no fact has any more.
inline constexpr Sql kErase =
    "UPDATE fact SET payload = '', body_digest = NULL, body = NULL WHERE sequence BETWEEN ?1 AND ?2";
inline constexpr Sql kEraseBodies =
    "DELETE FROM body WHERE digest NOT IN (SELECT body_digest FROM fact WHERE body_digest IS NOT NULL AND body IS "
    "NULL)";
inline constexpr Sql kInsertBody = "INSERT INTO body (digest, text) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING";

/// Runs `kReadHead` and checks what it gives; leaves the statement reset.
[[nodiscard]] core::Result<HeadRow> read_head(Connection& connection, Statement& statement);

/// Runs `kReadFlow`: how many facts a flow has in the index; 0 when there is no such flow.
[[nodiscard]] core::Result<std::uint64_t> facts_of(Connection& connection, Statement& statement, std::string_view flow);

/// Runs `kReadBorder`: Errc::damaged when the index does not go as far as `indexed`.
[[nodiscard]] core::Result<void> check_border(Statement& statement, std::uint64_t indexed);

/// Runs `kScan`: all facts from `from` on, checked, without their payloads and bodies.
[[nodiscard]] core::Result<std::vector<Fact>> facts_from(Statement& statement, const HeadRow& end, std::uint64_t from);

/// A connection that reads. Used by one thread at a time.
class Reader {
 public:
  [[nodiscard]] static core::Result<std::unique_ptr<Reader>> make(std::unique_ptr<Connection> connection);

  [[nodiscard]] core::Result<Page> read(const Query& query, const Wait& wait);
  [[nodiscard]] core::Result<Head> head(const Wait& wait);
  [[nodiscard]] core::Result<void> check_storage(const Wait& wait);

 private:
  explicit Reader(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}

  [[nodiscard]] core::Result<Page> read_page(const Query& query);
  [[nodiscard]] core::Result<void> read_index(const Query& query, const HeadRow& end, PageReader& page);
  [[nodiscard]] core::Result<void> take_index(const Query& query, PageReader& page);
  [[nodiscard]] core::Result<void> check_index();
  [[nodiscard]] core::Result<std::string> body_of(const Digest& digest);

  std::unique_ptr<Connection> connection_;
  Statement begin_, commit_, head_, flow_, border_, index_, fact_, scan_, body_;
};

}  // namespace heddle::journal

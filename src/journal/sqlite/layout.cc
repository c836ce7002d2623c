#include "layout.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "files.h"
#include "heddle/core/fd.h"

namespace heddle::journal {
namespace {

// PRAGMA application_id: "HDLJ". file(1) and we tell a journal from another program's database by it.
constexpr std::int64_t kApplicationId = 0x48444C4A;
constexpr Sql kSetApplicationId = "PRAGMA application_id = 0x48444C4A";
constexpr Sql kGetApplicationId = "PRAGMA application_id";
constexpr Sql kCountTables = "SELECT count(*) FROM sqlite_schema";
constexpr Sql kCountFreePages = "PRAGMA freelist_count";

constexpr Sql kSettings[] = {
    "PRAGMA trusted_schema = OFF",  // a changed file's schema runs no functions of ours
    "PRAGMA cell_size_check = ON",  // damage is found when a page is read
    "PRAGMA mmap_size = 0",         // an I/O error is an error, not a SIGBUS
    "PRAGMA synchronous = FULL",    // every commit syncs the WAL (JRN-5)
    "PRAGMA temp_store = MEMORY",   // nothing of a journal is written elsewhere
};
constexpr Sql kWal = "PRAGMA journal_mode = WAL";

// One row: the newest schema that wrote here, the last fact and its checksum, the end of the index.
constexpr Sql kJournalTable =
    "CREATE TABLE journal (id INTEGER PRIMARY KEY CHECK (id = 1), schema TEXT NOT NULL, last INTEGER NOT NULL,"
    " checksum BLOB NOT NULL, indexed INTEGER NOT NULL)";
// The checksum comes early so that reading a neighbour's never follows overflow pages.
constexpr Sql kFactTable =
    "CREATE TABLE fact (sequence INTEGER PRIMARY KEY, ordinal INTEGER NOT NULL, checksum BLOB NOT NULL,"
    " schema TEXT NOT NULL, time INTEGER NOT NULL, flow TEXT NOT NULL, effect TEXT NOT NULL, kind TEXT NOT NULL, "
    "payload TEXT NOT NULL,"
    " body_digest BLOB, body TEXT)";
constexpr Sql kBodyTable = "CREATE TABLE body (digest BLOB PRIMARY KEY NOT NULL, text TEXT NOT NULL)";
// The index of flows: no index of SQLite's, which would be written with every fact.
constexpr Sql kFlowTable = "CREATE TABLE flow (id TEXT PRIMARY KEY NOT NULL, facts INTEGER NOT NULL) WITHOUT ROWID";
constexpr Sql kFlowIndexTable =
    "CREATE TABLE flow_index (flow TEXT NOT NULL, last INTEGER NOT NULL, sequences BLOB NOT NULL,"
    " PRIMARY KEY (flow, last)) WITHOUT ROWID";
constexpr Sql kFirstRow =
    "INSERT INTO journal (id, schema, last, checksum, indexed) VALUES (1, ?1, 0, zeroblob(32), 0)";
// Builds from before the first release had other indexes of flows.
constexpr Sql kCountFlowIndexes = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'flow_index'";
constexpr Sql kReadSchema = "SELECT schema FROM journal WHERE id = 1";

// Switching to WAL needs the file alone for a moment and does not always call the busy handler.
core::Result<void> use_wal(Connection& connection, const Wait& wait) {
  for (;;) {
    HEDDLE_ASSIGN(Statement statement, connection.prepare(kWal));
    const auto row = statement.step();
    if (row.ok()) {
      HEDDLE_ASSIGN(const std::string_view mode, statement.text_at(0));
      if (mode == "wal") return {};
      return core::make_error(core::Errc::unsupported, "open the journal",
                              connection.path() + ": SQLite cannot use WAL there; use a local file system");
    }
    if (row.error().code != core::Errc::timed_out || wait_over(wait, "", "")) return row.error();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

enum class Content : std::uint8_t { nothing, journal };

core::Result<Content> look(Connection& connection) {
  HEDDLE_ASSIGN(const std::int64_t id, connection.number(kGetApplicationId));
  HEDDLE_ASSIGN(const std::int64_t tables, connection.number(kCountTables));
  if (id == kApplicationId && tables > 0) return Content::journal;
  if (id == 0 && tables == 0) return Content::nothing;
  return core::make_error(core::Errc::damaged, "open the journal",
                          connection.path() + ": the file is a database, but no journal of Heddle's");
}

core::Result<void> make_tables(Connection& connection) {
  HEDDLE_ASSIGN(Statement begin, connection.prepare("BEGIN IMMEDIATE"));
  HEDDLE_ASSIGN(Statement commit, connection.prepare("COMMIT"));
  HEDDLE_ASSIGN(Transaction transaction, Transaction::begin(connection, begin));
  HEDDLE_ASSIGN(const Content content, look(connection));
  if (content == Content::journal) return {};  // another process was faster
  for (const Sql& table : {kJournalTable, kFactTable, kBodyTable, kFlowTable, kFlowIndexTable})
    HEDDLE_TRY(connection.run(table));
  const std::string schema = kSchema.text();
  HEDDLE_ASSIGN(Statement row, connection.prepare(kFirstRow));
  HEDDLE_TRY(row.text(1, schema).run());
  HEDDLE_TRY(connection.run(kSetApplicationId));
  return transaction.commit(commit);
}

core::Result<void> recognise(Connection& connection) {
  // A journal only grows: a free page is damage, and SQLite would put new facts over whatever it points to.
  HEDDLE_ASSIGN(const std::int64_t free_pages, connection.number(kCountFreePages));
  if (free_pages != 0) return connection.damaged("the file has free pages, which a journal never has");
  HEDDLE_ASSIGN(Statement statement, connection.prepare(kReadSchema));
  HEDDLE_ASSIGN(const bool row, statement.step());
  if (!row) return connection.damaged("its first table is empty");
  HEDDLE_ASSIGN(const std::string_view schema, statement.text_at(0));
  const auto version = readable_schema(schema);
  if (!version.ok()) {
    core::Error error = version.error();
    error.context = connection.path() + ": " + error.context;
    return error;
  }
  HEDDLE_ASSIGN(const std::int64_t flow_indexes, connection.number(kCountFlowIndexes));
  if (flow_indexes == 0) return made_before_release(connection.path());
  return {};
}

}  // namespace

core::Result<void> create_journal_file(const std::string& path) {
  HEDDLE_TRY(check_files(path));
  const core::Fd file(::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
  if (!file.valid()) {
    // Not opened when it is there: closing any descriptor of a file drops this process's locks on it (fcntl(2)).
    if (errno == EEXIST) return {};
    return core::system_error("make the journal", path);
  }
  const std::string folder = folder_of(path);
  const core::Fd parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid() || ::fsync(parent.get()) != 0) return core::system_error("sync the journal's folder", folder);
  return {};
}

core::Result<std::unique_ptr<Connection>> open_journal(const std::string& path, const SqliteOptions& options,
                                                       const Wait& wait) {
  HEDDLE_TRY(check_files(path));
  HEDDLE_ASSIGN(std::unique_ptr<Connection> connection, Connection::open(path, options, wait));
  if (options.mode != SqliteMode::read_only && !connection->writable()) {
    const std::string file = file_in_the_way(path, Use::write);
    return core::system_error(EACCES, "open the journal", file.empty() ? path + " may not be written" : file);
  }
  const WaitScope scope(*connection, wait);
  for (const Sql& setting : kSettings) HEDDLE_TRY(connection->run(setting));
  HEDDLE_ASSIGN(const Content content, look(*connection));
  if (options.mode == SqliteMode::read_only) {
    if (content == Content::nothing)
      return core::make_error(core::Errc::not_found, "open the journal",
                              path + ": empty; if it is a copy, copy its log " + path + "-wal too");
  } else {
    HEDDLE_TRY(use_wal(*connection, wait));
    if (content == Content::nothing) {
      if (options.mode != SqliteMode::read_write_create) {
        return core::make_error(core::Errc::not_found, "open the journal", path + ": the file is empty");
      }
      HEDDLE_TRY(make_tables(*connection));
    }
  }
  HEDDLE_TRY(recognise(*connection));
  return connection;
}

}  // namespace heddle::journal

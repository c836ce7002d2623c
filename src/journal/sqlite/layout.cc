#include "layout.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <thread>
#include <utility>

#include "files.h"
#include "heddle/core/fd.h"
#include "heddle/core/text.h"

namespace heddle::journal {
namespace {

// PRAGMA application_id: "HDLJ". file(1) and we tell a journal from another program's database by it.
constexpr std::int64_t kApplicationId = 0x48444C4A;
constexpr Sql kSetApplicationId = "PRAGMA application_id = 0x48444C4A";
constexpr Sql kGetApplicationId = "PRAGMA application_id";
constexpr Sql kGetObjects = "SELECT type, name, tbl_name, sql FROM sqlite_schema";
constexpr Sql kGetEncoding = "PRAGMA encoding";
constexpr Sql kCountFreePages = "PRAGMA freelist_count";

// Besides what every connection is told before it reads anything (connection.cc).
constexpr Sql kSettings[] = {
    "PRAGMA cell_size_check = ON",  // damage is found when a page is read
    "PRAGMA mmap_size = 0",         // an I/O error is an error, not a SIGBUS
    "PRAGMA synchronous = FULL",    // every commit syncs the WAL (JRN-5)
    "PRAGMA secure_delete = ON",    // what is pruned is overwritten
    "PRAGMA temp_store = MEMORY",   // nothing of a journal is written elsewhere
};
// Of a file that is empty yet: what pruning leaves is given back by the commit, so that there is never a free page.
constexpr Sql kGivePagesBack = "PRAGMA auto_vacuum = FULL";
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
constexpr Sql kReadSchema = "SELECT schema FROM journal WHERE id = 1";

// Everything that a journal has, in the order in which it is made.
struct Object {
  std::string_view type;
  std::string_view name;
  std::string_view table;
  std::string_view sql;  // empty: NULL, of an index that SQLite makes for a key
};
constexpr std::string_view text_of(const Sql& sql) { return {sql.text(), sql.size()}; }
constexpr Object kObjects[] = {
    {"table", "journal", "journal", text_of(kJournalTable)},
    {"table", "fact", "fact", text_of(kFactTable)},
    {"table", "body", "body", text_of(kBodyTable)},
    {"index", "sqlite_autoindex_body_1", "body", ""},
    {"table", "flow", "flow", text_of(kFlowTable)},
    {"table", "flow_index", "flow_index", text_of(kFlowIndexTable)},
};
// How table `journal` has begun in every version, so that its schema's number can be read.
constexpr std::string_view kJournalBegins =
    "CREATE TABLE journal (id INTEGER PRIMARY KEY CHECK (id = 1), schema TEXT NOT NULL, last INTEGER NOT NULL,"
    " checksum BLOB NOT NULL";

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

// What a file has in place of, or besides, a journal's tables.
struct Strangeness {
  bool is_journal = true;  // exactly kObjects
  bool has_objects = false;
  bool journal_readable = false;  // table `journal` has a number of a schema to read
  bool has_flow_index = false;
  std::string what;  // the first difference, for an error
};

core::Result<Strangeness> compare_objects(Connection& connection) {
  // The file's words end in a message.
  const auto shown = [](std::string_view text) { return core::printable_line(core::bound_text(text, 60)); };
  Strangeness found;
  const auto differs = [&found](std::string what) {
    if (std::exchange(found.is_journal, false)) found.what = std::move(what);
  };
  HEDDLE_ASSIGN(Statement rows, connection.prepare(kGetObjects));
  constexpr std::size_t most = 64;  // as many are looked at; those of other versions are fewer
  std::size_t count = 0;
  for (; count < most; ++count) {
    HEDDLE_ASSIGN(const bool row, rows.step());
    if (!row) break;
    HEDDLE_ASSIGN(const std::string_view type, rows.text_at(0));
    HEDDLE_ASSIGN(const std::string_view name, rows.text_at(1));
    HEDDLE_ASSIGN(const std::string_view table, rows.text_at(2));
    std::string_view sql;
    if (!rows.null_at(3)) {
      HEDDLE_ASSIGN(sql, rows.text_at(3));
    }
    const std::string object = shown(type) + " " + shown(name);
    if (type == "table" && name == "journal" && sql.substr(0, kJournalBegins.size()) == kJournalBegins) {
      found.journal_readable = true;
    }
    found.has_flow_index = found.has_flow_index || (type == "table" && name == "flow_index");
    if (count >= std::size(kObjects)) {
      differs("it has " + object + ", which no journal has");
      continue;
    }
    const Object& expected = kObjects[count];
    if (type != expected.type || name != expected.name || table != expected.table) {
      differs("it has " + object + " where a journal has " + std::string(expected.type) + " " +
              std::string(expected.name));
    } else if (sql != expected.sql || rows.null_at(3) != expected.sql.empty()) {
      differs(object + " is not made as a journal's");
    }
  }
  found.has_objects = count > 0;
  if (count < std::size(kObjects)) differs("it lacks " + std::string(kObjects[count].name));
  return found;
}

core::Error with_path(core::Error error, const Connection& connection) {
  error.context = connection.path() + ": " + error.context;
  return error;
}

core::Result<void> check_schema_version(Connection& connection) {
  HEDDLE_ASSIGN(Statement statement, connection.prepare(kReadSchema));
  HEDDLE_ASSIGN(const bool row, statement.step());
  if (!row) return connection.damaged("its first table is empty");
  HEDDLE_ASSIGN(const std::string_view schema, statement.text_at(0));
  const auto version = readable_schema(schema);
  if (!version.ok()) return with_path(version.error(), connection);
  return {};
}

// Recognises a journal before anything else of the file is used: exactly its tables, by their names and the text that
// made them, so no trigger, view, virtual table or computed column.
core::Result<Content> look(Connection& connection) {
  HEDDLE_ASSIGN(const std::int64_t id, connection.number(kGetApplicationId));
  HEDDLE_ASSIGN(Statement encoding, connection.prepare(kGetEncoding));
  HEDDLE_ASSIGN(const bool row, encoding.step());
  if (!row) return connection.damaged("it has no encoding");
  HEDDLE_ASSIGN(const std::string_view name, encoding.text_at(0));
  if (name != "UTF-8") return connection.damaged("its texts are not in UTF-8");
  HEDDLE_ASSIGN(const Strangeness found, compare_objects(connection));
  if (id == 0 && !found.has_objects) return Content::nothing;
  if (id != kApplicationId || !found.has_objects) {
    return core::make_error(core::Errc::damaged, "open the journal",
                            connection.path() + ": the file is a database, but no journal of Heddle's");
  }
  if (found.is_journal) return Content::journal;
  if (found.journal_readable) {
    HEDDLE_TRY(check_schema_version(connection));  // a newer one may have other tables
    if (!found.has_flow_index) return made_before_release(connection.path());
  }
  return core::make_error(core::Errc::damaged, "open the journal",
                          connection.path() + ": " + found.what + "; somebody has changed it: restore it from a copy");
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
  // A commit gives unused pages back: a free page is damage, and SQLite would put new facts over whatever it points to.
  HEDDLE_ASSIGN(const std::int64_t free_pages, connection.number(kCountFreePages));
  if (free_pages != 0) return connection.damaged("the file has free pages, which a journal never has");
  return check_schema_version(connection);
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
    if (content == Content::nothing) {
      return core::make_error(core::Errc::not_found, "open the journal",
                              path + ": empty; if it is a copy, copy its log " + path + "-wal too");
    }
  } else {
    if (content == Content::nothing) HEDDLE_TRY(connection->run(kGivePagesBack));
    HEDDLE_TRY(use_wal(*connection, wait));
    if (content == Content::nothing) {
      if (options.mode != SqliteMode::read_write_create) {
        return core::make_error(core::Errc::not_found, "open the journal", path + ": the file is empty");
      }
      HEDDLE_TRY(make_tables(*connection));
    }
  }
  HEDDLE_TRY(recognise(*connection));
  connection->recognised();
  return connection;
}

}  // namespace heddle::journal

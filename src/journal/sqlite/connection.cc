#include "connection.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "errors.h"

namespace heddle::journal {
namespace {

// Virtual machine steps of SQLite between two looks at the clock and the stop token: about a millisecond.
constexpr int kProgressSteps = 20000;

// As many looks as a statement of an open that has not recognised the file yet may last: a journal's take none.
constexpr int kLooksToOpen = 50;

constexpr Sql kRollback = "ROLLBACK";

}  // namespace

core::Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, const SqliteOptions& options,
                                                           const Wait& wait) {
  std::unique_ptr<Connection> connection(new Connection(path));
  const int access = options.mode == SqliteMode::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  const int opened =
      ::sqlite3_open_v2(path.c_str(), &connection->db_, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                        options.vfs.empty() ? nullptr : options.vfs.c_str());
  if (connection->db_ == nullptr) return core::make_error(core::Errc::exhausted, "open the journal", "out of memory");
  connection->looks_left_ = kLooksToOpen;
  if (opened != SQLITE_OK) return sqlite_error(connection->db_, opened, "open the journal", path, wait);
  HEDDLE_TRY(connection->harden());
  ::sqlite3_wal_autocheckpoint(connection->db_, 0);  // JRN-10, checkpoint.h
  ::sqlite3_busy_handler(connection->db_, &Connection::on_busy, connection.get());
  ::sqlite3_progress_handler(connection->db_, kProgressSteps, &Connection::on_progress, connection.get());
  return connection;
}

// Before anything of the file is read: what is in it is not believed (https://www.sqlite.org/security.html).
core::Result<void> Connection::harden() {
  struct Switch {
    int which;
    int on;
  };
  constexpr Switch switches[] = {
      {SQLITE_DBCONFIG_DEFENSIVE, 1},   {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0}, {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
      {SQLITE_DBCONFIG_ENABLE_VIEW, 0}, {SQLITE_DBCONFIG_ENABLE_FKEY, 0},    {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0},
      {SQLITE_DBCONFIG_DQS_DDL, 0},     {SQLITE_DBCONFIG_DQS_DML, 0},        {SQLITE_DBCONFIG_RESET_DATABASE, 0},
      {SQLITE_DBCONFIG_ENABLE_QPSG, 1},
  };
  for (const Switch& each : switches) {
    int now = -1;
    if (::sqlite3_db_config(db_, each.which, each.on, &now) != SQLITE_OK || now != each.on) {
      return core::make_error(core::Errc::unsupported, "open the journal",
                              "this SQLite cannot be told to doubt a file");
    }
  }
  struct Limit {
    int which;
    int most;
  };
  constexpr Limit limits[] = {
      {SQLITE_LIMIT_LENGTH, static_cast<int>(kMaxBodyBytes + 2 * kMaxPayloadBytes)},
      {SQLITE_LIMIT_SQL_LENGTH, 4096},
      {SQLITE_LIMIT_COLUMN, 32},
      {SQLITE_LIMIT_EXPR_DEPTH, 30},
      {SQLITE_LIMIT_COMPOUND_SELECT, 3},
      {SQLITE_LIMIT_FUNCTION_ARG, 8},
      {SQLITE_LIMIT_ATTACHED, 0},
      {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64},
      {SQLITE_LIMIT_VARIABLE_NUMBER, 16},
      {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
      {SQLITE_LIMIT_WORKER_THREADS, 0},
  };
  for (const Limit& each : limits) ::sqlite3_limit(db_, each.which, each.most);
  return {};
}

Connection::~Connection() {
  // Every statement is finalised by then. The last connection to a file folds the WAL into it, with SQLite's exclusive
  // lock, so that nobody commits meanwhile.
  HEDDLE_CHECK(::sqlite3_close(db_) == SQLITE_OK);
}

core::Result<Statement> Connection::prepare(Sql sql) {
  Statement statement;
  sqlite3_stmt* raw = nullptr;
  const int code =
      ::sqlite3_prepare_v3(db_, sql.text(), static_cast<int>(sql.size() + 1), SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) return error(code, "read the journal's tables");
  statement.connection_ = this;
  statement.statement_.reset(raw);
  return statement;
}

core::Result<void> Connection::run(Sql sql) {
  HEDDLE_ASSIGN(Statement statement, prepare(sql));
  for (;;) {
    HEDDLE_ASSIGN(const bool row, statement.step());
    if (!row) return {};
  }
}

core::Result<std::int64_t> Connection::number(Sql sql) {
  HEDDLE_ASSIGN(Statement statement, prepare(sql));
  HEDDLE_ASSIGN(const bool row, statement.step());
  if (!row) return damaged("a value is missing");
  return statement.integer_at(0);
}

void Connection::rollback() noexcept {
  if (!in_transaction()) return;
  // Fails only when SQLite has rolled back by itself.
  ::sqlite3_exec(db_, kRollback.text(), nullptr, nullptr, nullptr);
}

core::Error Connection::error(int code, std::string_view step) const {
  if ((code & 0xFF) == SQLITE_INTERRUPT && looks_left_ == 0) return damaged("its tables are more than a journal's");
  static const Wait none;
  return sqlite_error(db_, code, step, path_, wait_ == nullptr ? none : *wait_);
}

core::Error Connection::damaged(std::string_view what) const {
  return core::make_error(core::Errc::damaged, "read the journal",
                          path_ + ": " + std::string(what) + "; restore it from a copy");
}

void Connection::watch_log() noexcept { ::sqlite3_wal_hook(db_, &Connection::on_commit, this); }

int Connection::on_commit(void* self, sqlite3* /*db*/, const char* /*name*/, int frames) noexcept {
  static_cast<Connection*>(self)->log_frames_ = frames;
  return SQLITE_OK;
}

core::Result<void> Connection::checkpoint() {
  const int code = ::sqlite3_wal_checkpoint_v2(db_, "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code, "fold the journal's log into the file");
  return {};
}

int Connection::on_busy(void* self, int attempts) noexcept {
  const Wait* const wait = static_cast<Connection*>(self)->wait_;
  if (wait == nullptr || wait->stop.stop_requested() || wait->deadline.passed()) return 0;
  // SQLite's locks have no queue and no wake-up. Short naps at first: a commit of another process takes about as long.
  const auto nap = std::chrono::microseconds(std::min(10'000, 100 << std::min(attempts, 10)));
  const core::Deadline woken = core::Deadline::earlier(core::Deadline::after(nap), wait->deadline);
  std::this_thread::sleep_until(woken.when());
  return 1;
}

int Connection::on_progress(void* self) noexcept {
  auto* const connection = static_cast<Connection*>(self);
  if (connection->looks_left_ != kNoEnd && connection->looks_left_-- == 0) {
    connection->looks_left_ = 0;
    return 1;
  }
  const Wait* const wait = connection->wait_;
  return wait != nullptr && (wait->stop.stop_requested() || wait->deadline.passed()) ? 1 : 0;
}

core::Result<Transaction> Transaction::begin(Connection& connection, Statement& begin) {
  HEDDLE_CHECK(!connection.in_transaction());
  HEDDLE_TRY(begin.run());
  return Transaction(connection);
}

core::Result<void> Transaction::commit(Statement& commit) {
  HEDDLE_TRY(commit.run());
  connection_ = nullptr;
  return {};
}

// What is bound is not copied, so binding fails for a wrong index or a wrong state alone: a bug here.
Statement& Statement::text(int index, std::string_view value) {
  const char* const data = value.data() == nullptr ? "" : value.data();
  HEDDLE_CHECK(::sqlite3_bind_text64(statement_.get(), index, data, value.size(), SQLITE_STATIC, SQLITE_UTF8) ==
               SQLITE_OK);
  return *this;
}

Statement& Statement::blob(int index, std::string_view value) {
  HEDDLE_CHECK(::sqlite3_bind_blob64(statement_.get(), index, value.data(), value.size(), SQLITE_STATIC) == SQLITE_OK);
  return *this;
}

Statement& Statement::integer(int index, std::int64_t value) {
  HEDDLE_CHECK(::sqlite3_bind_int64(statement_.get(), index, value) == SQLITE_OK);
  return *this;
}

Statement& Statement::null(int index) {
  HEDDLE_CHECK(::sqlite3_bind_null(statement_.get(), index) == SQLITE_OK);
  return *this;
}

core::Result<bool> Statement::step() {
  const int code = ::sqlite3_step(statement_.get());
  // SQLite compiles a statement anew for a schema that has changed, whatever that is now. What was written is rolled
  // back with the transaction.
  if (::sqlite3_stmt_status(statement_.get(), SQLITE_STMTSTATUS_REPREPARE, 0) != 0) {
    ::sqlite3_reset(statement_.get());
    return connection_->damaged("its tables were changed while it was open");
  }
  if (code == SQLITE_ROW) return true;
  core::Result<bool> result(false);
  if (code != SQLITE_DONE) {
    result = connection_->error(
        code, ::sqlite3_stmt_readonly(statement_.get()) != 0 ? "read the journal" : "write to the journal");
  }
  ::sqlite3_reset(statement_.get());
  return result;
}

core::Result<void> Statement::run() {
  HEDDLE_ASSIGN(const bool row, step());
  HEDDLE_CHECK(!row);
  return {};
}

void Statement::reset() noexcept {
  ::sqlite3_reset(statement_.get());
  ::sqlite3_clear_bindings(statement_.get());
}

core::Result<std::string_view> Statement::bytes_at(int column, int type) {
  if (::sqlite3_column_type(statement_.get(), column) != type) {
    return connection_->damaged("a column of a table has another type than a journal's");
  }
  const auto* const data = static_cast<const char*>(::sqlite3_column_blob(statement_.get(), column));
  const int size = ::sqlite3_column_bytes(statement_.get(), column);
  return std::string_view(data == nullptr ? "" : data, static_cast<std::size_t>(size));
}

core::Result<std::string_view> Statement::text_at(int column) { return bytes_at(column, SQLITE_TEXT); }
core::Result<std::string_view> Statement::blob_at(int column) { return bytes_at(column, SQLITE_BLOB); }

core::Result<std::int64_t> Statement::integer_at(int column) {
  if (::sqlite3_column_type(statement_.get(), column) != SQLITE_INTEGER) {
    return connection_->damaged("a column of a table has another type than a journal's");
  }
  return ::sqlite3_column_int64(statement_.get(), column);
}

bool Statement::null_at(int column) { return ::sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

}  // namespace heddle::journal

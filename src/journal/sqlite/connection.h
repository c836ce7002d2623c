// One SQLite connection and its statements, with our errors and our way to wait.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/core/result.h"
#include "heddle/journal/core/sql.h"
#include "heddle/journal/core/store.h"
#include "heddle/journal/sqlite/sqlite.h"

namespace heddle::journal {

class Connection;

/// A prepared statement, owned by its connection's owner and used by one thread at a time. Bound text is not copied: it
/// lives until the next `reset`.
class Statement {
 public:
  Statement() = default;

  Statement& text(int index, std::string_view value);
  Statement& blob(int index, std::string_view value);
  Statement& integer(int index, std::int64_t value);
  Statement& null(int index);

  /// True when there is a row. Errc::damaged when the tables are not those any more for which it was prepared.
  [[nodiscard]] core::Result<bool> step();
  /// To its end, for statements without rows.
  [[nodiscard]] core::Result<void> run();
  void reset() noexcept;

  // Of the current row, until the next step. A column of another type than asked for is damage.
  [[nodiscard]] core::Result<std::string_view> text_at(int column);
  [[nodiscard]] core::Result<std::string_view> blob_at(int column);
  [[nodiscard]] core::Result<std::int64_t> integer_at(int column);
  [[nodiscard]] bool null_at(int column);

 private:
  friend class Connection;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { ::sqlite3_finalize(statement); }
  };

  [[nodiscard]] core::Result<std::string_view> bytes_at(int column, int type);

  Connection* connection_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// Used by one thread at a time. Stays where it is: statements and the busy handler point to it.
class Connection {
 public:
  [[nodiscard]] static core::Result<std::unique_ptr<Connection>> open(const std::string& path,
                                                                      const SqliteOptions& options, const Wait& wait);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  [[nodiscard]] core::Result<Statement> prepare(Sql sql);
  [[nodiscard]] core::Result<void> run(Sql sql);
  /// The one value of a statement that gives a number.
  [[nodiscard]] core::Result<std::int64_t> number(Sql sql);

  [[nodiscard]] bool writable() const noexcept { return ::sqlite3_db_readonly(db_, "main") == 0; }
  [[nodiscard]] bool in_transaction() const noexcept { return ::sqlite3_get_autocommit(db_) == 0; }
  void rollback() noexcept;

  /// From now on `log_frames` says how many pages the WAL held after this connection's last commit.
  void watch_log() noexcept;
  [[nodiscard]] int log_frames() const noexcept { return log_frames_; }
  /// Moves what it can of the WAL into the file. The caller holds the file's write lock on another connection
  /// (checkpoint.h says why).
  [[nodiscard]] core::Result<void> checkpoint();

  /// Until `recognised` statements may take as many steps as looking at a journal's few tables does, and no more: what
  /// is in the file may make them endless.
  void recognised() noexcept { looks_left_ = kNoEnd; }

  /// How long the statements that follow wait for locks, and when reading ones give up.
  void set_wait(const Wait* wait) noexcept { wait_ = wait; }

  [[nodiscard]] core::Error error(int code, std::string_view step) const;
  [[nodiscard]] core::Error damaged(std::string_view what) const;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  static constexpr int kNoEnd = -1;

  explicit Connection(std::string path) : path_(std::move(path)) {}

  core::Result<void> harden();

  static int on_commit(void* self, sqlite3* db, const char* name, int frames) noexcept;
  static int on_busy(void* self, int attempts) noexcept;
  static int on_progress(void* self) noexcept;

  std::string path_;
  sqlite3* db_ = nullptr;
  const Wait* wait_ = nullptr;
  int log_frames_ = 0;
  int looks_left_ = kNoEnd;  // of the progress handler's, while the file is not recognised
};

/// The statements of a scope wait as `wait` says; afterwards they do not wait.
class WaitScope {
 public:
  WaitScope(Connection& connection, const Wait& wait) noexcept : connection_(connection) { connection.set_wait(&wait); }
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;
  ~WaitScope() { connection_.set_wait(nullptr); }

 private:
  Connection& connection_;
};

/// Rolls back what was not committed when the scope ends, whatever the way out.
class Transaction {
 public:
  /// `begin` is one of SQLite's BEGIN statements.
  [[nodiscard]] static core::Result<Transaction> begin(Connection& connection, Statement& begin);
  Transaction(Transaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction() {
    if (connection_ != nullptr) connection_->rollback();
  }
  [[nodiscard]] core::Result<void> commit(Statement& commit);

 private:
  explicit Transaction(Connection& connection) noexcept : connection_(&connection) {}
  Connection* connection_;
};

}  // namespace heddle::journal

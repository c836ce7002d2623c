// One session with a PostgreSQL server, with our errors and our way to wait: libpq's asynchronous calls and poll(2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/result.h"
#include "heddle/journal/core/sql.h"
#include "heddle/journal/core/store.h"
#include "libpq.h"

namespace heddle::journal {

/// A value to bind. Text and bytes are sent as they are; they live until the call returns.
class Parameter {
 public:
  static Parameter text(std::string_view value) { return Parameter(value); }
  static Parameter bytes(std::string_view value) { return Parameter(value); }
  static Parameter number(std::int64_t value);
  static Parameter null() { return Parameter(std::nullopt); }

 private:
  friend class Session;
  friend class Column;
  explicit Parameter(std::optional<std::string_view> value) : value_(value) {}

  std::optional<std::string_view> value_;
  std::array<char, 8> number_{};  // big-endian, instead of value_
  bool is_number_ = false;
};

/// Many values to bind as one array (array_recv in PostgreSQL's arrayfuncs.c).
class Column {
 public:
  enum class Type : std::uint32_t { bytes = 17, number = 20, text = 25 };  // pg_type.dat

  Column(Type type, std::size_t size);
  void add(const Parameter& value);
  /// Once all `size` values are there. It lives as long as the column.
  [[nodiscard]] Parameter parameter() const;

 private:
  void put(std::uint32_t number);
  std::string array_;
};

/// The rows of a statement's answer, in binary.
class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result) {}

  [[nodiscard]] int count() const { return pq().tuples(result_.get()); }
  [[nodiscard]] bool null_at(int row, int column) const { return pq().get_is_null(result_.get(), row, column) != 0; }
  [[nodiscard]] std::string_view bytes_at(int row, int column) const;
  /// A bigint; Errc::damaged when the column holds something else.
  [[nodiscard]] core::Result<std::int64_t> number_at(int row, int column) const;

 private:
  struct Clear {
    void operator()(PGresult* result) const noexcept { pq().clear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

/// Used by one thread at a time. After an error of Errc::disconnected, timed_out or cancelled it is closed: an answer
/// may still be under way, and the server rolls back what was open.
class Session {
 public:
  [[nodiscard]] static core::Result<std::unique_ptr<Session>> connect(const std::string& conninfo, const Wait& wait);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { close(); }

  [[nodiscard]] bool usable() const { return connection_ != nullptr; }
  /// Is there something sent that `finish` would commit?
  [[nodiscard]] bool in_pipeline() const { return connection_ != nullptr && pipeline_; }

  /// Runs one statement and waits for its answer. The server keeps the plan of each statement's text. After `send` it
  /// is part of the same transaction; an error may then be that of a statement sent before, and ends the pipeline as
  /// `finish` does when there is one.
  [[nodiscard]] core::Result<Rows> run(Sql sql, std::initializer_list<Parameter> parameters, const Wait& wait);

  /// For statements that are to be sent: preparing waits for an answer, which a pipeline has no place for.
  [[nodiscard]] core::Result<void> prepare(std::initializer_list<Sql> statements, const Wait& wait);
  /// Takes a prepared statement to be sent; `flush` sends what has not gone yet, so that the server begins with it;
  /// `finish` gets all answers too, or the first error, after which the server has passed over what followed. For many
  /// statements in one round trip. They are a transaction unless one is open, and it is committed in `finish`; without
  /// `finish` only closing the session rolls it back.
  [[nodiscard]] core::Result<void> send(Sql sql, std::initializer_list<Parameter> parameters, const Wait& wait);
  [[nodiscard]] core::Result<void> flush(const Wait& wait);
  [[nodiscard]] core::Result<void> finish(const Wait& wait);
  /// SQLSTATE of the newest error; nothing since a pipeline began without one.
  [[nodiscard]] const std::string& state() const { return state_; }

 private:
  // An answer within this time is quick. The next one is then looked for as long before the thread sleeps.
  static constexpr auto kQuick = std::chrono::microseconds(400);

  explicit Session(PGconn* connection) : connection_(connection) {}

  void close() noexcept;
  core::Result<void> dispatch(Sql sql, std::initializer_list<Parameter> parameters, const Wait& wait);
  core::Result<const char*> prepared(Sql sql, const Wait& wait);
  [[nodiscard]] bool look(short events, core::TimePoint until) const;
  core::Result<void> wait_for(short events, const Wait& wait);
  core::Result<PGresult*> next_result(const Wait& wait);
  core::Result<Rows> answer(const Wait& wait);
  core::Result<Rows> answer_in_pipeline(const Wait& wait);
  core::Error lost(std::string_view what);

  PGconn* connection_;
  bool quick_ = false;  // was the newest answer quick?
  bool pipeline_ = false;
  std::size_t unanswered_ = 0;  // statements of the pipeline
  std::string state_;
  std::vector<std::pair<const char*, std::string>> prepared_;  // by the text's address
};

}  // namespace heddle::journal

#include "session.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>

#include "heddle/core/check.h"
#include "uri.h"

namespace heddle::journal {
namespace {

using core::Errc;

constexpr std::string_view kStep = "talk to PostgreSQL";

// How often a wait looks at its stop token.
constexpr int kLookMs = 20;

std::string first_line(const char* text) {
  const std::string_view all = text == nullptr ? "" : text;
  return std::string(all.substr(0, all.find('\n')));
}

// SQLSTATE classes and codes of PostgreSQL's appendix A that mean something to a caller of ours.
Errc code_of(std::string_view state) {
  if (state.substr(0, 2) == "08" || state.substr(0, 4) == "57P0") return Errc::disconnected;
  if (state.substr(0, 2) == "53") return Errc::exhausted;
  if (state == "42501" || state == "25006") return Errc::system;  // no right to; a standby
  if (state == "57014" || state == "55P03") return Errc::timed_out;
  if (state.substr(0, 2) == "XX" || state.substr(0, 2) == "42" || state.substr(0, 2) == "23") return Errc::damaged;
  return Errc::system;
}

core::Result<void> poll_for(int socket, short events, const Wait& wait) {
  for (;;) {
    if (auto over = wait_over(wait, kStep, "the server has not answered")) return *std::move(over);
    int timeout = wait.deadline.poll_ms();
    if (wait.stop.stop_possible() && (timeout < 0 || timeout > kLookMs)) timeout = kLookMs;
    pollfd item{socket, events, 0};
    const int ready = ::poll(&item, 1, timeout);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return core::system_error(kStep);
  }
}

}  // namespace

std::string_view Rows::bytes_at(int row, int column) const {
  return {pq().get_value(result_.get(), row, column),
          static_cast<std::size_t>(pq().get_length(result_.get(), row, column))};
}

core::Result<std::int64_t> Rows::number_at(int row, int column) const {
  const std::string_view bytes = bytes_at(row, column);
  if (bytes.size() != 8) return core::make_error(Errc::damaged, "read the journal", "a column is no bigint");
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8U | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(value);
}

Parameter Parameter::number(std::int64_t value) {
  Parameter parameter(std::nullopt);
  parameter.is_number_ = true;
  auto bits = static_cast<std::uint64_t>(value);
  for (auto byte = parameter.number_.rbegin(); byte != parameter.number_.rend(); ++byte, bits >>= 8U) {
    *byte = static_cast<char>(bits & 0xFFU);
  }
  return parameter;
}

Column::Column(Type type, std::size_t size) {
  put(1);  // dimension
  put(1);  // with NULLs in it, perhaps
  put(static_cast<std::uint32_t>(type));
  put(static_cast<std::uint32_t>(size));
  put(1);  // where it begins
}

void Column::put(std::uint32_t number) {
  for (const unsigned shift : {24U, 16U, 8U, 0U}) array_ += static_cast<char>((number >> shift) & 0xFFU);
}

void Column::add(const Parameter& value) {
  if (!value.is_number_ && !value.value_) return put(0xFFFF'FFFF);
  const std::string_view bytes =
      value.is_number_ ? std::string_view(value.number_.data(), value.number_.size()) : *value.value_;
  put(static_cast<std::uint32_t>(bytes.size()));
  array_ += bytes;
}

Parameter Column::parameter() const { return Parameter::bytes(array_); }

core::Result<std::unique_ptr<Session>> Session::connect(const std::string& conninfo, const Wait& wait) {
  HEDDLE_TRY(check_uri(conninfo));
  HEDDLE_TRY(load_libpq());
  // libpq quotes what it cannot read, and a password may be in it.
  PQconninfoOption* const parsed = pq().conninfo_parse(conninfo.c_str(), nullptr);
  if (parsed == nullptr) {
    return core::make_error(Errc::invalid_argument, "connect to PostgreSQL",
                            "this is no connection string; write postgresql://USER@HOST:PORT/DATABASE");
  }
  pq().conninfo_free(parsed);
  // What stands before dbname the caller's conninfo may override, what stands after it not. A peer that is silent (no
  // answer to keepalives, no acknowledgement of data) is gone after half a minute.
  const char* const keywords[] = {"keepalives_idle",
                                  "keepalives_interval",
                                  "keepalives_count",
                                  "tcp_user_timeout",
                                  "dbname",
                                  "client_encoding",
                                  "application_name",
                                  "options",
                                  nullptr};
  const char* const values[] = {
      "15", "5", "3", "30000", conninfo.c_str(), "UTF8", "heddle", "-c synchronous_commit=on", nullptr};
  std::unique_ptr<Session> session(new Session(pq().connect_start_params(keywords, values, /*expand_dbname=*/1)));
  if (session->connection_ == nullptr)
    return core::make_error(Errc::exhausted, "connect to PostgreSQL", "out of memory");
  PostgresPollingStatusType status = PGRES_POLLING_WRITING;
  while (pq().status(session->connection_) != CONNECTION_BAD && status != PGRES_POLLING_OK &&
         status != PGRES_POLLING_FAILED) {
    HEDDLE_TRY(poll_for(pq().socket(session->connection_), status == PGRES_POLLING_READING ? POLLIN : POLLOUT, wait));
    status = pq().connect_poll(session->connection_);
  }
  if (status != PGRES_POLLING_OK) {
    return core::make_error(Errc::disconnected, "connect to PostgreSQL",
                            first_line(pq().error_message(session->connection_)));
  }
  pq().set_nonblocking(session->connection_, 1);
  // Notices are for people at a prompt.
  pq().set_notice_receiver(
      session->connection_, [](void*, const PGresult*) {}, nullptr);
  return session;
}

void Session::close() noexcept {
  if (connection_ != nullptr) pq().finish(connection_);
  connection_ = nullptr;
}

core::Error Session::lost(std::string_view what) {
  core::Error error = core::make_error(Errc::disconnected, kStep, what);
  if (connection_ != nullptr) {
    const std::string message = first_line(pq().error_message(connection_));
    if (!message.empty()) error.context = message;
  }
  close();
  return error;
}

// Instead of sleeping, which a processor takes long to wake up from. It is for whoever wants it.
bool Session::look(short events, core::TimePoint until) const {
  pollfd item{pq().socket(connection_), events, 0};
  do {
    if (::poll(&item, 1, 0) != 0) return true;
    ::sched_yield();
  } while (core::Clock::now() < until);
  return false;
}

core::Result<void> Session::wait_for(short events, const Wait& wait) {
  const core::TimePoint begin = core::Clock::now();
  if (quick_ && look(events, begin + kQuick)) return {};  // an error is seen by who reads
  auto ready = poll_for(pq().socket(connection_), events, wait);
  if (!ready.ok()) close();
  quick_ = core::Clock::now() - begin <= kQuick;
  return ready;
}

core::Result<void> Session::flush(const Wait& wait) {
  for (;;) {
    const int left = pq().flush(connection_);
    if (left == 0) return {};
    if (left < 0) return lost("the connection broke");
    HEDDLE_TRY(wait_for(POLLIN | POLLOUT, wait));
    // The server may be waiting for us to read before it takes more.
    if (pq().consume_input(connection_) == 0) return lost("the connection broke");
  }
}

core::Result<PGresult*> Session::next_result(const Wait& wait) {
  while (pq().is_busy(connection_) != 0) {
    HEDDLE_TRY(wait_for(POLLIN, wait));
    if (pq().consume_input(connection_) == 0) return lost("the connection broke");
  }
  return pq().get_result(connection_);
}

core::Result<Rows> Session::answer(const Wait& wait) {
  HEDDLE_TRY(flush(wait));
  std::optional<Rows> rows;
  std::optional<core::Error> error;
  for (;;) {
    HEDDLE_ASSIGN(PGresult* const result, next_result(wait));
    if (result == nullptr) break;
    const ExecStatusType status = pq().result_status(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
      rows.emplace(result);
      continue;
    }
    const char* const state = pq().result_error_field(result, PG_DIAG_SQLSTATE);
    error = core::make_error(state == nullptr ? Errc::disconnected : code_of(state), kStep,
                             first_line(pq().result_error_message(result)));
    state_ = state == nullptr ? "" : state;
    pq().clear(result);
  }
  if (error && (error->code == Errc::disconnected || pq().status(connection_) == CONNECTION_BAD)) {
    error->code = Errc::disconnected;
    close();
  }
  if (error) return *std::move(error);
  if (!rows) return lost("the server gave no answer");
  return *std::move(rows);
}

core::Result<const char*> Session::prepared(Sql sql, const Wait& wait) {
  for (const auto& [text, name] : prepared_) {
    if (text == sql.text()) return name.c_str();
  }
  HEDDLE_CHECK(!pipeline_);  // what is sent is prepared before
  const std::string name = "s" + std::to_string(prepared_.size());
  if (pq().send_prepare(connection_, name.c_str(), sql.text(), 0, nullptr) == 0) return lost("the connection broke");
  const auto done = answer(wait);
  if (!done.ok()) return done.error();
  prepared_.emplace_back(sql.text(), name);
  return prepared_.back().second.c_str();
}

core::Result<void> Session::dispatch(Sql sql, std::initializer_list<Parameter> parameters, const Wait& wait) {
  if (connection_ == nullptr) return core::make_error(Errc::disconnected, kStep, "the session is closed");
  HEDDLE_ASSIGN(const char* const name, prepared(sql, wait));
  constexpr std::size_t kMost = 16;
  std::array<const char*, kMost> values{};
  std::array<int, kMost> lengths{};
  std::array<int, kMost> formats{};
  formats.fill(1);
  std::size_t count = 0;
  HEDDLE_CHECK(parameters.size() <= kMost);
  for (const Parameter& parameter : parameters) {
    std::optional<std::string_view> value = parameter.value_;
    if (parameter.is_number_) value = std::string_view(parameter.number_.data(), parameter.number_.size());
    if (value) values[count] = value->data() == nullptr ? "" : value->data();
    if (value) lengths[count] = static_cast<int>(value->size());
    ++count;
  }
  if (pq().send_query_prepared(connection_, name, static_cast<int>(count), values.data(), lengths.data(),
                               formats.data(),
                               /*resultFormat=*/1) == 0) {
    return lost("the connection broke");
  }
  return {};
}

core::Result<Rows> Session::run(Sql sql, std::initializer_list<Parameter> parameters, const Wait& wait) {
  HEDDLE_TRY(dispatch(sql, parameters, wait));
  return pipeline_ ? answer_in_pipeline(wait) : answer(wait);
}

// Of the statement just sent, after those before it.
core::Result<Rows> Session::answer_in_pipeline(const Wait& wait) {
  if (pq().send_flush_request(connection_) == 0) return lost("the connection broke");
  for (++unanswered_;; --unanswered_) {
    auto rows = answer(wait);
    if (rows.ok() && unanswered_ > 1) continue;
    if (rows.ok()) {
      unanswered_ = 0;
      return rows;
    }
    if (usable()) {
      // The server passes over everything up to the end of the pipeline, and rolls back there.
      const std::string state = state_;
      HEDDLE_TRY(finish(wait));
      state_ = state;
    }
    return rows;
  }
}

core::Result<void> Session::prepare(std::initializer_list<Sql> statements, const Wait& wait) {
  if (connection_ == nullptr) return core::make_error(Errc::disconnected, kStep, "the session is closed");
  HEDDLE_CHECK(!pipeline_);
  for (const Sql& sql : statements) {
    const auto name = prepared(sql, wait);
    if (!name.ok()) return name.error();
  }
  return {};
}

core::Result<void> Session::send(Sql sql, std::initializer_list<Parameter> parameters, const Wait& wait) {
  if (connection_ == nullptr) return core::make_error(Errc::disconnected, kStep, "the session is closed");
  if (!pipeline_) {
    if (pq().enter_pipeline_mode(connection_) == 0) return lost("the connection broke");
    pipeline_ = true;
    unanswered_ = 0;
    state_.clear();
  }
  HEDDLE_TRY(dispatch(sql, parameters, wait));  // libpq sends when it has 64 KiB
  ++unanswered_;
  return {};
}

core::Result<void> Session::finish(const Wait& wait) {
  if (!pipeline_) return {};
  if (connection_ == nullptr) return core::make_error(Errc::disconnected, kStep, "the session is closed");
  if (pq().pipeline_sync(connection_) == 0) return lost("the connection broke");
  HEDDLE_TRY(flush(wait));
  std::optional<core::Error> error;
  for (;;) {
    HEDDLE_ASSIGN(PGresult* const result, next_result(wait));
    if (result == nullptr) {
      if (pq().status(connection_) == CONNECTION_BAD) return lost("the connection broke");
      continue;  // between two statements of the pipeline
    }
    const ExecStatusType status = pq().result_status(result);
    const char* const state = pq().result_error_field(result, PG_DIAG_SQLSTATE);
    if (status == PGRES_FATAL_ERROR && !error) {
      error = core::make_error(state == nullptr ? Errc::disconnected : code_of(state), kStep,
                               first_line(pq().result_error_message(result)));
      if (state != nullptr) state_ = state;
    }
    pq().clear(result);
    if (error && error->code == Errc::disconnected) return lost(error->context);
    if (status == PGRES_PIPELINE_SYNC) break;
  }
  if (pq().exit_pipeline_mode(connection_) == 0) return lost("the pipeline did not end");
  pipeline_ = false;
  if (error) return *std::move(error);
  return {};
}

}  // namespace heddle::journal

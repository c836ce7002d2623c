// Durable appends a second from 1, 8 and 64 threads, as a ratio to plain SQLite (and plain libpq, where there is a
// server to start) that commits the same rows one by one in the same run; then fold and replay of a million facts. What
// is compared takes turns, so that a busy machine is unfair to all alike.
#include <fmt/format.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "heddle/core/check.h"
#include "heddle/core/clock.h"
#include "heddle/journal/core/replay.h"
#include "heddle/journal/postgres/postgres.h"
#include "heddle/journal/sqlite/sqlite.h"
#include "testing/postgres_server.h"

namespace heddle::bench {
namespace {

using core::Clock;
using journal::Draft;
using journal::Kind;

double seconds(core::Duration duration) { return std::chrono::duration<double>(duration).count(); }

Draft outcome(int i) {
  return Draft{"nightly-report", "fetch/" + std::to_string(i), Kind::outcome,
               R"({"effect":"sandboxEval","status":"success","attempt":1,"micros":1834})",
               R"({"rows":2000,"sum":1234567.5,"first":"2026-01-01","last":"2026-12-31"})"};
}

// What a program does that has no journal: the same values in one table, a transaction each.
class PlainSqlite {
 public:
  explicit PlainSqlite(const std::string& path) {
    HEDDLE_CHECK(::sqlite3_open(path.c_str(), &db_) == SQLITE_OK);
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = FULL");
    run("CREATE TABLE fact (sequence INTEGER PRIMARY KEY, time INTEGER, flow TEXT, effect TEXT, kind TEXT,"
        " payload TEXT, body TEXT)");
    HEDDLE_CHECK(::sqlite3_prepare_v2(db_,
                                      "INSERT INTO fact (time, flow, effect, kind, payload, body)"
                                      " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                                      -1, &insert_, nullptr) == SQLITE_OK);
  }
  PlainSqlite(const PlainSqlite&) = delete;
  PlainSqlite& operator=(const PlainSqlite&) = delete;
  ~PlainSqlite() {
    ::sqlite3_finalize(insert_);
    ::sqlite3_close(db_);
  }

  void append(const Draft& draft) {
    const auto text = [this](int at, std::string_view value) {
      ::sqlite3_bind_text(insert_, at, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
    };
    ::sqlite3_bind_int64(insert_, 1, journal::now().time_since_epoch().count());
    text(2, draft.flow);
    text(3, draft.effect);
    text(4, journal::kind_name(draft.kind));
    text(5, draft.payload);
    text(6, *draft.body);
    HEDDLE_CHECK(::sqlite3_step(insert_) == SQLITE_DONE);
    ::sqlite3_reset(insert_);
  }

 private:
  void run(const char* sql) { HEDDLE_CHECK(::sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK); }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
};

class PlainPostgres {
 public:
  explicit PlainPostgres(const std::string& conninfo) : connection_(::PQconnectdb(conninfo.c_str())) {
    HEDDLE_CHECK(::PQstatus(connection_) == CONNECTION_OK);
    done(::PQexec(connection_,
                  "CREATE TABLE plain (sequence bigserial PRIMARY KEY, time bigint, flow text, effect text, kind text,"
                  " payload text, body text)"));
    done(::PQprepare(
        connection_, "insert",
        "INSERT INTO plain (time, flow, effect, kind, payload, body) VALUES ($1::bigint, $2::text, $3::text,"
        " $4::text, $5::text, $6::text)",
        0, nullptr));
  }
  PlainPostgres(const PlainPostgres&) = delete;
  PlainPostgres& operator=(const PlainPostgres&) = delete;
  ~PlainPostgres() { ::PQfinish(connection_); }

  void append(const Draft& draft) {
    const std::string time = std::to_string(journal::now().time_since_epoch().count());
    const std::string kind(journal::kind_name(draft.kind));
    const std::array<const char*, 6> values{time.c_str(), draft.flow.c_str(),    draft.effect.c_str(),
                                            kind.c_str(), draft.payload.c_str(), draft.body->c_str()};
    done(::PQexecPrepared(connection_, "insert", 6, values.data(), nullptr, nullptr, 0));
  }

 private:
  static void done(PGresult* result) {
    HEDDLE_CHECK(::PQresultStatus(result) == PGRES_COMMAND_OK);
    ::PQclear(result);
  }

  PGconn* connection_;
};

constexpr auto kTurn = std::chrono::milliseconds(400);
constexpr int kTurns = 9;

// Appends a second by this many threads in one turn.
template <class Append>
double turn(int thread_count, const Append& append) {
  std::atomic<int> appended{0};
  const core::TimePoint begin = Clock::now();
  const core::TimePoint end = begin + kTurn;
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(thread_count));
  for (int t = 0; t < thread_count; ++t) {
    threads.emplace_back([&] {
      int mine = 0;
      while (Clock::now() < end) append(outcome(mine++));
      appended += mine;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return appended / seconds(Clock::now() - begin);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <class Plain>
void measure_appends(const char* name, Plain& plain, journal::Store& store) {
  const auto to_journal = [&](const Draft& draft) { HEDDLE_CHECK(store.append_one(draft).ok()); };
  constexpr int counts[] = {1, 8, 64};
  std::vector<double> floor;
  std::vector<double> rates[3];
  std::vector<double> ratios[3];
  for (int i = 0; i < kTurns; ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      floor.push_back(turn(1, [&](const Draft& draft) { plain.append(draft); }));
      rates[c].push_back(turn(counts[c], to_journal));
      ratios[c].push_back(rates[c].back() / floor.back());
    }
  }
  fmt::print("{:<42}{:>14}{:>10}\n", "durable appends", "a second", "ratio");
  fmt::print("{:<42}{:>14.0f}{:>10}\n", fmt::format("plain {}, one by one, 1 thread", name), median(floor), "1.00");
  for (std::size_t c = 0; c < 3; ++c) {
    fmt::print("{:<42}{:>14.0f}{:>10.2f}\n", fmt::format("journal, {} thread{}", counts[c], c == 0 ? "" : "s"),
               median(rates[c]), median(ratios[c]));
  }
  fmt::print("\n");
}

void measure_sqlite(const std::filesystem::path& folder) {
  PlainSqlite plain(folder / "plain");
  const auto store = journal::open_sqlite(folder / "journal").value();
  measure_appends("SQLite", plain, *store);
}

void measure_postgres() {
  std::string reason;
  const auto server = journal::testing::PostgresServer::start(reason, journal::testing::Storage::disk);
  if (server == nullptr) {
    fmt::print("SKIPPED: the journal on PostgreSQL was not measured: {}\n\n", reason);
    return;
  }
  PlainPostgres plain(server->conninfo("postgres"));
  const auto store = journal::open_postgres(server->conninfo("postgres")).value();
  measure_appends("libpq", plain, *store);
}

long peak_kib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// A journal of many facts, half of them outcomes: writing it, folding it from the start and from a snapshot.
void measure_replay(const std::filesystem::path& folder, int facts) {
  const auto store = journal::open_sqlite(folder / "long").value();
  const auto timed = [](const char* what, const auto& work) {
    const core::TimePoint begin = Clock::now();
    work();
    fmt::print("{:<42}{:>14.2f} s{:>10} MiB peak\n", what, seconds(Clock::now() - begin), peak_kib() / 1024);
  };
  fmt::print("{} facts\n", facts);
  timed("append, 1000 at a time", [&] {
    std::vector<Draft> drafts;
    for (int i = 0; i < facts; ++i) {
      Draft draft = outcome(i / 2);
      if (i % 2 == 0) draft.kind = Kind::intent;
      draft.flow += std::to_string(i / 2 % 1000);
      drafts.push_back(std::move(draft));
      if (drafts.size() == 1000 || i + 1 == facts) {
        HEDDLE_CHECK(store->append(drafts, {}).ok());
        drafts.clear();
      }
    }
  });
  timed("replay from the start", [&] { HEDDLE_CHECK(journal::replay(*store, {}, journal::From::start).ok()); });
  timed("replay of one flow in a thousand",
        [&] { HEDDLE_CHECK(journal::replay(*store, "nightly-report7", journal::From::start).ok()); });
  timed("snapshot", [&] { HEDDLE_CHECK(journal::take_snapshot(*store, {}).ok()); });
  timed("replay from the snapshot",
        [&] { HEDDLE_CHECK(journal::replay(*store, {}, journal::From::newest_snapshot).ok()); });
}

}  // namespace
}  // namespace heddle::bench

int main(int argc, char** argv) {
  const int facts = argc > 1 ? std::atoi(argv[1]) : 1'000'000;
  std::string pattern = (std::filesystem::temp_directory_path() / "heddle-bench-XXXXXX").string();
  HEDDLE_CHECK(::mkdtemp(pattern.data()) != nullptr);
  heddle::bench::measure_sqlite(pattern);
  heddle::bench::measure_postgres();
  heddle::bench::measure_replay(pattern, facts);
  std::filesystem::remove_all(pattern);
}

// Durable appends a second from 1, 8 and 64 threads, as a ratio to plain SQLite (and plain libpq, where there is a
// server to start) that commits the same rows one by one in the same run, and what bounds them here: threads that do
// nothing but wait for a shared sync, and the same rows in one transaction without any. Then fold and replay of a
// million facts. What is compared takes turns, so that a busy machine is unfair to all alike.
#include <fcntl.h>
#include <fmt/format.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

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
#include "heddle/core/fd.h"
#include "heddle/journal/core/group_commit.h"
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

// What a program does that has no journal: the same values in one table, a transaction each. `append_rows` writes the
// rows that the journal's format asks for and nothing else, in as many transactions: with SQLite the fact and the row
// of table `journal`, with PostgreSQL the fact alone, under its lock; and every kIndexEvery-th time the index of flows.
class PlainSqlite {
 public:
  explicit PlainSqlite(const std::string& path) {
    HEDDLE_CHECK(::sqlite3_open(path.c_str(), &db_) == SQLITE_OK);
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = FULL");
    run("CREATE TABLE fact (sequence INTEGER PRIMARY KEY, time INTEGER, flow TEXT, effect TEXT, kind TEXT,"
        " payload TEXT, body TEXT)");
    run("CREATE TABLE whole (sequence INTEGER PRIMARY KEY, time INTEGER, flow TEXT, effect TEXT, kind TEXT,"
        " payload TEXT, body TEXT, ordinal INTEGER, checksum BLOB, schema TEXT, body_digest BLOB)");
    run("CREATE TABLE flow (id TEXT PRIMARY KEY NOT NULL, facts INTEGER) WITHOUT ROWID");
    run("CREATE TABLE flow_index (flow TEXT NOT NULL, last INTEGER NOT NULL, sequences BLOB NOT NULL,"
        " PRIMARY KEY (flow, last)) WITHOUT ROWID");
    run("CREATE TABLE head (id INTEGER PRIMARY KEY, last INTEGER, checksum BLOB, indexed INTEGER)");
    run("INSERT INTO flow VALUES ('nightly-report', 0)");
    run("INSERT INTO head VALUES (1, 0, zeroblob(32), 0)");
    insert_ = prepare("INSERT INTO fact (time, flow, effect, kind, payload, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
    insert_whole_ = prepare(
        "INSERT INTO whole (time, flow, effect, kind, payload, body, ordinal, checksum, schema, body_digest)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, zeroblob(32), '1.0.0', zeroblob(32))");
    begin_ = prepare("BEGIN IMMEDIATE");
    set_head_ = prepare("UPDATE head SET last = last + 1, checksum = zeroblob(32), indexed = ?1 WHERE id = 1");
    index_ = prepare(
        ("INSERT INTO flow_index VALUES ('nightly-report', ?1, zeroblob(" + std::to_string(journal::kIndexEvery) + "))")
            .c_str());
    set_flow_ = prepare("UPDATE flow SET facts = ?1 WHERE id = 'nightly-report'");
    commit_ = prepare("COMMIT");
  }
  PlainSqlite(const PlainSqlite&) = delete;
  PlainSqlite& operator=(const PlainSqlite&) = delete;
  ~PlainSqlite() {
    for (sqlite3_stmt* const each : {insert_, insert_whole_, begin_, index_, set_flow_, set_head_, commit_}) {
      ::sqlite3_finalize(each);
    }
    ::sqlite3_close(db_);
  }

  void append(const Draft& draft) { insert(insert_, draft); }
  void append_rows(const Draft& draft) {
    step(begin_);
    insert(insert_whole_, draft);
    if (++rows_ - indexed_ == journal::kIndexEvery) {
      step(index_, rows_);
      step(set_flow_, rows_);
      indexed_ = rows_;
    }
    step(set_head_, indexed_);
    step(commit_);
  }
  void begin() { step(begin_); }
  void commit() { step(commit_); }

 private:
  void run(const char* sql) { HEDDLE_CHECK(::sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK); }
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    HEDDLE_CHECK(::sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr) == SQLITE_OK);
    return statement;
  }
  static void step(sqlite3_stmt* statement) {
    HEDDLE_CHECK(::sqlite3_step(statement) == SQLITE_DONE);
    ::sqlite3_reset(statement);
  }
  static void step(sqlite3_stmt* statement, std::int64_t value) {
    ::sqlite3_bind_int64(statement, 1, value);
    step(statement);
  }
  static void insert(sqlite3_stmt* statement, const Draft& draft) {
    const auto text = [&](int at, std::string_view value) {
      ::sqlite3_bind_text(statement, at, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
    };
    ::sqlite3_bind_int64(statement, 1, journal::now().time_since_epoch().count());
    text(2, draft.flow);
    text(3, draft.effect);
    text(4, journal::kind_name(draft.kind));
    text(5, draft.payload);
    text(6, *draft.body);
    step(statement);
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* insert_whole_ = nullptr;
  sqlite3_stmt* begin_ = nullptr;
  sqlite3_stmt* index_ = nullptr;
  sqlite3_stmt* set_flow_ = nullptr;
  sqlite3_stmt* set_head_ = nullptr;
  sqlite3_stmt* commit_ = nullptr;
  std::int64_t rows_ = 0;  // by append_rows
  std::int64_t indexed_ = 0;
};

class PlainPostgres {
 public:
  // Its tables are named in full: the role's name is also that of the journal's schema, which comes first otherwise.
  explicit PlainPostgres(const std::string& conninfo) : connection_(::PQconnectdb(conninfo.c_str())) {
    HEDDLE_CHECK(::PQstatus(connection_) == CONNECTION_OK);
    run("CREATE TABLE public.plain (sequence bigserial PRIMARY KEY, time bigint, flow text, effect text, kind text,"
        " payload text, body text)");
    run("CREATE TABLE public.whole (sequence bigserial PRIMARY KEY, time bigint, flow text, effect text, kind text,"
        " payload text, body text, ordinal bigint, checksum bytea, schema text, body_digest bytea)");
    run("CREATE TABLE public.flow (id text PRIMARY KEY, facts bigint)");
    run("CREATE TABLE public.flow_index (flow text, last bigint, sequences bytea, PRIMARY KEY (flow, last))");
    run("CREATE TABLE public.head (id integer PRIMARY KEY, last bigint, checksum bytea, indexed bigint)");
    run("INSERT INTO public.flow VALUES ('nightly-report', 0)");
    run("INSERT INTO public.head VALUES (1, 0, '', 0)");
    prepare("insert",
            "INSERT INTO public.plain (time, flow, effect, kind, payload, body) VALUES ($1::bigint, $2::text, $3::text,"
            " $4::text, $5::text, $6::text)");
    prepare("insert_whole",
            "INSERT INTO public.whole (time, flow, effect, kind, payload, body, ordinal, checksum, schema, body_digest)"
            " SELECT $1::bigint, $2::text, $3::text, $4::text, $5::text, $6::text, 1, sha256('1'), '1.0.0',"
            " sha256('2') FROM pg_advisory_xact_lock(1)");
    const std::string every = std::to_string(journal::kIndexEvery);
    const std::string end = "(SELECT indexed FROM public.head) + " + every;
    prepare("index", ("INSERT INTO public.flow_index SELECT 'nightly-report', " + end + ", decode(repeat('01', " +
                      every + "), 'hex')")
                         .c_str());
    prepare("set_flow", ("UPDATE public.flow SET facts = " + end + " WHERE id = 'nightly-report'").c_str());
    prepare("set_head",
            ("UPDATE public.head SET last = " + end + ", checksum = sha256('3'), indexed = " + end + " WHERE id = 1")
                .c_str());
  }
  PlainPostgres(const PlainPostgres&) = delete;
  PlainPostgres& operator=(const PlainPostgres&) = delete;
  ~PlainPostgres() { ::PQfinish(connection_); }

  void append(const Draft& draft) {
    with_values(draft, [this](const char* const* values) {
      done(::PQexecPrepared(connection_, "insert", 6, values, nullptr, nullptr, 0));
    });
  }
  // In one round trip.
  void append_rows(const Draft& draft) {
    if (++rows_ % journal::kIndexEvery != 0) {
      with_values(draft, [this](const char* const* values) {
        done(::PQexecPrepared(connection_, "insert_whole", 6, values, nullptr, nullptr, 0));
      });
      return;
    }
    HEDDLE_CHECK(::PQenterPipelineMode(connection_) == 1);
    with_values(draft, [this](const char* const* values) { send("insert_whole", 6, values); });
    for (const char* const statement : {"index", "set_flow", "set_head"}) send(statement, 0, nullptr);
    HEDDLE_CHECK(::PQpipelineSync(connection_) == 1);
    for (int statement = 0; statement < 4; ++statement) {
      done(::PQgetResult(connection_));
      HEDDLE_CHECK(::PQgetResult(connection_) == nullptr);
    }
    PGresult* const synced = ::PQgetResult(connection_);
    HEDDLE_CHECK(::PQresultStatus(synced) == PGRES_PIPELINE_SYNC);
    ::PQclear(synced);
    HEDDLE_CHECK(::PQexitPipelineMode(connection_) == 1);
  }
  void begin() { run("BEGIN"); }
  void commit() { run("COMMIT"); }

 private:
  template <class Use>
  static void with_values(const Draft& draft, const Use& use) {
    const std::string time = std::to_string(journal::now().time_since_epoch().count());
    const std::string kind(journal::kind_name(draft.kind));
    const std::array<const char*, 6> values{time.c_str(), draft.flow.c_str(),    draft.effect.c_str(),
                                            kind.c_str(), draft.payload.c_str(), draft.body->c_str()};
    use(values.data());
  }
  void run(const char* sql) { done(::PQexec(connection_, sql)); }
  void prepare(const char* name, const char* sql) { done(::PQprepare(connection_, name, sql, 0, nullptr)); }
  void send(const char* name, int count, const char* const* values) {
    HEDDLE_CHECK(::PQsendQueryPrepared(connection_, name, count, values, nullptr, nullptr, 0) == 1);
  }
  static void done(PGresult* result) {
    HEDDLE_CHECK(::PQresultStatus(result) == PGRES_COMMAND_OK);
    ::PQclear(result);
  }

  PGconn* connection_;
  std::uint64_t rows_ = 0;  // by append_rows
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

// Group commit without a store: a batch is one page written and synced.
class BareSync {
 public:
  explicit BareSync(const std::string& path)
      : file_(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)),
        group_([this](journal::Batch& batch, const journal::Wait&) {
          while (!batch.more().empty()) {
          }
          HEDDLE_CHECK(::pwrite(file_.get(), page_.data(), page_.size(), 0) == static_cast<ssize_t>(page_.size()));
          HEDDLE_CHECK(::fdatasync(file_.get()) == 0);
          return journal::CommitResult{};
        }) {
    HEDDLE_CHECK(file_.valid());
  }
  void append(const Draft& draft) { HEDDLE_CHECK(group_.append(std::span<const Draft>(&draft, 1), {}).ok()); }

 private:
  core::Fd file_;
  std::array<char, 4096> page_{};
  journal::GroupCommit group_;
};

// Rows in one transaction for one turn: what a row costs when no commit does.
template <class Plain>
double rows_a_second(Plain& plain) {
  plain.begin();
  const double rate = turn(1, [&](const Draft& draft) { plain.append(draft); });
  plain.commit();
  return rate;
}

constexpr std::array<int, 3> kThreadCounts{1, 8, 64};

struct Series {
  std::vector<double> rates;
  std::vector<double> ratios;

  void add(double rate, double plain) {
    rates.push_back(rate);
    ratios.push_back(rate / plain);
  }
  void print(const std::string& what) const {
    fmt::print("{:<52}{:>14.0f}{:>10.2f}\n", what, median(rates), median(ratios));
  }
};

template <class Plain>
void measure_appends(const char* name, Plain& plain, journal::Store& store, const std::filesystem::path& folder) {
  BareSync bare(folder / "bare");
  const auto to_journal = [&](const Draft& draft) { HEDDLE_CHECK(store.append_one(draft).ok()); };
  std::vector<double> floor;
  std::array<Series, kThreadCounts.size()> journal;
  Series rows;
  Series hand_over;
  Series one_transaction;
  const auto plain_again = [&] {
    floor.push_back(turn(1, [&](const Draft& draft) { plain.append(draft); }));
    return floor.back();
  };
  for (int i = 0; i < kTurns; ++i) {
    for (std::size_t c = 0; c < kThreadCounts.size(); ++c) {
      const double once = plain_again();
      journal[c].add(turn(kThreadCounts[c], to_journal), once);
    }
    const double once = plain_again();
    rows.add(turn(1, [&](const Draft& draft) { plain.append_rows(draft); }), once);
    hand_over.add(turn(kThreadCounts.back(), [&](const Draft& draft) { bare.append(draft); }), once);
    one_transaction.add(rows_a_second(plain), once);
  }
  fmt::print("{:<52}{:>14}{:>10}\n", "durable appends", "a second", "ratio");
  fmt::print("{:<52}{:>14.0f}{:>10}\n", fmt::format("plain {}, one by one, 1 thread", name), median(floor), "1.00");
  for (std::size_t c = 0; c < kThreadCounts.size(); ++c) {
    journal[c].print(fmt::format("journal, {} thread{}", kThreadCounts[c], c == 0 ? "" : "s"));
  }
  rows.print(fmt::format("bound: plain {}, the journal's rows, 1 thread", name));
  hand_over.print(fmt::format("bound: a bare sync a batch, {} threads", kThreadCounts.back()));
  one_transaction.print(fmt::format("bound: plain {}, all in one transaction, 1 thread", name));
  fmt::print("\n");
}

void measure_sqlite(const std::filesystem::path& folder) {
  PlainSqlite plain(folder / "plain");
  const auto store = journal::open_sqlite(folder / "journal").value();
  measure_appends("SQLite", plain, *store, folder);
}

void measure_postgres(const std::filesystem::path& folder) {
  std::string reason;
  const auto server = journal::testing::PostgresServer::start(reason, journal::testing::Storage::disk);
  if (server == nullptr) {
    fmt::print("SKIPPED: the journal on PostgreSQL was not measured: {}\n\n", reason);
    return;
  }
  PlainPostgres plain(server->conninfo("postgres"));
  const auto store = journal::open_postgres(server->conninfo("postgres")).value();
  measure_appends("libpq", plain, *store, folder);
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
  // The argument: how many facts to fold and replay; 0 measures appends only.
  const int facts = argc > 1 ? std::atoi(argv[1]) : 1'000'000;
  std::string pattern = (std::filesystem::temp_directory_path() / "heddle-bench-XXXXXX").string();
  HEDDLE_CHECK(::mkdtemp(pattern.data()) != nullptr);
  heddle::bench::measure_sqlite(pattern);
  heddle::bench::measure_postgres(pattern);
  if (facts > 0) heddle::bench::measure_replay(pattern, facts);
  std::filesystem::remove_all(pattern);
}

// The suite of stores against a real server, and what only a server can do: go away. Exits with 77 (skipped) where no
// server is installed, or with a failure when HEDDLE_REQUIRE names "postgres".
#include "heddle/journal/postgres/postgres.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>

#include "heddle/core/check.h"
#include "heddle/journal/core/replay.h"
#include "heddle/journal/sqlite/sqlite.h"
#include "session.h"
#include "testing/backend.h"
#include "testing/history.h"
#include "testing/postgres_server.h"

namespace heddle::journal::testing {
namespace {

using namespace std::chrono_literals;
using core::Deadline;
using core::Errc;

constexpr const char* kDatabase = "postgres";  // where the server keeps nothing of its own

PostgresServer* running = nullptr;  // of main's, for the factory that the suite calls

void run_sql(const std::string& database, const std::string& sql) {
  PGconn* const connection = ::PQconnectdb(running->conninfo(database).c_str());
  ASSERT_EQ(::PQstatus(connection), CONNECTION_OK) << ::PQerrorMessage(connection);
  PGresult* const result = ::PQexec(connection, sql.c_str());
  const ExecStatusType status = ::PQresultStatus(result);
  EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) << ::PQerrorMessage(connection) << sql;
  ::PQclear(result);
  ::PQfinish(connection);
}

// One at a time: each begins with an empty database.
class PostgresBackend final : public Backend {
 public:
  PostgresBackend() {
    testing::run_sql(kDatabase, "SET client_min_messages = warning; DROP SCHEMA IF EXISTS heddle CASCADE");
  }
  std::unique_ptr<Store> open() override { return try_open().value(); }
  core::Result<std::unique_ptr<Store>> try_open() override {
    return open_postgres(conninfo(), {PostgresMode::create, 30s, index_every});
  }
  void run_sql(const std::string& sql) override { testing::run_sql(kDatabase, "SET search_path = heddle;" + sql); }
  std::string blob_of_hex(const std::string& hex) override { return "'\\x" + hex + "'::bytea"; }
  std::string text_of_hex(const std::string& hex) override { return "convert_from('\\x" + hex + "', 'UTF8')"; }
  [[nodiscard]] bool keeps_any_bytes() const override { return false; }
  [[nodiscard]] bool knows_its_end() const override { return false; }
  [[nodiscard]] std::string conninfo() const { return running->conninfo(kDatabase); }
};

const Draft kDraft{"f", "a", Kind::intent, "{}", std::nullopt};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<PostgresBackend>(); }

namespace {

TEST(Postgres, ReportsWhatIsMissing) {
  PostgresBackend backend;
  EXPECT_EQ(open_postgres(backend.conninfo(), {PostgresMode::existing, 1s}).error().code, Errc::not_found);
  EXPECT_EQ(open_postgres("host=/nowhere dbname=x", {PostgresMode::create, 1s}).error().code, Errc::disconnected);
  EXPECT_TRUE(backend.try_open().ok());
  EXPECT_TRUE(open_postgres(backend.conninfo(), {PostgresMode::existing, 1s}).ok());
}

// JRN-5: a server that does not sync is not a journal.
TEST(Postgres, RefusesAServerThatDoesNotSync) {
  PostgresBackend backend;
  run_sql(kDatabase, "ALTER SYSTEM SET fsync = off");
  run_sql(kDatabase, "SELECT pg_reload_conf()");
  std::this_thread::sleep_for(500ms);
  const auto refused = backend.try_open();
  run_sql(kDatabase, "ALTER SYSTEM RESET fsync");
  run_sql(kDatabase, "SELECT pg_reload_conf()");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::unsupported);
  std::this_thread::sleep_for(500ms);
}

// JRN-2: who may only read can read, and hears what is missing when it appends.
TEST(Postgres, ARoleThatMayOnlyReadReads) {
  PostgresBackend backend;
  ASSERT_TRUE(backend.open()->append_one(kDraft).ok());
  backend.run_sql(
      "DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA heddle TO reader;"
      "GRANT SELECT ON ALL TABLES IN SCHEMA heddle TO reader");
  std::string as_reader = backend.conninfo();
  as_reader.replace(as_reader.find("user=heddle"), 11, "user=reader");
  const auto reader = open_postgres(as_reader, {PostgresMode::read_only, 1s});
  ASSERT_TRUE(reader.ok()) << reader.error().message();
  EXPECT_EQ(reader.value()->read({}, {}).value().facts.size(), 1U);
  EXPECT_TRUE(verify(*reader.value()).ok());
  EXPECT_EQ(reader.value()->append_one(kDraft).error().code, Errc::invalid_argument);
  const auto refused = open_postgres(as_reader, {PostgresMode::existing, 1s}).value()->append_one(kDraft);
  EXPECT_EQ(refused.error().code, Errc::system) << refused.error().message();
  EXPECT_NE(refused.error().message().find("permission denied"), std::string::npos) << refused.error().message();
  backend.run_sql("DROP OWNED BY reader; DROP ROLE reader");
}

// JRN-5: a disk that is full amid an append (SQLSTATE 53100) stores none of it; with room again, appending goes on.
TEST(Postgres, AFullDiskStoresNothingOfAnAppend) {
  PostgresBackend backend;
  const auto store = backend.open();
  ASSERT_TRUE(store->append_one(kDraft).ok());
  backend.run_sql(
      "CREATE FUNCTION heddle.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.effect = 'full' THEN"
      " RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END IF;"
      " RETURN NEW; END $$; CREATE TRIGGER t BEFORE INSERT ON heddle.fact FOR EACH ROW EXECUTE FUNCTION heddle.full()");
  std::vector<Draft> drafts(3, kDraft);
  drafts[1].effect = "full";
  const auto refused = store->append(drafts, {});
  backend.run_sql("DROP FUNCTION heddle.full CASCADE");
  EXPECT_EQ(refused.error().code, Errc::exhausted) << refused.error().message();
  EXPECT_EQ(store->head({}).value().sequence, 1U);
  EXPECT_EQ(store->append_one(kDraft).value(), 2U);
  EXPECT_TRUE(verify(*store).ok());
}

// JRN-3: the same facts on both stores fold to the same state, after each of them, and come back the same.
TEST(Postgres, FoldsAsSqliteDoesFactForFact) {
  PostgresBackend backend;
  std::string pattern = (std::filesystem::temp_directory_path() / "heddle-journal-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  const auto postgres = backend.open();
  const auto sqlite = open_sqlite((folder / "journal").string()).value();
  const std::vector<Draft> drafts = history(17, 500);
  for (Store* store : {postgres.get(), sqlite.get()}) {
    for (std::size_t i = 0; i < drafts.size(); i += 50) {
      ASSERT_TRUE(store->append(std::span<const Draft>(drafts).subspan(i, 50), {}).ok());
    }
  }
  Query query;
  query.limit = drafts.size();
  const std::vector<Fact> one = postgres->read(query, {}).value().facts;
  std::vector<Fact> other = sqlite->read(query, {}).value().facts;
  ASSERT_EQ(one.size(), drafts.size());
  ASSERT_EQ(other.size(), drafts.size());
  State of_postgres;
  State of_sqlite;
  for (std::size_t i = 0; i < one.size(); ++i) {
    other[i].time = one[i].time;  // and with it the checksum
    other[i].checksum = one[i].checksum;
    ASSERT_EQ(one[i], other[i]) << i;
    apply(of_postgres, one[i]);
    apply(of_sqlite, other[i]);
    ASSERT_EQ(of_postgres, of_sqlite) << i;
  }
  EXPECT_EQ(replay(*postgres, {}, From::newest_snapshot).value(), of_sqlite);
  EXPECT_EQ(replay(*sqlite, {}, From::newest_snapshot).value(), of_postgres);
  std::filesystem::remove_all(folder);
}

std::string ask(const std::string& sql) {
  PGconn* const connection = ::PQconnectdb(running->conninfo(kDatabase).c_str());
  PGresult* const result = ::PQexec(connection, sql.c_str());
  EXPECT_EQ(::PQresultStatus(result), PGRES_TUPLES_OK) << ::PQerrorMessage(connection);
  std::string answer = ::PQgetvalue(result, 0, 0);
  ::PQclear(result);
  ::PQfinish(connection);
  return answer;
}

// JRN-5: an append is one transaction with one statement, however many facts and flows it has; and one for each table
// of the index when its time has come.
TEST(Postgres, ABatchIsOneStatementATable) {
  PostgresBackend backend;
  backend.index_every = 102;
  const auto store = backend.open();
  ASSERT_TRUE(store->append_one(kDraft).ok());
  backend.run_sql(
      "CREATE TABLE heddle.seen (what text, transaction bigint);"
      "CREATE FUNCTION heddle.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " INSERT INTO heddle.seen VALUES (TG_TABLE_NAME, txid_current()); RETURN NULL; END $$;"
      "CREATE TRIGGER t AFTER INSERT OR UPDATE ON heddle.fact FOR EACH STATEMENT EXECUTE FUNCTION heddle.see();"
      "CREATE TRIGGER t AFTER UPDATE ON heddle.flow FOR EACH STATEMENT EXECUTE FUNCTION heddle.see();"
      "CREATE TRIGGER t AFTER INSERT ON heddle.flow_index FOR EACH STATEMENT EXECUTE FUNCTION heddle.see();"
      "CREATE TRIGGER t AFTER UPDATE ON heddle.journal FOR EACH STATEMENT EXECUTE FUNCTION heddle.see()");
  const auto seen = [] {
    return ask(
        "SELECT coalesce(string_agg(what || ' ' || n, ', ' ORDER BY what), '') || '; '"
        " || (SELECT count(DISTINCT transaction) FROM heddle.seen)"
        " FROM (SELECT what, count(*) AS n FROM heddle.seen GROUP BY what) AS counted");
  };
  std::vector<Draft> drafts;
  for (int i = 0; i < 100; ++i)
    drafts.push_back({std::to_string(i % 20), std::to_string(i), Kind::intent, "{}", "[1]"});
  drafts[7].body.reset();
  ASSERT_TRUE(store->append(drafts, {}).ok());
  EXPECT_EQ(seen(), "fact 1; 1");
  ASSERT_TRUE(store->append_one(kDraft).ok());
  EXPECT_EQ(seen(), "fact 2, flow 1, flow_index 1, journal 1; 2");
  backend.run_sql("DROP FUNCTION heddle.see CASCADE; DROP TABLE heddle.seen");
  EXPECT_EQ(store->read({}, {}).value().facts.size(), 102U);
  EXPECT_TRUE(verify(*store).ok());
}

// JRN-5: what is asked between the statements of a transaction is part of it, and an error of theirs is its error.
TEST(Postgres, AsksInTheMiddleOfATransaction) {
  constexpr Sql kInsert = "INSERT INTO heddle.list SELECT $1::bigint";
  constexpr Sql kCount = "SELECT count(*) FROM heddle.list WHERE n >= $1::bigint";
  PostgresBackend backend;
  testing::run_sql(kDatabase, "CREATE SCHEMA heddle; CREATE TABLE heddle.list (n bigint PRIMARY KEY)");
  std::unique_ptr<Session> session = Session::connect(backend.conninfo(), {}).value();
  const auto send = [&](std::int64_t number) {
    EXPECT_TRUE(session->send(kInsert, {Parameter::number(number)}, {}).ok());
  };
  const auto count = [&]() -> core::Result<std::int64_t> {
    HEDDLE_ASSIGN(const Rows rows, session->run(kCount, {Parameter::number(0)}, {}));
    return rows.number_at(0, 0);
  };
  const auto seen = [] { return ask("SELECT count(*)::text FROM heddle.list"); };
  ASSERT_TRUE(session->prepare({kInsert, kCount}, {}).ok());
  send(1);
  send(2);
  EXPECT_EQ(count().value(), 2);
  EXPECT_EQ(count().value(), 2);
  EXPECT_EQ(seen(), "0");
  send(3);
  EXPECT_EQ(count().value(), 3);
  ASSERT_TRUE(session->finish({}).ok());
  EXPECT_EQ(seen(), "3");
  // The second of these is refused: so is what is asked after it, and nothing of it stays.
  send(4);
  send(2);
  send(5);
  const auto refused = count();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(session->state(), "23505") << refused.error().message();
  ASSERT_TRUE(session->usable());
  EXPECT_EQ(count().value(), 3);
  send(6);
  ASSERT_TRUE(session->finish({}).ok());
  EXPECT_EQ(seen(), "4");
  // What is not finished is rolled back with the session, also what the server has already done.
  send(7);
  EXPECT_EQ(count().value(), 5);
  send(8);
  ASSERT_TRUE(session->flush({}).ok());
  session.reset();
  testing::run_sql(kDatabase, "INSERT INTO heddle.list VALUES (7), (8)");  // waits for the end of the other's
  EXPECT_EQ(seen(), "6");
}

// Quick answers are looked for, and one that is slow is slept for all the same.
TEST(Postgres, SleepsWhileTheServerIsSlow) {
  constexpr Sql kQuick = "SELECT 1::bigint";
  constexpr Sql kSlow = "SELECT pg_sleep(0.4)::text";
  const PostgresBackend backend;
  const auto session = Session::connect(backend.conninfo(), {}).value();
  const auto cpu = [] {
    timespec time{};
    EXPECT_EQ(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), 0);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(session->run(kQuick, {}, {}).ok());
    const auto before = cpu();
    ASSERT_TRUE(session->run(kSlow, {}, {}).ok());
    EXPECT_LT(cpu() - before, 100ms);
  }
}

// JRN-5: flows that nobody has heard of come while the facts before them are on their way to the server already.
TEST(Postgres, CountsNewFlowsWhileItWrites) {
  PostgresBackend backend;
  backend.index_every = 50;
  {
    const auto store = backend.open();
    for (int flow = 0; flow < 64; ++flow) {
      ASSERT_TRUE(store->append_one({std::to_string(flow), "before", Kind::intent, "{}", {}}).ok());
    }
  }
  const auto store = backend.open();
  std::vector<std::thread> threads;
  for (int t = 0; t < 64; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string flow = std::to_string(i == 7 ? t : 1000 + t * 20 + i);
        const auto appended = store->append_one({flow, "a", Kind::intent, "{}", {}});
        EXPECT_TRUE(appended.ok()) << appended.error().message();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto verified = verify(*store);
  EXPECT_TRUE(verified.ok()) << verified.error().message();
  for (const char* flow : {"0", "63"}) {
    Query query;
    query.flow = flow;
    const Page page = store->read(query, {}).value();
    ASSERT_EQ(page.facts.size(), 2U);
    EXPECT_EQ(page.facts[1].ordinal, 2U);
  }
}

TEST(Postgres, WaitsForALockAndNoLonger) {
  PostgresBackend backend;
  const auto store = backend.open();
  ASSERT_TRUE(store->append_one(kDraft).ok());
  PGconn* const other = ::PQconnectdb(backend.conninfo().c_str());
  ::PQclear(::PQexec(other, "BEGIN"));
  ::PQclear(::PQexec(other, "SELECT pg_advisory_xact_lock(5207370951493185636)"));
  EXPECT_EQ(store->append_one(kDraft, {{}, Deadline::after(50ms)}).error().code, Errc::timed_out);
  EXPECT_EQ(store->read({}, {}).value().facts.size(), 1U);
  ::PQfinish(other);
  EXPECT_EQ(store->append_one(kDraft, {{}, Deadline::after(20s)}).value(), 2U);
}

// Of a table too, of which something is read before the lock is taken: a VACUUM FULL is waited for like a writer.
TEST(Postgres, WaitsForTheLockOfATable) {
  PostgresBackend backend;
  const auto store = backend.open();
  ASSERT_TRUE(store->append_one(kDraft).ok());
  PGconn* const other = ::PQconnectdb(backend.conninfo().c_str());
  ::PQclear(::PQexec(other, "BEGIN"));
  ::PQclear(::PQexec(other, "LOCK TABLE heddle.flow IN ACCESS EXCLUSIVE MODE"));
  std::thread appends([&] {
    const auto appended = store->append_one({"another", "a", Kind::intent, "{}", {}});
    EXPECT_TRUE(appended.ok()) << appended.error().message();
  });
  std::this_thread::sleep_for(300ms);
  ::PQfinish(other);
  appends.join();
  EXPECT_TRUE(verify(*store).ok());
}

// JRN-5: what table journal names must be there: facts are not lost at the end of the table either.
TEST(Postgres, NoticesThatItsEndIsGone) {
  PostgresBackend backend;
  backend.index_every = 4;
  const auto store = backend.open();
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(store->append_one(kDraft).ok());
  backend.run_sql("CREATE TABLE public.kept AS SELECT * FROM fact; DELETE FROM fact WHERE sequence >= 4");
  for (const auto& refused : {store->read({}, {}).error(), store->head({}).error(), backend.try_open().error()}) {
    EXPECT_EQ(refused.code, Errc::damaged) << refused.message();
  }
  backend.run_sql("INSERT INTO fact SELECT * FROM public.kept WHERE sequence >= 4; DROP TABLE public.kept");
  EXPECT_TRUE(verify(*store).ok());
}

// JRN-9: what runs something when a fact is inserted, shows other rows or is not durable is named, and nothing is read.
TEST(Postgres, OnlyAJournalsTablesAreAJournal) {
  struct Case {
    const char* sql;
    const char* back;
    const char* words;
  };
  const Case cases[] = {
      {"CREATE FUNCTION ignore() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
       "CREATE TRIGGER t BEFORE INSERT ON fact FOR EACH ROW EXECUTE FUNCTION ignore()",
       "DROP FUNCTION ignore CASCADE", "trigger t"},
      {"CREATE RULE r AS ON INSERT TO fact DO INSTEAD NOTHING", "DROP RULE r ON fact", "rule r"},
      {"CREATE VIEW v AS SELECT 1", "DROP VIEW v", "relation v"},
      {"ALTER TABLE body RENAME TO b; CREATE VIEW body AS SELECT * FROM b",
       "DROP VIEW body; ALTER TABLE b RENAME TO body", "relation b"},
      {"CREATE INDEX i ON fact (length(payload))", "DROP INDEX i", "relation i"},
      {"ALTER TABLE fact ALTER body SET DEFAULT 'x'", "ALTER TABLE fact ALTER body DROP DEFAULT", "default of fact"},
      {"ALTER TABLE fact ADD CONSTRAINT k CHECK (sequence > 0)", "ALTER TABLE fact DROP CONSTRAINT k", "constraint k"},
      {"ALTER TABLE fact ENABLE ROW LEVEL SECURITY", "ALTER TABLE fact DISABLE ROW LEVEL SECURITY", "relation fact"},
      {"ALTER TABLE body SET UNLOGGED", "ALTER TABLE body SET LOGGED", "relation body"},
  };
  PostgresBackend backend;
  ASSERT_TRUE(backend.open()->append_one(kDraft).ok());
  for (const Case& each : cases) {
    backend.run_sql(each.sql);
    for (const PostgresMode mode : {PostgresMode::create, PostgresMode::read_only}) {
      const auto refused = open_postgres(backend.conninfo(), {mode});
      ASSERT_FALSE(refused.ok()) << each.sql;
      EXPECT_EQ(refused.error().code, Errc::damaged) << refused.error().message();
      EXPECT_NE(refused.error().message().find(each.words), std::string::npos) << refused.error().message();
    }
    backend.run_sql(each.back);
    const auto opened = backend.try_open();
    ASSERT_TRUE(opened.ok()) << each.back << opened.error().message();
  }
}

// JRN-1: a journal of a build from before the first release, whose index was another, is one clear error.
TEST(Postgres, RefusesAJournalFromBeforeTheFirstRelease) {
  PostgresBackend backend;
  run_sql(kDatabase,
          "CREATE SCHEMA heddle; CREATE TABLE heddle.fact (sequence bigint PRIMARY KEY, flow text NOT NULL);"
          "CREATE TABLE heddle.journal (id integer PRIMARY KEY, schema text NOT NULL, last bigint NOT NULL,"
          " checksum bytea NOT NULL); CREATE INDEX fact_flow ON heddle.fact (flow, sequence);"
          "INSERT INTO heddle.journal VALUES (1, '1.0.0', 0, '')");
  for (const PostgresMode mode : {PostgresMode::create, PostgresMode::existing, PostgresMode::read_only}) {
    const auto refused = open_postgres(backend.conninfo(), {mode, 1s});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Errc::unsupported);
    EXPECT_NE(refused.error().message().find("before the first release"), std::string::npos)
        << refused.error().message();
  }
  // A newer one may have other tables too, and is told apart.
  run_sql(kDatabase, "UPDATE heddle.journal SET schema = '2.0.0'");
  EXPECT_NE(backend.try_open().error().message().find("2.0.0"), std::string::npos);
}

// Threads append while `disturb` does its worst; every acknowledged fact is there once, in each thread's order.
template <class Disturb>
void append_while(Store& store, const Disturb& disturb) {
  constexpr int thread_count = 4;
  std::atomic<bool> done{false};
  std::vector<std::set<std::uint64_t>> acknowledged(thread_count);
  std::vector<std::thread> threads;
  threads.reserve(thread_count);
  for (int t = 0; t < thread_count; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !done; ++i) {
        const auto receipt = store.append_one({std::to_string(t), std::to_string(i), Kind::intent, "{}", {}});
        ASSERT_TRUE(receipt.ok()) << receipt.error().message();
        EXPECT_TRUE(acknowledged[static_cast<std::size_t>(t)].insert(receipt.value()).second);
      }
    });
  }
  disturb();
  done = true;
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < thread_count; ++t) {
    Query query;
    query.flow = std::to_string(t);
    query.limit = 1'000'000;
    const Page page = store.read(query, {}).value();
    std::set<std::uint64_t> found;
    int next = 0;
    for (const Fact& fact : page.facts) {
      EXPECT_EQ(fact.effect, std::to_string(next++));
      found.insert(fact.sequence);
    }
    EXPECT_EQ(found, acknowledged[static_cast<std::size_t>(t)]);
    EXPECT_FALSE(found.empty());
  }
  EXPECT_TRUE(verify(store).ok());
}

// JRN-2, JRN-5: sessions that are cut at any moment cost time, and neither lose nor double a fact.
TEST(Postgres, CutSessionsNeitherLoseNorDouble) {
  PostgresBackend backend;
  const auto store = open_postgres(backend.conninfo(), {PostgresMode::create, 10min}).value();
  append_while(*store, [] {
    for (int i = 0; i < 40; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10 + i % 7 * 5));
      run_sql(kDatabase, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'heddle'");
    }
  });
}

// JRN-2, JRN-5: the server dies without a goodbye and comes back.
TEST(Postgres, AServerThatComesBackIsWaitedFor) {
  PostgresBackend backend;
  const auto store = open_postgres(backend.conninfo(), {PostgresMode::create, 10min}).value();
  append_while(*store, [] {
    for (int i = 0; i < 2; ++i) {
      std::this_thread::sleep_for(500ms);
      running->stop_at_once();
      std::this_thread::sleep_for(100ms);
      ASSERT_TRUE(running->start_again());
    }
    std::this_thread::sleep_for(500ms);
  });
}

// JRN-2
TEST(Postgres, AServerThatStaysAwayIsAnError) {
  PostgresBackend backend;
  const auto store = open_postgres(backend.conninfo(), {PostgresMode::create, 300ms}).value();
  ASSERT_TRUE(store->append_one(kDraft).ok());
  running->stop_at_once();
  const auto append = store->append_one(kDraft);
  const auto timed = store->append_one(kDraft, {{}, Deadline::after(20ms)});
  const auto read = store->read({}, {});
  ASSERT_TRUE(running->start_again());
  ASSERT_FALSE(append.ok() || timed.ok() || read.ok());
  EXPECT_EQ(append.error().code, Errc::disconnected) << append.error().message();
  EXPECT_EQ(timed.error().code, Errc::timed_out) << timed.error().message();
  EXPECT_EQ(read.error().code, Errc::disconnected) << read.error().message();
  // The server answers again, but on a busy machine perhaps not within the 300 ms that this store waits for it.
  auto again = store->append_one(kDraft);
  for (const Deadline end = Deadline::after(30s); !again.ok() && !end.passed();) again = store->append_one(kDraft);
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_GE(*again, 2U);  // an append that was told to have failed may have been stored
}

}  // namespace
}  // namespace heddle::journal::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  std::string reason;
  const auto server = heddle::journal::testing::PostgresServer::start(reason);
  if (server == nullptr) {
    const char* const required = std::getenv("HEDDLE_REQUIRE");
    std::fprintf(stderr, "SKIPPED: the journal on PostgreSQL was not tested: %s\n", reason.c_str());
    return required != nullptr && std::strstr(required, "postgres") != nullptr ? 1 : 77;
  }
  heddle::journal::testing::running = server.get();
  return RUN_ALL_TESTS();
}

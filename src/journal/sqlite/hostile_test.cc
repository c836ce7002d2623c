// SQLite files that somebody made to harm whoever opens them as a journal. Each has a control: plain SQLite believes
// it.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <filesystem>

#include "heddle/journal/core/replay.h"
#include "heddle/journal/sqlite/sqlite.h"

namespace heddle::journal::testing {
namespace {

using core::Errc;

const Draft kFact{"f", "a", Kind::intent, "{}", std::nullopt};

class HostileFile : public ::testing::Test {
 protected:
  HostileFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "heddle-hostile-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  ~HostileFile() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path() const { return (folder_ / "journal").string(); }

  // A journal with three facts, closed.
  void make() const {
    for (const char* const end : {"", "-wal", "-shm"}) std::filesystem::remove(path() + end);
    const auto store = open_sqlite(path()).value();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(store->append_one(kFact).ok());
  }

  // As plain SQLite, which may write to its schema.
  std::string run_sql(const std::string& sql) const {
    sqlite3* db = nullptr;
    EXPECT_EQ(::sqlite3_open(path().c_str(), &db), SQLITE_OK);
    ::sqlite3_busy_timeout(db, 20'000);
    std::string answer;
    char* message = nullptr;
    ::sqlite3_exec(
        db, ("PRAGMA writable_schema = ON;" + sql).c_str(),
        [](void* out, int /*columns*/, char** values, char** /*names*/) {
          *static_cast<std::string*>(out) = values[0] == nullptr ? "" : values[0];
          return 0;
        },
        &answer, &message);
    EXPECT_EQ(message, nullptr) << message << " in " << sql;
    ::sqlite3_free(message);
    ::sqlite3_close(db);
    return answer;
  }

  void expect_refused(const std::string& words) const {
    for (const SqliteMode mode : {SqliteMode::read_write_create, SqliteMode::read_write, SqliteMode::read_only}) {
      const auto opened = open_sqlite(path(), {mode, {}});
      ASSERT_FALSE(opened.ok()) << words;
      const std::string message = opened.error().message();
      EXPECT_EQ(opened.error().code, Errc::damaged) << message;
      EXPECT_NE(message.find(words), std::string::npos) << message;
      EXPECT_NE(message.find(path()), std::string::npos) << message;
      EXPECT_EQ(message.find('\x1B'), std::string::npos) << message;
    }
  }

  std::filesystem::path folder_;
};

// JRN-9: whatever is besides a journal's tables, or in their place, is named and nothing is read or written.
TEST_F(HostileFile, OnlyAJournalsTablesAreAJournal) {
  struct Case {
    const char* sql;
    const char* words;
  };
  const Case cases[] = {
      {"CREATE TRIGGER t BEFORE INSERT ON fact BEGIN SELECT RAISE(IGNORE); END",
       "it has trigger t, which no journal has"},
      {"CREATE TRIGGER t AFTER UPDATE ON journal BEGIN DELETE FROM fact; END", "it has trigger t"},
      {"CREATE VIEW v AS SELECT 1", "it has view v"},
      {"CREATE TABLE \"x\x1B[31m\" (a)", "it has table x [31m"},
      {"CREATE INDEX i ON fact (flow)", "it has index i"},
      {"CREATE VIRTUAL TABLE v USING fts5(a)", "it has table v"},
      {"ALTER TABLE fact ADD COLUMN more GENERATED ALWAYS AS (zeroblob(1000000))",
       "table fact is not made as a journal's"},
      {"ALTER TABLE fact ADD COLUMN more", "table fact is not made as a journal's"},
      {"DROP TABLE flow", "it has table flow_index where a journal has table flow"},
      {"DROP TABLE body", "it has table flow where a journal has table body"},
      {"DROP TABLE flow_index", "before the first release"},
      {"DROP TABLE journal; CREATE VIEW journal AS SELECT 1 AS id, '1.0.0' AS schema, 0 AS last, zeroblob(32) AS "
       "checksum, 0 AS indexed",
       "it has table fact where a journal has table journal"},
      {"DROP TABLE fact; CREATE VIEW fact AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i "
       "AS "
       "sequence FROM n",
       "it has table body where a journal has table fact"},
      {"UPDATE sqlite_schema SET sql = replace(sql, 'last INTEGER', 'last INTEGER COLLATE NOCASE') WHERE name = "
       "'journal'",
       "table journal is not made as a journal's"},
  };
  for (const Case& each : cases) {
    make();
    run_sql(each.sql);
    if (each.words == std::string_view("before the first release")) {
      EXPECT_EQ(open_sqlite(path(), {SqliteMode::read_only, {}}).error().code, Errc::unsupported);
      continue;
    }
    expect_refused(each.words);
  }
  make();
  EXPECT_TRUE(open_sqlite(path()).ok());
}

// JRN-9: `run --journal` must not say "ok" and store nothing. The control: the same insert by plain SQLite vanishes.
TEST_F(HostileFile, ATriggerThatComesLaterIsNoticedAndDoesNothing) {
  make();
  const auto store = open_sqlite(path()).value();
  ASSERT_TRUE(store->append_one(kFact).ok());
  run_sql("CREATE TRIGGER t BEFORE INSERT ON fact BEGIN SELECT RAISE(IGNORE); END");
  EXPECT_EQ(
      run_sql("INSERT INTO fact SELECT 99, ordinal, checksum, schema, time, flow, effect, kind, payload, NULL, NULL "
              "FROM fact WHERE sequence = 1; SELECT count(*) FROM fact"),
      "4");
  const auto refused = store->append_one(kFact);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::damaged);
  EXPECT_NE(refused.error().message().find("its tables were changed while it was open"), std::string::npos)
      << refused.error().message();
  EXPECT_FALSE(store->read({}, {}).ok());
  EXPECT_EQ(run_sql("SELECT last FROM journal"), "4");
  run_sql("DROP TRIGGER t");
  EXPECT_EQ(open_sqlite(path()).value()->head({}).value().sequence, 4U);
}

// JRN-5, JRN-9: SQLite writes new facts over free pages, whatever a file says is free. A journal never has any.
TEST_F(HostileFile, AFileWithFreePagesIsRefused) {
  make();
  run_sql(
      "PRAGMA auto_vacuum = INCREMENTAL; CREATE TABLE more (a); INSERT INTO more VALUES (zeroblob(20000)); DROP TABLE "
      "more");
  EXPECT_NE(run_sql("PRAGMA freelist_count"), "0");
  expect_refused("free pages");
}

// JRN-9: texts in another encoding are not the bytes that the checksums cover.
TEST_F(HostileFile, TextsInUtf16AreRefused) {
  std::string sql = "PRAGMA encoding = 'UTF-16le'; PRAGMA application_id = 0x48444C4A; PRAGMA journal_mode = WAL;";
  make();
  sqlite3* db = nullptr;
  ASSERT_EQ(::sqlite3_open(path().c_str(), &db), SQLITE_OK);
  sqlite3_stmt* rows = nullptr;
  ASSERT_EQ(::sqlite3_prepare_v2(db, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL", -1, &rows, nullptr),
            SQLITE_OK);
  while (::sqlite3_step(rows) == SQLITE_ROW)
    sql += reinterpret_cast<const char*>(::sqlite3_column_text(rows, 0)) + std::string(";");
  ::sqlite3_finalize(rows);
  ::sqlite3_close(db);
  std::filesystem::remove(path());
  run_sql(sql + "INSERT INTO journal VALUES (1, '1.0.0', 0, zeroblob(32), 0)");
  expect_refused("UTF-8");
}

// JRN-9: an index of the schema's pages in which every page has the same one below it names 60^6 tables in some
// kilobytes. Opening it must not look at all of them. (https://www.sqlite.org/fileformat2.html#b_tree_pages)
TEST_F(HostileFile, ASchemaThatHasNoEndIsGivenUp) {
  constexpr std::size_t page_bytes = 512;
  constexpr std::size_t levels = 8;
  run_sql("PRAGMA page_size = 512; PRAGMA application_id = 0x48444C4A; CREATE TABLE journal (a)");
  std::string bytes;
  {
    std::FILE* const file = std::fopen(path().c_str(), "rb");
    ASSERT_NE(file, nullptr);
    bytes.resize(2 * page_bytes);
    ASSERT_EQ(std::fread(bytes.data(), 1, bytes.size(), file), bytes.size());
    std::fclose(file);
  }
  // Page 1's rows move to the last page; pages 1, 3, 4, … point to the next one, with every cell they have.
  const auto put = [](std::string& page, std::size_t at, std::uint32_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) page[at + i] = static_cast<char>(value >> (size - 1 - i) * 8);
  };
  const auto interior = [&](std::size_t header, std::uint32_t child) {
    std::string page(page_bytes, '\0');
    const std::size_t cells = (page_bytes - header - 12) / 8;
    page[header] = 5;
    put(page, header + 3, static_cast<std::uint32_t>(cells), 2);
    put(page, header + 5, static_cast<std::uint32_t>(page_bytes - cells * 5), 2);
    put(page, header + 8, child, 4);
    for (std::size_t i = 0; i < cells; ++i) {
      const std::size_t cell = page_bytes - (i + 1) * 5;
      put(page, header + 12 + 2 * i, static_cast<std::uint32_t>(cell), 2);
      put(page, cell, child, 4);
      page[cell + 4] = static_cast<char>(i + 1);
    }
    return page;
  };
  std::string file = interior(100, 3);
  file.replace(0, 100, bytes, 0, 100);
  file += bytes.substr(page_bytes);
  for (std::size_t level = 1; level < levels; ++level) file += interior(0, static_cast<std::uint32_t>(level + 3));
  std::string leaf(page_bytes, '\0');
  leaf[0] = 13;
  const auto byte = [&bytes](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at]));
  };
  const std::size_t cell = byte(108) << 8U | byte(109);
  leaf.replace(cell, page_bytes - cell, bytes, cell, page_bytes - cell);
  put(leaf, 3, 1, 2);
  put(leaf, 5, static_cast<std::uint32_t>(cell), 2);
  put(leaf, 8, static_cast<std::uint32_t>(cell), 2);
  file += leaf;
  put(file, 28, static_cast<std::uint32_t>(file.size() / page_bytes), 4);
  std::FILE* const out = std::fopen(path().c_str(), "wb");
  ASSERT_NE(out, nullptr);
  ASSERT_EQ(std::fwrite(file.data(), 1, file.size(), out), file.size());
  std::fclose(out);

  for (const SqliteMode mode : {SqliteMode::read_write, SqliteMode::read_only}) {
    const auto opened = open_sqlite(path(), {mode, {}});
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, Errc::damaged) << opened.error().message();
    EXPECT_NE(opened.error().message().find("its tables are more than a journal's"), std::string::npos)
        << opened.error().message();
  }
}

}  // namespace
}  // namespace heddle::journal::testing

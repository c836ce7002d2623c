#include "heddle/journal/sqlite/sqlite.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "heddle/core/fd.h"
#include "heddle/journal/core/facts.h"
#include "testing/backend.h"

// What is synced goes through these, SQLite's syncs too: the names in a program come before those in its libraries.
namespace {

std::mutex syncs_mutex;
std::function<void(int fd)> on_sync;

void report_sync(int fd) {
  const std::lock_guard lock(syncs_mutex);
  if (on_sync) on_sync(fd);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int fsync(
    int fd) {  // NOLINT(readability-inconsistent-declaration-parameter-name)
  const int result = static_cast<int>(::syscall(SYS_fsync, fd));
  if (result == 0) report_sync(fd);
  return result;
}

extern "C" [[gnu::visibility("default")]] int fdatasync(
    int fd) {  // NOLINT(readability-inconsistent-declaration-parameter-name)
  const int result = static_cast<int>(::syscall(SYS_fdatasync, fd));
  if (result == 0) report_sync(fd);
  return result;
}

namespace heddle::journal::testing {
namespace {

using namespace std::chrono_literals;
using core::Deadline;
using core::Errc;

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "heddle-journal-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file(const std::string& name = "journal") const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

void run_sql(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(::sqlite3_open(path.c_str(), &db), SQLITE_OK);
  ::sqlite3_busy_timeout(db, 20'000);
  char* message = nullptr;
  EXPECT_EQ(::sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message << " in " << sql;
  ::sqlite3_free(message);
  ::sqlite3_close(db);
}

class SqliteBackend final : public Backend {
 public:
  std::unique_ptr<Store> open() override { return try_open().value(); }
  core::Result<std::unique_ptr<Store>> try_open() override {
    return open_sqlite(folder_.file(), {SqliteMode::read_write_create, {}, index_every});
  }
  void run_sql(const std::string& sql) override { testing::run_sql(folder_.file(), sql); }
  std::string blob_of_hex(const std::string& hex) override { return "x'" + hex + "'"; }
  std::string text_of_hex(const std::string& hex) override { return "CAST(x'" + hex + "' AS TEXT)"; }
  [[nodiscard]] bool keeps_any_bytes() const override { return true; }
  [[nodiscard]] bool knows_its_end() const override { return true; }

 private:
  Folder folder_;
};

const Draft kDraft{"f", "a", Kind::intent, "{}", std::nullopt};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<SqliteBackend>(); }

namespace {

// JRN-2
TEST(Sqlite, MakesOneFileOnFirstUseForItsOwnerAlone) {
  const Folder folder;
  EXPECT_EQ(open_sqlite(folder.file(), {SqliteMode::read_write, {}}).error().code, Errc::not_found);
  EXPECT_EQ(open_sqlite(folder.file(), {SqliteMode::read_only, {}}).error().code, Errc::not_found);
  EXPECT_FALSE(std::filesystem::exists(folder.file()));
  {
    const auto store = open_sqlite(folder.file()).value();
    ASSERT_TRUE(store->append_one(kDraft).ok());
    struct stat status {};
    ASSERT_EQ(::stat(folder.file().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    ASSERT_EQ(::stat(folder.file("journal-wal").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
  }
  EXPECT_TRUE(open_sqlite(folder.file(), {SqliteMode::read_write, {}}).ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.file("")), {}), 1);
}

// JRN-5: a new file's name is on the disk before anything in the file is acknowledged; and so is its log's. A power cut
// takes names whose folder was not synced.
TEST(Sqlite, TheNamesOfItsFilesAreDurableFirst) {
  const Folder folder;
  struct stat parent {};
  ASSERT_EQ(::stat(folder.file("").c_str(), &parent), 0);
  std::vector<std::set<std::string>> durable;  // names that the folder had at each of its syncs
  {
    const std::lock_guard lock(syncs_mutex);
    on_sync = [&](int fd) {
      struct stat synced {};
      if (::fstat(fd, &synced) != 0 || synced.st_ino != parent.st_ino || synced.st_dev != parent.st_dev) return;
      durable.emplace_back();
      for (const auto& entry : std::filesystem::directory_iterator(folder.file(""))) {
        durable.back().insert(entry.path().filename());
      }
    };
  }
  const auto store = open_sqlite(folder.file());
  ASSERT_TRUE(store.ok());
  ASSERT_FALSE(durable.empty());
  EXPECT_EQ(durable.front(), std::set<std::string>{"journal"}) << "SQLite's own syncs come later";
  ASSERT_TRUE(store.value()->append_one(kDraft).ok());
  EXPECT_EQ(durable.back().count("journal-wal"), 1U);
  const std::lock_guard lock(syncs_mutex);
  on_sync = {};
}

TEST(Sqlite, AReadOnlyStoreReadsAndRefusesToAppend) {
  const Folder folder;
  const auto writer = open_sqlite(folder.file()).value();
  const auto reader = open_sqlite(folder.file(), {SqliteMode::read_only, {}});
  ASSERT_TRUE(reader.ok()) << reader.error().message();
  ASSERT_TRUE(writer->append_one(kDraft).ok());
  EXPECT_EQ(reader.value()->read({}, {}).value().facts.size(), 1U);
  EXPECT_EQ(reader.value()->append_one(kDraft).error().code, Errc::invalid_argument);
}

TEST(Sqlite, LeavesFilesOfOthersAlone) {
  const Folder folder;
  {
    const core::Fd text(::open(folder.file("text").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ASSERT_TRUE(core::write_all(text, std::string(5000, 'x')).ok());
  }
  EXPECT_EQ(open_sqlite(folder.file("text")).error().code, Errc::damaged);
  run_sql(folder.file("other"), "CREATE TABLE fact (a)");
  const auto before = std::filesystem::last_write_time(folder.file("other"));
  EXPECT_EQ(open_sqlite(folder.file("other")).error().code, Errc::damaged);
  EXPECT_EQ(std::filesystem::last_write_time(folder.file("other")), before);
  EXPECT_EQ(open_sqlite(folder.file("no/such/folder")).error().sys_errno, ENOENT);
}

// JRN-1: a journal of a build from before the first release, whose index was another, is one clear error.
TEST(Sqlite, RefusesAJournalFromBeforeTheFirstRelease) {
  const std::string indexes[] = {"CREATE INDEX fact_flow ON fact (flow)",
                                 "CREATE TABLE flow_fact (flow TEXT NOT NULL, sequence INTEGER NOT NULL, PRIMARY KEY "
                                 "(flow, sequence)) WITHOUT ROWID"};
  for (const std::string& index : indexes) {
    const Folder folder;
    run_sql(folder.file(),
            "PRAGMA journal_mode = WAL; PRAGMA application_id = 0x48444C4A;"
            "CREATE TABLE journal (id INTEGER PRIMARY KEY CHECK (id = 1), schema TEXT NOT NULL, last INTEGER NOT NULL,"
            " checksum BLOB NOT NULL);"
            "CREATE TABLE fact (sequence INTEGER PRIMARY KEY, ordinal INTEGER NOT NULL, flow TEXT NOT NULL);"
            "CREATE TABLE flow (id TEXT PRIMARY KEY NOT NULL, facts INTEGER NOT NULL) WITHOUT ROWID;"
            "INSERT INTO journal VALUES (1, '1.0.0', 0, zeroblob(32));" +
                index);
    for (const SqliteMode mode : {SqliteMode::read_write_create, SqliteMode::read_write, SqliteMode::read_only}) {
      const auto refused = open_sqlite(folder.file(), {mode, {}});
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(refused.error().code, Errc::unsupported);
      EXPECT_NE(refused.error().message().find("before the first release"), std::string::npos);
      EXPECT_NE(refused.error().message().find(folder.file()), std::string::npos) << refused.error().message();
    }
    // A newer one may have other tables too, and is told apart.
    run_sql(folder.file(), "UPDATE journal SET schema = '2.0.0'");
    EXPECT_NE(open_sqlite(folder.file()).error().message().find("2.0.0"), std::string::npos);
  }
}

// JRN-11: what was pruned is not in the bytes of the file any more. The control: it was, and what was not pruned is.
TEST(Sqlite, WhatWasPrunedIsOverwritten) {
  const Folder folder;
  const auto count = [&](std::string_view word) {
    std::ifstream in(folder.file(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    int found = 0;
    for (std::size_t at = 0; (at = bytes.find(word, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  constexpr std::uint64_t facts = 60;
  {
    const auto store = open_sqlite(folder.file()).value();
    for (std::uint64_t i = 1; i <= facts; ++i) {
      ASSERT_TRUE(
          store->append_one({"f", "a", Kind::intent, i % 2 == 1 ? R"({"goes":1})" : R"({"stays":1})", "[8]"}).ok());
    }
  }
  EXPECT_GE(count("goes"), static_cast<int>(facts / 2));
  {
    const auto store = open_sqlite(folder.file()).value();
    std::vector<Range> odd;
    for (std::uint64_t i = 1; i < facts; i += 2) odd.push_back({i, i});
    ASSERT_TRUE(store->erase(odd, pruned(facts / 2, 1, "x", "x", "[]"), {}).ok());
  }
  EXPECT_EQ(count("goes"), 0);
  EXPECT_GE(count("stays"), static_cast<int>(facts / 2));
}

// JRN-11: a file that cannot give pages back is not pruned, since a free page is damage.
TEST(Sqlite, PrunesNoFileThatWouldKeepFreePages) {
  const Folder folder;
  run_sql(folder.file(), "PRAGMA journal_mode = WAL");  // its first page is there, so the setting comes too late
  const auto store = open_sqlite(folder.file()).value();
  ASSERT_TRUE(store->append_one(kDraft).ok());
  const Range first[] = {{1, 1}};
  const auto refused = store->erase(first, pruned(1, 1, "x", "x", "[[1,1]]"), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::unsupported);
  EXPECT_NE(refused.error().message().find(folder.file()), std::string::npos) << refused.error().message();
  EXPECT_FALSE(store->read({}, {}).value().facts.at(0).pruned);
}

// A lock that another process keeps is waited for as long as the caller says.
TEST(Sqlite, WaitsForALockAndNoLonger) {
  const Folder folder;
  const auto store = open_sqlite(folder.file()).value();
  sqlite3* other = nullptr;
  ASSERT_EQ(::sqlite3_open(folder.file().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(::sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(store->append_one(kDraft, {{}, Deadline::after(30ms)}).error().code, Errc::timed_out);
  std::stop_source stop;
  std::thread stopper([&] {
    std::this_thread::sleep_for(30ms);
    stop.request_stop();
  });
  EXPECT_EQ(store->append_one(kDraft, {stop.get_token(), Deadline::never()}).error().code, Errc::cancelled);
  stopper.join();
  EXPECT_TRUE(store->read({}, {}).value().facts.empty());  // readers do not wait for it
  std::thread unlocker([&] {
    std::this_thread::sleep_for(30ms);
    ::sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
  });
  EXPECT_EQ(store->append_one(kDraft, {{}, Deadline::after(20s)}).value(), 1U);
  unlocker.join();
  ::sqlite3_close(other);
}

}  // namespace
}  // namespace heddle::journal::testing

// Journals in SQLite whose bytes changed under them: cut, flipped, not writable. What comes back is an error or what
// was written; never less, never something else.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "heddle/journal/core/replay.h"
#include "heddle/journal/sqlite/sqlite.h"
#include "journal_folder.h"
#include "journal_vfs.h"

namespace heddle::journal::testing {
namespace {

using core::Errc;

// Sanitizers make opening a journal ten times slower, and what they look for does not depend on which byte it was.
#if defined(HEDDLE_UNDER_ASAN) || defined(HEDDLE_UNDER_TSAN)
constexpr std::size_t kEveryNth = 29;
#else
constexpr std::size_t kEveryNth = 1;
#endif

// The index of flows ends at fact 4 of 6.
constexpr std::uint32_t kIndexEvery = 4;

constexpr std::size_t kPageBytes = 512;

constexpr char kFiller =
    '~';  // of the large body and nowhere else; damage to one of these bytes is as damage to the others
constexpr std::size_t kFillerStride = 61;

std::vector<Draft> drafts() {
  std::vector<Draft> made;
  for (int i = 0; i < 6; ++i) {
    made.push_back({i % 2 == 0 ? "f" : "g", std::to_string(i), i % 3 == 0 ? Kind::intent : Kind::outcome, "{\"a\":1}",
                    "[" + std::to_string(i) + "]"});
  }
  made[4].body = '"' + std::string(kInlineBodyBytes, kFiller) + '"';
  return made;
}

// What a read gave.
struct Seen {
  std::optional<core::Error> error;
  std::vector<Fact> facts;
};

// Of everything, and of each flow.
using Looks = std::array<Seen, 3>;

bool passed_over(char byte, std::size_t at) {
  return at >= 100 && (byte == '\0' || byte == kFiller) && at % kFillerStride != 0;
}

class Damage : public ::testing::Test {
 protected:
  void SetUp() override {
    make_empty_file_of_small_pages();
    const auto store = open_sqlite(folder_.file(), {SqliteMode::read_write_create, vfs_.name(), kIndexEvery}).value();
    for (const Draft& draft : drafts()) ASSERT_TRUE(store->append_one(draft).ok());
    before_ = look();
    for (const Seen& seen : before_) ASSERT_FALSE(seen.error);
    ASSERT_EQ(before_[0].facts.size(), 6U);
    ASSERT_EQ(before_[1].facts.size(), 3U);
    ASSERT_EQ(before_[2].facts.size(), 3U);
  }

  Looks look() {
    Looks looks;
    const auto store = open_sqlite(folder_.file(), {SqliteMode::read_write, vfs_.name()});
    const std::optional<std::string> flows[] = {std::nullopt, "f", "g"};
    for (std::size_t i = 0; i < looks.size(); ++i) {
      Query query;
      query.flow = flows[i];
      auto page = store.ok() ? store.value()->read(query, {}) : store.error();
      if (page.ok()) {
        looks[i].facts = std::move(page.value().facts);
      } else {
        looks[i].error = page.error();
      }
    }
    return looks;
  }

  // SQLite's smallest pages make the smallest journal.
  void make_empty_file_of_small_pages() {
    sqlite3* db = nullptr;
    ASSERT_EQ(::sqlite3_open(folder_.file().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(::sqlite3_exec(db, "PRAGMA page_size = 512; PRAGMA auto_vacuum = FULL; PRAGMA journal_mode = WAL",
                             nullptr, nullptr, nullptr),
              SQLITE_OK);
    ::sqlite3_close(db);
  }

  // Puts these bytes in the place of the journal, without a WAL, and looks.
  void expect_error_or_all(const std::string& bytes, const std::string& what) {
    std::filesystem::remove(folder_.file("journal-wal"));
    std::filesystem::remove(folder_.file("journal-shm"));
    write_file(folder_.file(), bytes);
    const Looks looks = look();
    bool unharmed = true;
    for (std::size_t i = 0; i < looks.size(); ++i) {
      const std::optional<core::Error>& error = looks[i].error;
      if (!error) {
        EXPECT_EQ(looks[i].facts, before_[i].facts) << what;
        continue;
      }
      unharmed = false;
      EXPECT_TRUE(error->code == Errc::damaged || error->code == Errc::not_found || error->code == Errc::unsupported ||
                  error->code == Errc::system || error->code == Errc::exhausted)
          << what << ": " << error->message();
    }
    ++(unharmed ? unharmed_ : errors_);
  }

  FaultyVfs vfs_;
  Folder folder_{Where::memory};
  Looks before_;
  int errors_ = 0;
  int unharmed_ = 0;
};

// JRN-5
TEST_F(Damage, ACutAtEveryByteIsAnError) {
  const std::string whole = read_file(folder_.file());
  EXPECT_LT(whole.size(), 24U << 10);
  for (std::size_t size = 0; size < whole.size(); size += kEveryNth) {
    expect_error_or_all(whole.substr(0, size), "cut to " + std::to_string(size));
  }
  expect_error_or_all(whole, "whole");
  EXPECT_EQ(unharmed_, 1);
}

// JRN-5: every byte that carries something, and some of the blank rest.
TEST_F(Damage, AFlippedByteIsAnErrorOrHarmless) {
  const std::string whole = read_file(folder_.file());
  for (std::size_t at = 0; at < whole.size(); at += kEveryNth) {
    if (passed_over(whole[at], at)) continue;
    std::vector<unsigned> flips{1U << at % 8, 0xFFU};
    if (at / kPageBytes == 1)
      flips = {1, 2, 4, 8, 16, 32, 64, 128, 255};  // table journal, where each bit tells a number
    for (const unsigned flip : flips) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ flip);
      expect_error_or_all(flipped, "byte " + std::to_string(at) + " ^ " + std::to_string(flip));
    }
  }
  EXPECT_GT(errors_, static_cast<int>(1000 / kEveryNth));
  RecordProperty("harmless", std::to_string(unharmed_));
}

// JRN-5: what was appended after unnoticed damage is there too, and nothing of what was before has changed.
TEST_F(Damage, AppendingToADamagedJournalDestroysNothing) {
  const std::string whole = read_file(folder_.file());
  for (std::size_t at = 0; at < whole.size(); at += kEveryNth) {
    if (passed_over(whole[at], at)) continue;
    std::string flipped = whole;
    flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ 0x01U);
    std::filesystem::remove(folder_.file("journal-wal"));
    std::filesystem::remove(folder_.file("journal-shm"));
    write_file(folder_.file(), flipped);
    {
      // With this fact comes an index of the damaged ones.
      const auto store = open_sqlite(folder_.file(), {SqliteMode::read_write, vfs_.name(), 3});
      if (!store.ok() || !store.value()->append_one(drafts()[0]).ok()) continue;
    }
    Looks looks = look();
    if (!looks[2].error) {
      ASSERT_EQ(looks[2].facts, before_[2].facts) << "byte " << at;
    }
    for (std::size_t i = 0; i < 2; ++i) {  // those that have the new fact
      if (looks[i].error) continue;
      ASSERT_EQ(looks[i].facts.size(), before_[i].facts.size() + 1) << "byte " << at;
      looks[i].facts.pop_back();
      ASSERT_EQ(looks[i].facts, before_[i].facts) << "byte " << at;
    }
  }
}

// JRN-5: a WAL that is cut, as a crash cuts it, is an earlier state: whole appends from the first one on.
TEST_F(Damage, ACutLogIsAnEarlierState) {
  const auto store = open_sqlite(folder_.file(), {SqliteMode::read_write, vfs_.name()}).value();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store->append(drafts(), {}).ok());
  const std::string main = read_file(folder_.file());
  const std::string wal = read_file(folder_.file("journal-wal"));
  const Folder cut(Where::memory);
  for (std::size_t size = 0; size <= wal.size(); size += 97) {
    std::filesystem::remove(cut.file("journal-shm"));
    write_file(cut.file(), main);
    write_file(cut.file("journal-wal"), wal.substr(0, size));
    const auto reopened = open_sqlite(cut.file(), {SqliteMode::read_write, vfs_.name()});
    ASSERT_TRUE(reopened.ok()) << reopened.error().message();
    const auto page = reopened.value()->read({}, {});
    ASSERT_TRUE(page.ok()) << page.error().message();
    EXPECT_EQ(page.value().facts.size() % 6, 0U);
    EXPECT_TRUE(verify(*reopened.value()).ok());
  }
}

// How a journal may be opened.
constexpr std::array<SqliteMode, 3> kModes{SqliteMode::read_write_create, SqliteMode::read_write,
                                           SqliteMode::read_only};

bool has(const core::Error& error, const std::string& words) {
  return error.message().find(words) != std::string::npos;
}

// As any program opens a database.
std::string plain_sqlite_runs(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  EXPECT_EQ(::sqlite3_open(path.c_str(), &db), SQLITE_OK);
  char* message = nullptr;
  ::sqlite3_exec(db, sql, nullptr, nullptr, &message);
  const std::string answer = message == nullptr ? "" : message;
  ::sqlite3_free(message);
  ::sqlite3_close(db);
  return answer;
}

// A journal as a process that was killed leaves it: all of its facts are in its log.
class Killed : public ::testing::Test {
 protected:
  void SetUp() override {
    const Folder live(Where::memory);
    const auto store = open_sqlite(live.file()).value();
    ASSERT_TRUE(store->append(drafts(), {}).ok());
    main_ = read_file(live.file());
    log_ = read_file(live.file("journal-wal"));
    ASSERT_GT(log_.size(), kPageBytes);
  }

  [[nodiscard]] static std::vector<std::string> names(const Folder& folder) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }

  std::string main_;
  std::string log_;
};

// JRN-10: SQLite deletes the log of an empty file. Nothing of ours lets it.
TEST_F(Killed, TheLogOfAMissingOrEmptyFileIsLeftAlone) {
  for (const char* const left : {"missing", "", "x"}) {
    const Folder folder(Where::memory);
    const bool missing = left == std::string("missing");
    if (!missing) write_file(folder.file(), left);
    write_file(folder.file("journal-wal"), log_);
    const std::vector<std::string> before = names(folder);
    for (const SqliteMode mode : kModes) {
      const auto opened = open_sqlite(folder.file(), {mode, {}});
      ASSERT_FALSE(opened.ok()) << left;
      EXPECT_EQ(opened.error().code, Errc::damaged);
      EXPECT_TRUE(has(opened.error(), folder.file() + " is ")) << opened.error().message();
      EXPECT_TRUE(has(opened.error(), folder.file("journal-wal"))) << opened.error().message();
      EXPECT_EQ(names(folder), before);
      EXPECT_EQ(read_file(folder.file("journal-wal")), log_);
    }
    // By a link to it too.
    if (!missing) {
      std::filesystem::create_symlink(folder.file(), folder.file("link"));
      EXPECT_EQ(open_sqlite(folder.file("link")).error().code, Errc::damaged);
    }
    // With the file back beside it all is there.
    const Folder back(Where::memory);
    write_file(back.file(), main_);
    write_file(back.file("journal-wal"), log_);
    EXPECT_EQ(open_sqlite(back.file(), {SqliteMode::read_only, {}}).value()->head({}).value().sequence, 6U);
    // The control: SQLite by itself deletes it.
    plain_sqlite_runs(folder.file(), "SELECT * FROM sqlite_schema");
    EXPECT_FALSE(std::filesystem::exists(folder.file("journal-wal"))) << left;
  }
}

// JRN-10: a log that holds nothing is no reason to refuse.
TEST_F(Killed, ALogWithoutAFrameIsNone) {
  const Folder folder(Where::memory);
  write_file(folder.file("journal-wal"), log_.substr(0, 32));
  const auto made = open_sqlite(folder.file());
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_TRUE(made.value()->append(drafts(), {}).ok());
}

// JRN-10: who copied the file and not its log hears of it.
TEST_F(Killed, ACopyWithoutItsLogSaysSo) {
  const Folder folder(Where::memory);
  write_file(folder.file(), main_);
  const auto opened = open_sqlite(folder.file(), {SqliteMode::read_only, {}});
  ASSERT_FALSE(opened.ok());
  EXPECT_TRUE(has(opened.error(), "copy its log " + folder.file("journal-wal") + " too")) << opened.error().message();
}

// JRN-9: a rollback journal with a super-journal's name makes SQLite delete the file of that name, wherever it is.
TEST_F(Killed, ARollbackJournalCannotNameAVictim) {
  const Folder folder(Where::memory);
  const std::string victim = folder.file("victim");
  const auto set_up = [&] {
    write_file(victim, "precious");
    write_file(folder.file(), main_);
    // https://www.sqlite.org/fileformat2.html#the_rollback_journal: header of no pages, then the name.
    std::string rollback("\xD9\xD5\x05\xF9\x20\xA1\x63\xD7", 8);
    const auto number = [&rollback](std::uint32_t value) {
      for (const int shift : {24, 16, 8, 0}) rollback += static_cast<char>(value >> shift);
    };
    for (const std::uint32_t value : {0U, 7U, 1U, 512U, 4096U}) number(value);
    rollback.resize(512);
    std::uint32_t sum = 0;
    for (const char c : victim) sum += static_cast<unsigned char>(c);
    number(0x40000000U / 4096U + 1U);
    rollback += victim;
    number(static_cast<std::uint32_t>(victim.size()));
    number(sum);
    rollback += std::string("\xD9\xD5\x05\xF9\x20\xA1\x63\xD7", 8);
    write_file(folder.file("journal-journal"), rollback);
  };
  for (const SqliteMode mode : kModes) {
    set_up();
    const auto opened = open_sqlite(folder.file(), {mode, {}});
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, Errc::damaged);
    EXPECT_TRUE(has(opened.error(), folder.file("journal-journal"))) << opened.error().message();
    EXPECT_EQ(read_file(victim), "precious");
  }
  plain_sqlite_runs(folder.file(), "SELECT * FROM sqlite_schema");
  EXPECT_FALSE(std::filesystem::exists(victim)) << "the control: SQLite did not follow the name";
}

// JRN-9: what lies beside the file and is no file is not opened.
TEST_F(Killed, WhatIsNoFileIsNotOpened) {
  for (const char* const name : {"journal-wal", "journal-shm", "journal-journal"}) {
    const Folder folder(Where::memory);
    write_file(folder.file(), main_);
    ASSERT_EQ(::mkfifo(folder.file(name).c_str(), 0600), 0);
    for (const SqliteMode mode : kModes) {
      const auto opened = open_sqlite(folder.file(), {mode, {}});
      ASSERT_FALSE(opened.ok());
      EXPECT_EQ(opened.error().code, Errc::invalid_argument);
      EXPECT_TRUE(has(opened.error(), folder.file(name))) << opened.error().message();
    }
  }
}

// JRN-5, JRN-10: permissions that are not enough: the error names the file that lacks them, and what it may not.
TEST_F(Killed, TheErrorNamesTheFileThatMayNotBeUsed) {
  struct Case {
    const char* file;
    ::mode_t mode;
    SqliteMode how;
    const char* words;
  };
  const Case cases[] = {
      {"journal", 0000, SqliteMode::read_only, "journal may not be read"},
      {"journal", 0444, SqliteMode::read_write, "journal may not be written"},
      {"journal-wal", 0000, SqliteMode::read_only, "journal-wal may not be read"},
      {"journal-wal", 0444, SqliteMode::read_write, "journal-wal may not be written"},
      {"journal-shm", 0000, SqliteMode::read_only, "journal-shm may not be read"},
      {"journal-shm", 0444, SqliteMode::read_write, "journal-shm may not be written"},
  };
  for (const Case& each : cases) {
    const Folder folder(Where::memory);
    ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
    write_file(folder.file(), main_);
    write_file(folder.file("journal-wal"), log_);
    write_file(folder.file("journal-shm"), std::string(32768, '\0'));
    for (const char* const name : {"journal", "journal-wal", "journal-shm"}) {
      ASSERT_EQ(::chmod(folder.file(name).c_str(), 0666), 0);
    }
    ASSERT_EQ(::chmod(folder.file(each.file).c_str(), each.mode), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (::geteuid() == 0 && (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0)) {
        ::_exit(10);
      }
      const auto opened = open_sqlite(folder.file(), {each.how, {}});
      const auto stored = opened.ok() ? opened.value()->append_one(drafts()[0]) : core::Result<std::uint64_t>(0U);
      const core::Error error = opened.ok() ? (stored.ok() ? core::Error{} : stored.error()) : opened.error();
      if (error.code == Errc::system && error.sys_errno == EACCES && has(error, folder.file("")) &&
          has(error, each.words)) {
        ::_exit(0);
      }
      ADD_FAILURE() << each.file << ": " << error.message();
      ::_exit(11);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << each.file << ": " << status;
  }
}

// JRN-5: an ordinary user, a file of somebody else's. Root may write anywhere, hence the child.
TEST_F(Damage, AFileThatMayNotBeWrittenIsAClearError) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become an ordinary user in a child";
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(folder_.file().c_str(), 0444), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(10);
    const auto writable = open_sqlite(folder_.file());
    if (writable.ok()) ::_exit(11);
    if (writable.error().code != Errc::system || writable.error().sys_errno != EACCES) ::_exit(12);
    if (writable.error().message().find(folder_.file()) == std::string::npos) ::_exit(13);
    if (open_sqlite(folder_.file("new")).error().sys_errno != EACCES) ::_exit(14);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace heddle::journal::testing

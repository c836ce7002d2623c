// Journals in SQLite whose bytes changed under them: cut, flipped, not writable. What comes back is an error or what
// was written; never less, never something else.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

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
    EXPECT_EQ(::sqlite3_exec(db, "PRAGMA page_size = 512; PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr),
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

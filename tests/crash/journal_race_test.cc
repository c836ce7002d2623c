// SQLite's WAL-reset race (src/journal/sqlite/checkpoint.h), taken step by step by three connections, and by several
// processes that stop where it has its place. Each has a control: plain SQLite, as it checkpoints by itself, in the
// same steps. `heddle_journal_race_test store|plain FILE NAME` is one of the processes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <map>
#include <thread>

#include "heddle/core/fd.h"
#include "heddle/core/pidfd.h"
#include "heddle/journal/core/replay.h"
#include "heddle/journal/sqlite/sqlite.h"
#include "journal_folder.h"
#include "journal_vfs.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): unistd.h has it with _GNU_SOURCE alone

namespace heddle::journal::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPage = 4096;

// Is this SQLite's library one that has the race? (https://www.sqlite.org/wal.html#walresetbug)
bool sqlite_has_the_race() {
  const int version = ::sqlite3_libversion_number();
  const bool mended =
      version >= 3051003 || (version >= 3050007 && version < 3051000) || (version >= 3044006 && version < 3045000);
  return !mended;
}

// Who appends to one file.
class Writer {
 public:
  Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  virtual ~Writer() = default;
  /// An append of about so many pages, under a number of its own. False: somebody else had the lock.
  virtual bool append(const std::string& number, std::size_t pages) = 0;
};

class StoreWriter final : public Writer {
 public:
  StoreWriter(const std::string& path, const FaultyVfs& vfs, core::Duration most_wait)
      : store_(open_sqlite(path, {SqliteMode::read_write_create, vfs.name()}).value()), most_wait_(most_wait) {}
  bool append(const std::string& number, std::size_t pages) override {
    const Draft draft{"f", number, Kind::outcome, "{}", '"' + std::string(pages * kPage, 'x') + number + '"'};
    const auto stored = store_->append_one(draft, Wait{{}, core::Deadline::after(most_wait_)});
    if (!stored.ok()) {
      EXPECT_EQ(stored.error().code, core::Errc::timed_out) << stored.error().message();
    }
    return stored.ok();
  }

 private:
  std::unique_ptr<Store> store_;
  core::Duration most_wait_;
};

// As any program writes to SQLite in WAL mode.
class PlainWriter final : public Writer {
 public:
  PlainWriter(const std::string& path, const FaultyVfs& vfs, core::Duration most_wait) {
    constexpr int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    EXPECT_EQ(::sqlite3_open_v2(path.c_str(), &db_, flags, vfs.name().c_str()), SQLITE_OK);
    ::sqlite3_busy_timeout(db_, 20'000);
    EXPECT_EQ(exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                   "CREATE TABLE IF NOT EXISTS fact (number TEXT PRIMARY KEY, body TEXT)"),
              SQLITE_OK);
    ::sqlite3_busy_timeout(db_, static_cast<int>(most_wait / 1ms));
  }
  ~PlainWriter() override { ::sqlite3_close(db_); }
  bool append(const std::string& number, std::size_t pages) override {
    const int code = exec("INSERT INTO fact VALUES ('" + number + "', '" + std::string(pages * kPage, 'x') + "')");
    damaged_ = damaged_ || code == SQLITE_CORRUPT;
    return code == SQLITE_OK;
  }
  [[nodiscard]] bool damaged() const { return damaged_; }

 private:
  int exec(const std::string& sql) { return ::sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr); }

  sqlite3* db_ = nullptr;
  bool damaged_ = false;
};

enum class Kept : std::uint8_t { all, not_all };

// Are these all there, and the file as a whole?
Kept plain_keeps(const std::string& path, const std::vector<std::string>& acknowledged) {
  sqlite3* db = nullptr;
  EXPECT_EQ(::sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  Kept kept = Kept::all;
  const auto answer = [&](const std::string& sql) {
    std::string text;
    ::sqlite3_exec(
        db, sql.c_str(),
        [](void* out, int /*columns*/, char** values, char** /*names*/) {
          *static_cast<std::string*>(out) = values[0];
          return 0;
        },
        &text, nullptr);
    return text;
  };
  if (answer("PRAGMA integrity_check(1)") != "ok") kept = Kept::not_all;
  for (const std::string& number : acknowledged) {
    if (answer("SELECT length(body) > 0 FROM fact WHERE number = '" + number + "'") != "1") kept = Kept::not_all;
  }
  ::sqlite3_close(db);
  return kept;
}

Kept store_keeps(const std::string& path, const std::vector<std::string>& acknowledged) {
  const auto store = open_sqlite(path, {SqliteMode::read_only, {}});
  EXPECT_TRUE(store.ok()) << store.error().message();
  if (!store.ok()) return Kept::not_all;
  const auto verified = verify(*store.value());
  EXPECT_TRUE(verified.ok()) << verified.error().message();
  std::map<std::string, int> found;
  Query query;
  query.bodies = Bodies::digests_only;
  for (bool at_end = false; !at_end;) {
    const auto page = store.value()->read(query, {});
    if (!page.ok()) return Kept::not_all;
    for (const Fact& fact : page.value().facts) ++found[fact.effect];
    query.from = page.value().next;
    at_end = page.value().at_end;
  }
  for (const std::string& number : acknowledged) {
    if (found[number] != 1) return Kept::not_all;
  }
  return verified.ok() ? Kept::all : Kept::not_all;
}

// The race in order: A is about to checkpoint when B commits and checkpoints too, all of it. A has read where the log
// ends when C commits: the log begins anew. A goes on, and then nobody ever copies what C goes on to write.
class Schedule {
 public:
  void run(FaultyVfs& vfs, Writer& a, Writer& b, Writer& c) {
    vfs.on_checkpoint([&](Checkpoint place) {
      if (inside_) return;
      inside_ = true;
      if (place == Checkpoint::begins && !b_tried_) {
        b_tried_ = true;
        b_stored = append(b, "b", 1);
      } else if (place == Checkpoint::has_read && !c_tried_) {
        c_tried_ = true;
        c_stored = append(c, "c", 1);
      }
      inside_ = false;
    });
    EXPECT_TRUE(append(a, "a", 1100));
    vfs.on_checkpoint({});
    EXPECT_TRUE(b_tried_ && c_tried_) << "no checkpoint came to its places";
    for (const auto& [number, pages] : std::map<std::string, std::size_t>{{"d", 600}, {"e", 600}, {"f", 1}, {"g", 1}}) {
      EXPECT_TRUE(append(c, number, pages));
    }
  }
  bool b_stored = false;
  bool c_stored = false;
  std::vector<std::string> acknowledged;

 private:
  bool append(Writer& writer, const std::string& number, std::size_t pages) {
    const bool stored = writer.append(number, pages);
    if (stored) acknowledged.push_back(number);
    return stored;
  }
  bool inside_ = false;
  bool b_tried_ = false;
  bool c_tried_ = false;
};

template <class Party>
Schedule run_schedule(const std::string& path) {
  FaultyVfs vfs;
  Schedule schedule;
  Party a(path, vfs, 100ms), b(path, vfs, 100ms), c(path, vfs, 100ms);
  schedule.run(vfs, a, b, c);
  return schedule;
}

// JRN-10, the control: what SQLite does by itself loses what it has acknowledged, in these steps.
TEST(JournalRace, PlainSqliteLosesCommitsInTheseSteps) {
  if (!sqlite_has_the_race()) GTEST_SKIP() << "SQLite " << ::sqlite3_libversion() << " does not have the race";
  const Folder folder(Where::memory);
  const Schedule schedule = run_schedule<PlainWriter>(folder.file());
  EXPECT_TRUE(schedule.b_stored && schedule.c_stored);
  EXPECT_EQ(plain_keeps(folder.file(), schedule.acknowledged), Kept::not_all);
}

// JRN-10: in the same steps nobody can commit while a checkpoint is under way, and all that was acknowledged is there.
TEST(JournalRace, NobodyCommitsWhileACheckpointIsUnderWay) {
  const Folder folder(Where::memory);
  const Schedule schedule = run_schedule<StoreWriter>(folder.file());
  EXPECT_FALSE(schedule.b_stored || schedule.c_stored);
  EXPECT_EQ(schedule.acknowledged.size(), 5U);
  EXPECT_EQ(store_keeps(folder.file(), schedule.acknowledged), Kept::all);
}

// JRN-10: the log is really folded into the file again and again, and does not grow for ever.
TEST(JournalRace, TheLogStaysShort) {
  const Folder folder(Where::memory);
  const FaultyVfs vfs;
  StoreWriter one(folder.file(), vfs, 20s), two(folder.file(), vfs, 20s);
  for (int i = 0; i < 40; ++i) EXPECT_TRUE((i % 2 == 0 ? one : two).append(std::to_string(i), 100));
  EXPECT_GT(std::filesystem::file_size(folder.file()), 3000 * kPage);
  EXPECT_LT(std::filesystem::file_size(folder.file("journal-wal")), 1500 * kPage);
}

// ---- several processes --------------------------------------------------------------------------------------------

constexpr std::size_t kProcesses = 3;
constexpr std::size_t kPagesOfEach = 40;

// Appends until killed, and says after each what was acknowledged.
int append_until_killed(const std::string& how, const std::string& path, const std::string& name) {
  FaultyVfs vfs;
  std::mt19937 random(std::random_device{}());
  vfs.on_checkpoint([&](Checkpoint /*place*/) { std::this_thread::sleep_for(random() % 20 * 1ms); });
  std::unique_ptr<Writer> writer;
  if (how == "store") writer = std::make_unique<StoreWriter>(path, vfs, 60s);
  if (how == "plain") writer = std::make_unique<PlainWriter>(path, vfs, 60s);
  if (!writer) return 2;
  for (int i = 0;; ++i) {
    const std::string number = name + "-" + std::to_string(i);
    if (!writer->append(number, kPagesOfEach)) {
      return 3;
    }
    const std::string line = number + "\n";
    if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return 4;
  }
}

struct Child {
  pid_t pid = -1;
  core::Pidfd pidfd;
  core::Fd acknowledgements;
};

Child spawn(const std::string& how, const std::string& path, const std::string& name) {
  Child child;
  core::FdPair pipe = core::pipe_pair().value();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, pipe.second.get(), STDOUT_FILENO);
  std::array<std::string, 4> words{"heddle_journal_race_test", how, path, name};
  std::array<char*, 5> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  EXPECT_EQ(::posix_spawn(&child.pid, "/proc/self/exe", &actions, nullptr, arguments.data(), environ), 0);
  ::posix_spawn_file_actions_destroy(&actions);
  child.pidfd = core::Pidfd::open(child.pid).value();
  child.acknowledgements = std::move(pipe.first);
  return child;
}

struct Round {
  std::vector<std::string> acknowledged;
  bool all_ran = true;  ///< until they were killed
};

// Some processes append for a while, in a folder in memory, and are killed.
Round run_processes(const std::string& how, const std::string& path, std::chrono::milliseconds time) {
  std::vector<Child> children;
  children.reserve(kProcesses);
  for (std::size_t i = 0; i < kProcesses; ++i) {
    children.push_back(spawn(how, path, std::to_string(children.size())));
    // They make the file one after the other.
    pollfd item{children.back().acknowledgements.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&item, 1, 60'000), 1);
  }
  std::vector<std::thread> readers;
  std::vector<std::string> texts(children.size());
  for (std::size_t i = 0; i < children.size(); ++i) {
    readers.emplace_back([&, i] { texts[i] = core::read_all(children[i].acknowledgements, 64U << 20).value(); });
  }
  std::this_thread::sleep_for(time);
  for (const Child& child : children) (void)child.pidfd.send_signal(SIGKILL);
  for (std::thread& reader : readers) reader.join();
  Round round;
  for (const Child& child : children) {
    int status = 0;
    EXPECT_EQ(::waitpid(child.pid, &status, 0), child.pid);
    round.all_ran = round.all_ran && WIFSIGNALED(status);
  }
  for (const std::string& text : texts) {
    for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      round.acknowledged.push_back(text.substr(begin, end - begin));
    }
  }
  return round;
}

// JRN-10, the control: such delays make several processes of plain SQLite lose what was acknowledged.
TEST(JournalRace, PlainSqliteInSeveralProcessesLosesCommits) {
  if (!sqlite_has_the_race()) GTEST_SKIP() << "SQLite " << ::sqlite3_libversion() << " does not have the race";
  constexpr int most_rounds = 10;
  for (int round = 1; round <= most_rounds; ++round) {
    const Folder folder(Where::memory);
    const Round result = run_processes("plain", folder.file(), 4s);
    if (!result.all_ran || plain_keeps(folder.file(), result.acknowledged) == Kept::not_all) {
      RecordProperty("rounds", std::to_string(round));
      return;
    }
  }
  FAIL() << "nothing was lost, so the delays are not where the race is";
}

// JRN-10
TEST(JournalRace, SeveralProcessesWithTheSameDelaysLoseNothing) {
  const Folder folder(Where::memory);
  const Round result = run_processes("store", folder.file(), 6s);
  EXPECT_TRUE(result.all_ran);
  EXPECT_GT(result.acknowledged.size(), 50U);
  EXPECT_EQ(store_keeps(folder.file(), result.acknowledged), Kept::all);
  RecordProperty("acknowledged", std::to_string(result.acknowledged.size()));
}

}  // namespace
}  // namespace heddle::journal::testing

int main(int argc, char** argv) {
  if (argc == 4) return heddle::journal::testing::append_until_killed(argv[1], argv[2], argv[3]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

// Power cuts and full disks under a journal in SQLite, on a modelled disk (journal_vfs.h).
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "heddle/journal/core/prune.h"
#include "heddle/journal/core/replay.h"
#include "heddle/journal/sqlite/sqlite.h"
#include "journal_folder.h"
#include "journal_vfs.h"

namespace heddle::journal::testing {
namespace {

using core::Errc;

// Appends in which the index of flows is written too are among those that are cut.
constexpr std::uint32_t kIndexEvery = 5;

struct Moment {
  Disk disk;
  std::uint64_t acknowledged;
};

// Fact n carries n in its effect; its body is large now and then.
Draft numbered(std::uint64_t n) {
  Draft draft{"f", std::to_string(n), Kind::outcome, "{}", "[" + std::to_string(n) + "]"};
  if (n % 9 == 0) draft.body = '"' + std::string(kInlineBodyBytes + 10 * n, 'b') + '"';
  return draft;
}

std::vector<Fact> all(Store& store) {
  Query query;
  query.limit = 100'000;
  auto page = store.read(query, {});
  EXPECT_TRUE(page.ok()) << page.error().message();
  return page.ok() ? std::move(page.value().facts) : std::vector<Fact>();
}

class PowerCut : public ::testing::Test {
 protected:
  // Opens what a power cut left and looks at all of it.
  void check(const std::map<std::string, std::string>& files, std::uint64_t acknowledged) {
    const Folder after(Where::memory);
    for (const auto& [path, bytes] : files) {
      write_file(after.file(std::filesystem::path(path).filename().string()), bytes);
    }
    const auto store = open_sqlite(after.file(), {SqliteMode::read_write_create, vfs_.name(), kIndexEvery});
    ASSERT_TRUE(store.ok()) << store.error().message();
    const std::vector<Fact> facts = all(*store.value());
    ASSERT_GE(facts.size(), acknowledged);
    for (const Fact& fact : facts) {
      const Draft draft = numbered(fact.sequence);
      ASSERT_EQ(fact.effect, draft.effect);
      ASSERT_EQ(fact.body->text, *draft.body);
    }
    // Facts 2 and 3 of each three were one append: both are there, or neither.
    ASSERT_NE(facts.size() % 3, 2U) << "half an append";
    ASSERT_TRUE(store.value()->append_one(numbered(facts.size() + 1)).ok());
    const auto verified = verify(*store.value());
    ASSERT_TRUE(verified.ok()) << verified.error().message();
  }

  FaultyVfs vfs_;
  Folder folder_{Where::memory};
  std::mt19937 random_{42};  // NOLINT(cert-msc51-cpp): the same cuts every time
};

// JRN-5: whatever of the unsynced writes survives, every acknowledged fact does, and no append is there by half.
TEST_F(PowerCut, EveryAcknowledgedFactSurvivesEveryCut) {
  std::vector<Moment> moments;
  std::atomic<std::uint64_t> acknowledged{0};
  vfs_.on_moment([&](const Disk& disk) { moments.push_back({disk, acknowledged}); });
  {
    const auto store = open_sqlite(folder_.file(), {SqliteMode::read_write_create, vfs_.name(), kIndexEvery}).value();
    for (std::uint64_t n = 1; n <= 24; n += 3) {
      for (const std::vector<Draft>& drafts :
           {std::vector<Draft>{numbered(n)}, std::vector<Draft>{numbered(n + 1), numbered(n + 2)}}) {
        const std::uint64_t syncs = vfs_.syncs();
        const auto receipt = store->append(drafts, {});
        ASSERT_TRUE(receipt.ok()) << receipt.error().message();
        EXPECT_GT(vfs_.syncs(), syncs) << "acknowledged without a sync";
        acknowledged = receipt.value().last;
      }
    }
  }
  vfs_.on_moment({});
  ASSERT_GT(moments.size(), 100U);
  ASSERT_EQ(moments.back().acknowledged, 24U);
  for (std::size_t i = 0; i < moments.size(); ++i) {
    for (const Survives survives :
         {Survives::only_what_was_synced, Survives::everything, Survives::some, Survives::some}) {
      check(after_power_cut(moments[i].disk, survives, random_), moments[i].acknowledged);
      if (HasFatalFailure()) FAIL() << "cut at moment " << i << " of " << moments.size();
    }
  }
}

// JRN-5: the same when threads share commits. Acknowledged: each thread's own.
TEST_F(PowerCut, EveryAcknowledgedFactOfEveryThreadSurvives) {
  constexpr std::size_t thread_count = 4;
  constexpr int append_count = 8;
  std::array<std::atomic<int>, thread_count> acknowledged{};
  struct Cut {
    Disk disk;
    std::array<int, thread_count> acknowledged{};
  };
  std::vector<Cut> cuts;
  {
    const auto store = open_sqlite(folder_.file(), {SqliteMode::read_write_create, vfs_.name(), kIndexEvery}).value();
    vfs_.on_moment([&](const Disk& disk) {
      Cut cut{disk, {}};
      for (std::size_t t = 0; t < thread_count; ++t) cut.acknowledged[t] = acknowledged[t];
      cuts.push_back(std::move(cut));
    });
    std::vector<std::thread> threads;
    threads.reserve(thread_count);
    for (std::size_t t = 0; t < thread_count; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < append_count; ++i) {
          const std::uint64_t syncs = vfs_.syncs();
          EXPECT_TRUE(store->append_one({std::to_string(t), std::to_string(i), Kind::intent, "{}", {}}).ok());
          EXPECT_GT(vfs_.syncs(), syncs) << "acknowledged without a sync";
          acknowledged[t] = i + 1;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    vfs_.on_moment({});
  }
  for (const Cut& cut : cuts) {
    const Folder after(Where::memory);
    for (const auto& [path, bytes] : after_power_cut(cut.disk, Survives::some, random_)) {
      write_file(after.file(std::filesystem::path(path).filename().string()), bytes);
    }
    const auto store = open_sqlite(after.file(), {SqliteMode::read_write, vfs_.name(), kIndexEvery});
    ASSERT_TRUE(store.ok()) << store.error().message();
    std::array<int, thread_count> found{};
    for (const Fact& fact : all(*store.value())) {
      const auto t = static_cast<std::size_t>(std::stoi(fact.flow));
      ASSERT_EQ(fact.effect, std::to_string(found[t]++));
    }
    for (std::size_t t = 0; t < thread_count; ++t) ASSERT_GE(found[t], cut.acknowledged[t]);
  }
}

// JRN-11: pruning is one transaction: after a cut at any moment of it all of it is there, or nothing, and the journal
// is whole and goes on.
TEST_F(PowerCut, PruningIsAllOrNothing) {
  std::vector<Disk> moments;
  {
    const auto store = open_sqlite(folder_.file(), {SqliteMode::read_write_create, vfs_.name(), kIndexEvery}).value();
    for (std::uint64_t n = 1; n <= 20; ++n) ASSERT_TRUE(store->append_one(numbered(n)).ok());
    ASSERT_TRUE(store->append_one({"f", "", Kind::flow_ended, "{}", std::nullopt}).ok());
    ASSERT_TRUE(store->append_one({"g", "", Kind::flow_started, "{}", std::nullopt}).ok());
    vfs_.on_moment([&](const Disk& disk) { moments.push_back(disk); });
    const PruneOptions options{now() + std::chrono::hours(1), {}, "test", "test"};
    const PrunePlan plan = plan_prune(*store, options).value();
    ASSERT_EQ(plan.facts, 21U);
    ASSERT_TRUE(prune(*store, plan, options).ok());
  }
  vfs_.on_moment({});
  ASSERT_GT(moments.size(), 5U);
  std::size_t before = 0;
  std::size_t after = 0;
  for (const Disk& moment : moments) {
    for (const Survives survives : {Survives::only_what_was_synced, Survives::everything, Survives::some}) {
      const Folder cut(Where::memory);
      for (const auto& [path, bytes] : after_power_cut(moment, survives, random_)) {
        write_file(cut.file(std::filesystem::path(path).filename().string()), bytes);
      }
      const auto store = open_sqlite(cut.file(), {SqliteMode::read_write, vfs_.name(), kIndexEvery});
      ASSERT_TRUE(store.ok()) << store.error().message();
      const std::vector<Fact> facts = all(*store.value());
      ASSERT_TRUE(facts.size() == 22 || facts.size() == 23) << facts.size();
      const bool pruned = facts.size() == 23;
      ++(pruned ? after : before);
      for (std::size_t i = 0; i < 21; ++i) ASSERT_EQ(facts[i].pruned, pruned) << i;
      ASSERT_TRUE(store.value()->append_one(numbered(1)).ok());
      const auto verified = verify(*store.value());
      ASSERT_TRUE(verified.ok()) << verified.error().message();
    }
  }
  EXPECT_GT(before, 0U);
  EXPECT_GT(after, 0U);
}

// JRN-5: a disk that is full or broken at any operation: an error, the facts before it are there, those of the failed
// append are not, and when there is room again appending goes on.
TEST_F(PowerCut, AFullOrBrokenDiskLosesAndInventsNothing) {
  struct Case {
    int code;
    int sys_errno;
    Errc error;
    bool known;  // that nothing is stored
  };
  const Case cases[] = {{SQLITE_FULL, 0, Errc::exhausted, true},
                        {SQLITE_IOERR_WRITE, EIO, Errc::system, true},
                        {SQLITE_IOERR_FSYNC, EIO, Errc::system, false},
                        {SQLITE_IOERR_FSYNC, ENOSPC, Errc::exhausted, false}};
  for (const auto& [code, sys_errno, error, known] : cases) {
    const Folder folder(Where::memory);
    const auto store = open_sqlite(folder.file(), {SqliteMode::read_write_create, vfs_.name(), kIndexEvery}).value();
    std::uint64_t stored = 0;
    int failures = 0;
    for (std::uint64_t after = 0; after < 40; ++after) {
      vfs_.fail_after(after % 20, code, sys_errno);
      const auto receipt = store->append(std::vector<Draft>{numbered(stored + 1), numbered(stored + 2)}, {});
      const bool failed = vfs_.has_failed();
      vfs_.heal();
      if (receipt.ok()) {
        stored += 2;
      } else {
        ++failures;
        EXPECT_TRUE(failed);
        const std::string message = receipt.error().message();
        const auto has = [&message](const std::string& words) { return message.find(words) != std::string::npos; };
        EXPECT_EQ(receipt.error().code, error) << message;
        EXPECT_TRUE(has("write to the journal: ") && has(folder.file("journal-wal"))) << message;
        EXPECT_EQ(has("make room and try again"), error == Errc::exhausted) << message;
        EXPECT_TRUE(known || has("whether the facts are stored is not known")) << message;
      }
      ASSERT_EQ(all(*store).size(), stored);
      ASSERT_TRUE(store->append_one(numbered(++stored)).ok());
    }
    EXPECT_GT(failures, code == SQLITE_IOERR_FSYNC ? 1 : 8);
    const std::vector<Fact> facts = all(*store);
    ASSERT_EQ(facts.size(), stored);
    for (const Fact& fact : facts) EXPECT_EQ(fact.effect, std::to_string(fact.sequence));
    EXPECT_TRUE(verify(*store).ok());
  }
}

}  // namespace
}  // namespace heddle::journal::testing

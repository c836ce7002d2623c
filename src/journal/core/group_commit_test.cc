#include "heddle/journal/core/group_commit.h"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace heddle::journal {
namespace {

using namespace std::chrono_literals;
using core::Deadline;
using core::Errc;

const Draft kDraft{"f", "a", Kind::intent, "{}", std::nullopt};

core::Result<Receipt> append(GroupCommit& group, const Wait& wait = {}) {
  return group.append(std::span<const Draft>(&kDraft, 1), wait);
}

// A commit that can be held up, and that counts.
class Gate {
 public:
  CommitResult commit(Batch& batch, const Wait& /*wait*/) {
    ++commits_;
    entered_ = true;
    while (closed_) std::this_thread::sleep_for(100us);
    for (Job* const job : batch.jobs()) {
      job->receipt = {next_ + 1, next_ + job->drafts.size()};
      next_ += job->drafts.size();
    }
    return {};
  }
  void await_entry() const {
    while (!entered_) std::this_thread::sleep_for(100us);
  }

  std::atomic<bool> closed_{false};
  std::atomic<bool> entered_{false};
  std::atomic<int> commits_{0};
  std::uint64_t next_ = 0;
};

void wait_until_queued(std::atomic<int>& started, int count) {
  while (started < count) std::this_thread::sleep_for(100us);
  std::this_thread::sleep_for(50ms);  // from started to queued
}

// JRN-5: those who come while a commit runs share the next one.
TEST(GroupCommit, GathersWhoeverWaits) {
  Gate gate;
  GroupCommit group([&](Batch& batch, const Wait& wait) { return gate.commit(batch, wait); });
  gate.closed_ = true;
  std::vector<std::thread> threads;
  std::atomic<int> started{0};
  for (int i = 0; i < 9; ++i) {
    threads.emplace_back([&] {
      ++started;
      EXPECT_TRUE(append(group).ok());
    });
    if (i == 0) gate.await_entry();
  }
  wait_until_queued(started, 9);
  gate.closed_ = false;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(gate.next_, 9U);
  EXPECT_LE(gate.commits_, 3);  // 2, or 3 when a thread was slow to queue
}

// JRN-5: whoever comes while the leader still writes shares its commit; whoever comes after it has stopped taking, the
// next one.
TEST(GroupCommit, WhoComesWhileItWritesJoins) {
  std::atomic<int> started{0};
  std::vector<std::thread> late;
  std::vector<std::size_t> sizes;
  GroupCommit* joined = nullptr;
  const auto another_comes = [&] {
    const int before = started;
    late.emplace_back([&] {
      ++started;
      EXPECT_TRUE(append(*joined).ok());
    });
    wait_until_queued(started, before + 1);
  };
  GroupCommit group([&](Batch& batch, const Wait&) {
    const bool first = sizes.empty();
    EXPECT_EQ(batch.jobs().size(), 1U);
    if (first) {
      another_comes();
      EXPECT_EQ(batch.more().size(), 1U);
      another_comes();
      EXPECT_EQ(batch.more().size(), 1U);
    }
    EXPECT_TRUE(batch.more().empty());
    if (first) another_comes();
    EXPECT_TRUE(batch.more().empty());  // it was told that nobody comes any more
    sizes.push_back(batch.jobs().size());
    return CommitResult{};
  });
  joined = &group;
  EXPECT_TRUE(append(group).ok());
  for (std::thread& thread : late) thread.join();
  EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 1}));
}

// JRN-5: threads that append again and again share commits, though each has to wake up first. Here it is about 55 for
// 1600 appends.
TEST(GroupCommit, ThreadsThatComeBackShareCommits) {
  constexpr int kThreads = 32;
  constexpr int kAppends = 50;
  int commits = 0;
  GroupCommit group([&](Batch& batch, const Wait&) {
    while (!batch.more().empty()) {
    }
    ++commits;
    std::this_thread::sleep_for(1ms);
    return CommitResult{};
  });
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kAppends; ++i) EXPECT_TRUE(append(group).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  RecordProperty("commits", commits);
  EXPECT_LT(commits, kThreads * kAppends / 8);
}

// JRN-5: a batch that is full goes without those who are over; they are the next one.
TEST(GroupCommit, AFullBatchLeavesTheRestToTheNext) {
  const std::vector<Draft> many(GroupCommit::kMaxBatchFacts - 1, kDraft);
  std::atomic<int> started{0};
  std::vector<std::size_t> sizes;
  std::vector<std::thread> late;
  GroupCommit* joined = nullptr;
  GroupCommit group([&](Batch& batch, const Wait&) {
    if (sizes.empty()) {
      for (int i = 0; i < 4; ++i) {
        late.emplace_back([&] {
          ++started;
          EXPECT_TRUE(append(*joined).ok());
        });
      }
      wait_until_queued(started, 4);
    }
    while (!batch.more().empty()) {
    }
    sizes.push_back(batch.jobs().size());
    return CommitResult{};
  });
  joined = &group;
  EXPECT_TRUE(group.append(many, {}).ok());
  for (std::thread& thread : late) thread.join();
  EXPECT_EQ(sizes, (std::vector<std::size_t>{2, 3}));
}

TEST(GroupCommit, AnErrorIsEverybodysInTheBatch) {
  GroupCommit group([](Batch&, const Wait&) {
    return CommitResult{CommitResult::Status::failed, core::make_error(Errc::exhausted, "write", "full")};
  });
  EXPECT_EQ(append(group).error().code, Errc::exhausted);
  EXPECT_EQ(append(group).error().code, Errc::exhausted);  // and the next one leads again
}

// JRN-5: a commit that fails is told to those that joined it too: none of them has a receipt.
TEST(GroupCommit, AnErrorIsEveryFollowersToo) {
  std::atomic<bool> closed{true};
  std::vector<std::size_t> sizes;
  GroupCommit group([&](Batch& batch, const Wait& /*wait*/) {
    while (closed) std::this_thread::sleep_for(100us);
    while (!batch.more().empty()) continue;
    for (Job* const job : batch.jobs()) job->receipt = {1, 1};
    sizes.push_back(batch.jobs().size());
    return CommitResult{CommitResult::Status::failed, core::make_error(Errc::exhausted, "write", "full")};
  });
  std::atomic<int> started{0};
  std::atomic<int> told{0};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      ++started;
      const auto receipt = append(group);
      if (!receipt.ok() && receipt.error().code == Errc::exhausted) ++told;
    });
  }
  wait_until_queued(started, 8);
  closed = false;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told, 8);
  EXPECT_GT(*std::max_element(sizes.begin(), sizes.end()), 1U) << "nobody followed";
}

TEST(GroupCommit, AWaitThatEndsInTheQueueLeavesIt) {
  Gate gate;
  GroupCommit group([&](Batch& batch, const Wait& wait) { return gate.commit(batch, wait); });
  gate.closed_ = true;
  std::thread leader([&] { EXPECT_TRUE(append(group).ok()); });
  gate.await_entry();
  EXPECT_EQ(append(group, {{}, Deadline::after(20ms)}).error().code, Errc::timed_out);
  std::stop_source stop;
  std::thread stopper([&] {
    std::this_thread::sleep_for(20ms);
    stop.request_stop();
  });
  EXPECT_EQ(append(group, {stop.get_token(), Deadline::never()}).error().code, Errc::cancelled);
  stopper.join();
  gate.closed_ = false;
  leader.join();
  EXPECT_EQ(gate.next_, 1U);
}

TEST(GroupCommit, AWaitThatEndsDuringItsCommitIsSeenThrough) {
  Gate gate;
  GroupCommit group([&](Batch& batch, const Wait& wait) { return gate.commit(batch, wait); });
  gate.closed_ = true;
  std::thread leader([&] { EXPECT_TRUE(append(group).ok()); });
  gate.await_entry();
  std::atomic<int> started{0};
  std::stop_source stop;
  std::vector<std::thread> followers;
  followers.reserve(2);
  for (int i = 0; i < 2; ++i) {
    followers.emplace_back([&] {
      ++started;
      EXPECT_TRUE(append(group, {stop.get_token(), Deadline::never()}).ok());
    });
  }
  wait_until_queued(started, 2);
  gate.entered_ = false;
  // The second commit holds both followers: one leads, the other sleeps. Stopping them changes nothing any more.
  std::thread opener([&] {
    while (gate.commits_ < 2) std::this_thread::sleep_for(100us);
    std::this_thread::sleep_for(20ms);
    stop.request_stop();
    std::this_thread::sleep_for(20ms);
    gate.closed_ = false;
  });
  gate.closed_ = false;
  while (gate.commits_ < 1) std::this_thread::yield();
  opener.join();
  leader.join();
  for (std::thread& follower : followers) follower.join();
  EXPECT_EQ(gate.next_, 3U);
}

// A leader that may wait no longer for the lock fails alone; the others go on under a new leader.
TEST(GroupCommit, ALeaderThatGivesUpFailsAlone) {
  std::atomic<int> gave_up{0};
  std::atomic<bool> closed{true};
  GroupCommit group([&](Batch& batch, const Wait& wait) {
    while (closed) std::this_thread::sleep_for(100us);
    if (!wait.deadline.is_never()) {
      ++gave_up;
      return CommitResult{CommitResult::Status::not_begun, core::make_error(Errc::timed_out, "lock", "")};
    }
    for (Job* const job : batch.jobs()) job->receipt = {1, 1};
    return CommitResult{};
  });
  std::atomic<int> started{0};
  std::atomic<int> stored{0};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      ++started;
      const Wait wait = i % 2 == 0 ? Wait{{}, Deadline::after(1h)} : Wait{};
      if (append(group, wait).ok()) ++stored;
    });
  }
  wait_until_queued(started, 8);
  closed = false;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stored + gave_up, 8);
  EXPECT_GE(stored, 4);
}

class EachWaiting : public ::testing::TestWithParam<GroupCommit::Waiting> {};
INSTANTIATE_TEST_SUITE_P(GroupCommit, EachWaiting,
                         ::testing::Values(GroupCommit::Waiting::watching, GroupCommit::Waiting::sleeping));

TEST_P(EachWaiting, ManyThreadsAllGetTheirOwnReceipt) {
  Gate gate;
  GroupCommit group([&](Batch& batch, const Wait& wait) { return gate.commit(batch, wait); }, GetParam());
  std::vector<std::atomic<int>> taken(64 * 100 + 1);
  std::vector<std::thread> threads;
  threads.reserve(64);
  for (int t = 0; t < 64; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const auto receipt = append(group, t % 3 == 0 ? Wait{{}, Deadline::after(1min)} : Wait{});
        if (receipt.ok()) ++taken[receipt.value().first];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 1; i < taken.size(); ++i) EXPECT_EQ(taken[i], 1) << i;
}

core::Duration cpu_of_this_thread() {
  timespec time{};
  EXPECT_EQ(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), 0);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Quick commits are watched, and one that proves slow is slept through all the same.
TEST(GroupCommit, ASlowCommitIsNotWatched) {
  std::atomic<bool> slow{false};
  std::atomic<bool> entered{false};
  GroupCommit group([&](Batch& batch, const Wait&) {
    while (!batch.more().empty()) {
    }
    entered = true;
    if (slow) std::this_thread::sleep_for(400ms);
    return CommitResult{};
  });
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(append(group).ok());
  for (int round = 0; round < 2; ++round) {
    slow = true;
    entered = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const core::Duration before = cpu_of_this_thread();
        EXPECT_TRUE(append(group).ok());
        EXPECT_LT(cpu_of_this_thread() - before, 100ms);
      });
      while (i == 0 && !entered) std::this_thread::sleep_for(100us);
    }
    std::this_thread::sleep_for(50ms);
    slow = false;
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace heddle::journal

// Group commit: appends that wait at the same time share one transaction and one sync. For those who implement a store.
//
// The first thread to come leads: it commits what is queued, and whoever comes while it is still writing joins in.
// Later ones queue up and sleep during its sync. When that is done it hands the lead to the oldest sleeper, which
// sleeps on a word of its own, and wakes those whose appends it has settled with one call: they sleep on one word, and
// who queues up for the next commit on another. So nobody is woken in vain and no wake-up is a system call of its own;
// waking all sleepers to look for themselves costs half the throughput at 64 threads, and a call for each of them a
// quarter.
//
// Where commits are quick, threads do not sleep but watch: they yield their processor again and again until the commit
// is done. To sleep and be woken costs a thread more than that, and to wake a processor up more than both; what it
// takes is time of processors that would be idle. As many as like to watch on up to four processors, where they take
// turns; where there are more, four threads and the one that leads the next commit.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "heddle/journal/core/futex.h"
#include "heddle/journal/core/store.h"

namespace heddle::journal {

/// One caller's append in a batch.
struct Job {
  std::span<const Draft> drafts;
  std::span<const Range> erase;      ///< Store::erase; mostly empty
  std::vector<Digest> body_digests;  ///< one a draft, all zero where there is no body; made by the appending thread
  Receipt receipt;                   ///< set by the commit
};

/// What became of a batch. `not_begun`: the leader's own Wait ended before anything was written, which concerns no
/// other job. `failed` concerns all of them.
struct CommitResult {
  enum class Status : std::uint8_t { durable, not_begun, failed };
  Status status = Status::durable;
  core::Error error;
};

/// The appends that one commit makes durable. Used by the thread that leads.
class Batch {
 public:
  /// All that are in it, the leader's own first.
  [[nodiscard]] std::span<Job* const> jobs() const { return jobs_; }
  /// Those that have come since the last call (the first call: since the commit began), who are in it from now on.
  /// Good until the next call. Empty when there is nobody; then it takes no more. Call it until then, before the
  /// commit's end is begun.
  ///
  /// Whoever the commit before this one has acknowledged may be on its way here with its next append. Seven of eight
  /// are waited for as long as they keep coming, so that they do not wait for one more sync: at most kPause after the
  /// last. The eighth comes while the sync keeps the others asleep, and the next commit begins with it. One or two
  /// threads are never waited for.
  [[nodiscard]] std::span<Job* const> more();

 private:
  friend class GroupCommit;
  explicit Batch(class GroupCommit& group) : group_(group) {}

  class GroupCommit& group_;
  std::vector<Job*> jobs_;
  std::size_t facts_ = 0;
  std::size_t bytes_ = 0;
  bool closed_ = false;
  core::TimePoint closed_at_ = core::Clock::now();  // or when it began
};

/// Thread-safe. `commit` is called by one thread at a time, without a lock held, with the leader's Wait.
class GroupCommit {
 public:
  using Commit = std::function<CommitResult(Batch& batch, const Wait& wait)>;

  /// How threads wait for a commit. `watching` is for commits that leave processors idle, and no other process at work.
  enum class Waiting : std::uint8_t { watching, sleeping };

  explicit GroupCommit(Commit commit, Waiting waiting = Waiting::watching)
      : commit_(std::move(commit)), most_watchers_(waiting == Waiting::watching ? most_watchers() : 0) {}

  [[nodiscard]] core::Result<Receipt> append(std::span<const Draft> drafts, const Wait& wait,
                                             std::span<const Range> erase = {});

  /// A batch ends before it would pass these; one append is never split.
  static constexpr std::size_t kMaxBatchFacts = 4096;
  static constexpr std::size_t kMaxBatchBytes = std::size_t{16} << 20;
  /// Several times what a thread takes from its wake-up to its next append.
  static constexpr auto kPause = std::chrono::microseconds(20);
  /// A commit is quick when it takes no longer than this from the last append that it takes to its end. After a quick
  /// one threads watch the next, each at most for kWatch.
  static constexpr auto kQuick = std::chrono::microseconds(300);
  static constexpr auto kWatch = std::chrono::milliseconds(1);

 private:
  friend class Batch;
  struct Waiter;
  struct Sleepers;
  static constexpr std::size_t kRounds = 2;

  void wake(const Sleepers& sleepers);
  static void wake_round(FutexWord& round);
  void watch(const Waiter& self, const Wait& wait);
  static std::size_t most_watchers();
  void lead(Waiter& self, const Wait& wait);
  void take(Batch& batch);
  void close(Batch& batch);

  Commit commit_;
  std::atomic<std::size_t> queued_{0};  // the size of queue_, for looking without the mutex
  std::size_t expected_ = 0;            // in the next batch; the leader's
  std::mutex mutex_;
  std::deque<Waiter*> queue_;
  bool led_ = false;
  bool quick_ = false;               // was the last commit?
  const std::size_t most_watchers_;  // besides the one that leads next; 0: nor does that
  std::atomic<std::size_t> watching_{0};
  bool open_ = false;        // who comes now may still join the commit under way
  std::uint32_t round_ = 0;  // commits that have taken all they take
  std::array<FutexWord, kRounds> rounds_{};
};

/// Tells threads of this process that there are new facts. Thread-safe.
class Bell {
 public:
  [[nodiscard]] std::uint32_t state() const noexcept { return word_.load(std::memory_order_acquire); }
  void ring() noexcept;
  /// Sleeps until rung since `state` was read, the stop is requested, or the deadline.
  void wait(std::uint32_t state, const Wait& wait) noexcept;

 private:
  FutexWord word_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

}  // namespace heddle::journal

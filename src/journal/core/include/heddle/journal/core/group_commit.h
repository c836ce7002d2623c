// Group commit: appends that wait at the same time share one transaction and one sync. For those who implement a store.
//
// The first thread to come leads: it commits what is queued while later ones queue up and sleep. When it is done it
// hands the lead to the oldest sleeper and wakes each thread whose append it has settled, and nobody else: waking all
// sleepers to look for themselves costs half the throughput at 64 threads.
#pragma once

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
  Receipt receipt;  ///< set by the commit
};

/// What became of a batch. `not_begun`: the leader's own Wait ended before anything was written, which concerns no
/// other job. `failed` concerns all of them.
struct CommitResult {
  enum class Status : std::uint8_t { durable, not_begun, failed };
  Status status = Status::durable;
  core::Error error;
};

/// Thread-safe. `commit` is called by one thread at a time, without a lock held, with the leader's Wait.
class GroupCommit {
 public:
  using Commit = std::function<CommitResult(std::span<Job* const> batch, const Wait& wait)>;

  explicit GroupCommit(Commit commit) : commit_(std::move(commit)) {}

  [[nodiscard]] core::Result<Receipt> append(std::span<const Draft> drafts, const Wait& wait);

  /// A batch ends before it would pass these; one append is never split.
  static constexpr std::size_t kMaxBatchFacts = 4096;
  static constexpr std::size_t kMaxBatchBytes = std::size_t{16} << 20;

 private:
  struct Waiter;

  void lead(Waiter& self, const Wait& wait);
  std::vector<Waiter*> take_batch();

  Commit commit_;
  std::mutex mutex_;
  std::deque<Waiter*> queue_;
  bool led_ = false;
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

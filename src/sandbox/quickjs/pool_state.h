// PoolState: the workers and who waits for one. Shared by the Pool and its runs, so that a run may outlive the Pool.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <vector>

#include "heddle/guest/process.h"
#include "heddle/sandbox/quickjs/pool.h"

namespace heddle::sandbox::quickjs {

using Lease = std::unique_ptr<guest::Process>;

/// The descriptors that a run needs besides its worker's. Kept for the next run, since making them costs more than a
/// short run.
struct RunDescriptors {
  core::Fd epoll;  ///< what Run::fd() gives out; holds the others and the worker's socket
  core::Fd timer;  ///< timerfd: the next deadline
  core::Fd wake;   ///< eventfd: a worker was assigned, or the pool was closed
};

/// A run's place in the pool's queue. Its members belong to the pool's mutex.
struct Waiter {
  const core::Fd* wake = nullptr;
  Lease assigned;
  std::optional<core::Error> failure;
};

enum class Discard { after_a_kill, for_recycling, after_a_failure };

/// Thread-safe. No lock is held while a process is spawned or ended.
class PoolState {
 public:
  [[nodiscard]] static core::Result<std::shared_ptr<PoolState>> create(PoolOptions options);
  PoolState(PoolOptions options, std::shared_ptr<guest::Host> host, jail::Policy policy, jail::Program program);

  [[nodiscard]] const PoolOptions& options() const noexcept { return options_; }
  [[nodiscard]] core::Result<RunDescriptors> take_descriptors();
  void keep_descriptors(RunDescriptors descriptors);

  /// A run comes and goes: between the two it is woken when the pool closes.
  void enter(Waiter& waiter);
  void leave(Waiter& waiter);

  /// An idle worker or a new one; an empty Lease means that `waiter` was queued and will be woken.
  [[nodiscard]] core::Result<Lease> lease(Waiter& waiter);
  /// After a wake-up: what was assigned meanwhile, or nothing yet.
  [[nodiscard]] core::Result<Lease> take_assigned(Waiter& waiter);

  /// A worker that is healthy and idle again. The first waiter gets it.
  void give_back(Lease worker);
  /// Ends a worker, and spawns another one for the first waiter, or to keep a warmed pool full.
  void discard(Lease worker, Discard why);

  [[nodiscard]] core::Result<void> warm();
  void close();
  [[nodiscard]] bool closed() const;
  [[nodiscard]] PoolStatistics statistics() const;
  void count_ready();

 private:
  [[nodiscard]] core::Result<Lease> spawn();  // the caller has counted it in alive_
  void hand_over(Lease worker);
  void fail_first_waiter(const core::Error& error);
  static void wake(const Waiter& waiter);

  const PoolOptions options_;
  const std::shared_ptr<guest::Host> host_;
  const jail::Policy policy_;
  const jail::Program program_;

  mutable std::mutex mutex_;
  std::deque<Lease> idle_;  // ready ones at the back
  std::deque<Waiter*> queue_;
  std::unordered_set<Waiter*> present_;
  std::vector<RunDescriptors> spare_;
  std::size_t alive_ = 0;
  bool warmed_ = false;
  bool closed_ = false;
  PoolStatistics statistics_;
};

}  // namespace heddle::sandbox::quickjs

// Pool: guests of one kind, kept warm and replaced as they die, and the calls that wait for one.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_set>
#include <vector>

#include "heddle/guest/pool_options.h"
#include "heddle/guest/process.h"

namespace heddle::guest {

/// The descriptors that a call needs besides its guest's. Kept for the next call, since making them costs more than a
/// short one.
struct CallDescriptors {
  core::Fd epoll;  ///< what Call::fd() gives out; holds the others and the guest's socket
  core::Fd timer;  ///< timerfd: the next deadline
  core::Fd wake;   ///< eventfd: a guest was assigned, or the pool was closed
};

/// Thread-safe. Shared with its calls, so that one may outlive who made the pool. No lock is held while a process is
/// spawned or ended.
class Pool {
 public:
  /// Guests are spawned as calls ask for them, or by warm(). Errc::invalid_argument for options that cannot be.
  [[nodiscard]] static core::Result<std::shared_ptr<Pool>> create(std::shared_ptr<Host> host, jail::Policy policy,
                                                                  jail::Program program, PoolOptions options);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();

  [[nodiscard]] const PoolOptions& options() const noexcept { return options_; }
  [[nodiscard]] PoolStatistics statistics() const;

  /// For one Call. Errc::system when there are none left.
  [[nodiscard]] core::Result<CallDescriptors> take_descriptors();

  /// Spawns guests up to the size without waiting for them, and from then on for each that ends. The first failure is
  /// returned.
  [[nodiscard]] core::Result<void> warm();

  /// Ends all idle guests; calls end with Errc::closed.
  void close();

 private:
  friend class Call;
  using Lease = std::unique_ptr<Process>;
  enum class Discard { after_a_kill, for_recycling, after_a_failure };
  enum class Refill { for_waiters, if_warmed };

  /// A call's place in the queue. Its members belong to the pool's mutex.
  struct Waiter {
    const core::Fd* wake = nullptr;
    bool woken = false;
    Lease assigned;
    std::optional<core::Error> failure;
  };

  Pool(std::shared_ptr<Host> host, jail::Policy policy, jail::Program program, PoolOptions options);

  /// Of a call that has left.
  void keep_descriptors(CallDescriptors descriptors, const Waiter& left);

  /// A call comes and goes: between the two it is woken when the pool closes.
  void enter(Waiter& waiter);
  void leave(Waiter& waiter);

  /// An idle guest or a new one; an empty Lease means that `waiter` was queued and will be woken.
  [[nodiscard]] core::Result<Lease> lease(Waiter& waiter);
  /// After a wake-up: what was assigned meanwhile, or nothing yet.
  [[nodiscard]] core::Result<Lease> take_assigned(Waiter& waiter);

  /// A guest that is healthy and idle again. The first waiter gets it.
  void give_back(Lease guest);
  /// Ends a guest, and spawns another one for the first waiter, or to keep a warmed pool full.
  void discard(Lease guest, Discard why);

  void count_ready();
  void count_failure(const core::Error& error);
  [[nodiscard]] bool closed() const;
  [[nodiscard]] core::Error closed_error() const;

  [[nodiscard]] core::Result<Lease> spawn();  // the caller has counted it in alive_
  void hand_over(Lease guest);
  void fill_place(Refill refill);
  void fail_first_waiter_locked(const core::Error& error);
  void end_expired();
  static void wake(Waiter& waiter);

  const std::shared_ptr<Host> host_;
  const jail::Policy policy_;
  const jail::Program program_;
  const PoolOptions options_;

  mutable std::mutex mutex_;
  std::deque<Lease> idle_;  // ready ones at the back
  std::deque<Waiter*> queue_;
  std::unordered_set<Waiter*> present_;
  std::vector<CallDescriptors> spare_;
  std::size_t alive_ = 0;
  bool warmed_ = false;
  bool closed_ = false;
  Backoff backoff_;
  PoolStatistics statistics_;
  std::condition_variable idle_changed_;
  std::thread expiry_;
};

}  // namespace heddle::guest

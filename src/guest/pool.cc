#include "heddle/guest/pool.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>

namespace heddle::guest {
namespace {

using core::Errc;

core::Result<void> watch(const core::Fd& epoll, const core::Fd& fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0) return core::system_error("epoll_ctl");
  return {};
}

}  // namespace

core::Result<std::shared_ptr<Pool>> Pool::create(std::shared_ptr<Host> host, jail::Policy policy, jail::Program program,
                                                 PoolOptions options) {
  if (options.size == 0 || options.calls_per_guest == 0) {
    return core::make_error(Errc::invalid_argument, "create a pool", "no guests, or no calls for them");
  }
  std::shared_ptr<Pool> pool(new Pool(std::move(host), std::move(policy), std::move(program), std::move(options)));
  if (pool->options_.idle_expiry.count() > 0) pool->expiry_ = std::thread([raw = pool.get()] { raw->end_expired(); });
  return pool;
}

Pool::Pool(std::shared_ptr<Host> host, jail::Policy policy, jail::Program program, PoolOptions options)
    : host_(std::move(host)), policy_(std::move(policy)), program_(std::move(program)), options_(std::move(options)) {}

Pool::~Pool() { close(); }

core::Result<CallDescriptors> Pool::take_descriptors() {
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      CallDescriptors descriptors = std::move(spare_.back());
      spare_.pop_back();
      return descriptors;
    }
  }
  CallDescriptors made;
  made.epoll = core::Fd(::epoll_create1(EPOLL_CLOEXEC));
  made.timer = core::Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  made.wake = core::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!made.epoll.valid() || !made.timer.valid() || !made.wake.valid()) {
    return core::system_error("make a call's descriptors", "raise the limit on open files (ulimit -n)");
  }
  HEDDLE_TRY(watch(made.epoll, made.timer));
  HEDDLE_TRY(watch(made.epoll, made.wake));
  return made;
}

void Pool::keep_descriptors(CallDescriptors descriptors, const Waiter& left) {
  // Nothing of the last call may wake the next one.
  if (left.woken) {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t drained = ::read(descriptors.wake.get(), &count, sizeof count);
  }
  const itimerspec off{};
  if (::timerfd_settime(descriptors.timer.get(), 0, &off, nullptr) != 0) return;
  const std::lock_guard lock(mutex_);
  if (!closed_ && spare_.size() < options_.size) spare_.push_back(std::move(descriptors));
}

void Pool::enter(Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  present_.insert(&waiter);
}

void Pool::leave(Waiter& waiter) {
  Lease unused;
  {
    const std::lock_guard lock(mutex_);
    present_.erase(&waiter);
    queue_.erase(std::remove(queue_.begin(), queue_.end(), &waiter), queue_.end());
    unused = std::move(waiter.assigned);
  }
  if (unused) give_back(std::move(unused));
}

core::Result<Pool::Lease> Pool::lease(Waiter& waiter) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return closed_error();
    if (!idle_.empty()) {
      Lease guest = std::move(idle_.back());
      idle_.pop_back();
      return guest;
    }
    if (alive_ >= options_.size) {
      queue_.push_back(&waiter);
      return Lease();
    }
    if (auto refusal = backoff_.refusal()) return *std::move(refusal);
    ++alive_;
  }
  auto guest = spawn();
  if (!guest.ok()) fill_place(Refill::for_waiters);  // some may have queued for the place that it did not take
  return guest;
}

core::Result<Pool::Lease> Pool::take_assigned(Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  if (closed_) return closed_error();
  if (waiter.failure) return *waiter.failure;
  return std::move(waiter.assigned);
}

core::Result<Pool::Lease> Pool::spawn() {
  core::Result<void> started = host_->start();
  if (started.ok()) {
    auto guest = Process::spawn(*host_, policy_, program_);
    if (guest.ok()) return guest;
    count_failure(guest.error());
    started = std::move(guest).error();
  }
  const std::lock_guard lock(mutex_);
  --alive_;
  return std::move(started).error();
}

void Pool::give_back(Lease guest) {
  if (guest->calls() >= options_.calls_per_guest) {
    discard(std::move(guest), Discard::for_recycling);
    return;
  }
  guest->mark_idle();
  hand_over(std::move(guest));
}

void Pool::hand_over(Lease guest) {
  const std::lock_guard lock(mutex_);
  if (closed_) {
    --alive_;
    return;
  }
  if (queue_.empty()) {
    if (guest->ready()) {
      idle_.push_back(std::move(guest));
    } else {
      idle_.push_front(std::move(guest));
    }
    if (options_.idle_expiry.count() > 0) idle_changed_.notify_one();
    return;
  }
  Waiter* first = queue_.front();
  queue_.pop_front();
  first->assigned = std::move(guest);
  wake(*first);
}

void Pool::discard(Lease guest, Discard why) {
  guest.reset();
  {
    const std::lock_guard lock(mutex_);
    --alive_;
    if (why == Discard::after_a_kill) ++statistics_.killed;
    if (why == Discard::for_recycling) ++statistics_.recycled;
  }
  // A guest that could not start is not tried again on nobody's behalf.
  fill_place(why == Discard::after_a_failure ? Refill::for_waiters : Refill::if_warmed);
}

// A place is free: the first waiter gets a new guest, or the error that it could not be had, and so on until one takes
// the place.
void Pool::fill_place(Refill refill) {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      const bool wanted = !queue_.empty() || (warmed_ && refill == Refill::if_warmed);
      if (closed_ || !wanted || alive_ >= options_.size) return;
      if (const auto refusal = backoff_.refusal()) {
        // As if it had been tried. Those that live may still be had; without any there is nothing to wait for.
        if (!queue_.empty()) fail_first_waiter_locked(*refusal);
        while (alive_ == 0 && !queue_.empty()) fail_first_waiter_locked(*refusal);
        return;
      }
      ++alive_;
    }
    auto guest = spawn();
    if (guest.ok()) {
      hand_over(std::move(guest).value());
      return;
    }
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) return;  // a refill has nobody to tell: the next call tries again
    fail_first_waiter_locked(guest.error());
  }
}

void Pool::fail_first_waiter_locked(const core::Error& error) {
  Waiter* first = queue_.front();
  queue_.pop_front();
  first->failure = error;
  wake(*first);
}

void Pool::wake(Waiter& waiter) {
  waiter.woken = true;
  const std::uint64_t one = 1;
  const ssize_t put = ::write(waiter.wake->get(), &one, sizeof one);
  HEDDLE_CHECK(put == sizeof one);
}

core::Result<void> Pool::warm() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return closed_error();
      warmed_ = true;
      if (alive_ >= options_.size) return {};
      if (auto refusal = backoff_.refusal()) return *std::move(refusal);
      ++alive_;
    }
    auto guest = spawn();
    if (!guest.ok()) {
      fill_place(Refill::for_waiters);
      return std::move(guest).error();
    }
    hand_over(std::move(guest).value());
  }
}

void Pool::close() {
  std::deque<Lease> ended;
  std::vector<CallDescriptors> spare;
  std::thread expiry;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    alive_ -= idle_.size();
    ended.swap(idle_);
    spare.swap(spare_);
    expiry.swap(expiry_);
    for (Waiter* waiter : present_) wake(*waiter);
    idle_changed_.notify_one();
  }
  if (expiry.joinable()) expiry.join();
}

// The expiry thread's.
void Pool::end_expired() {
  std::unique_lock lock(mutex_);
  while (!closed_) {
    std::vector<Lease> ended;
    core::TimePoint next = core::TimePoint::max();
    const core::TimePoint now = core::Clock::now();
    for (Lease& guest : idle_) {
      const core::TimePoint due = guest->idle_since() + options_.idle_expiry;
      if (due > now) {
        next = std::min(next, due);
      } else {
        ended.push_back(std::move(guest));
      }
    }
    idle_.erase(std::remove(idle_.begin(), idle_.end(), nullptr), idle_.end());
    alive_ -= ended.size();
    statistics_.expired += ended.size();
    if (!ended.empty()) {
      lock.unlock();
      ended.clear();
      lock.lock();
    } else if (next == core::TimePoint::max()) {
      idle_changed_.wait(lock);
    } else {
      idle_changed_.wait_until(lock, next);
    }
  }
}

bool Pool::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

PoolStatistics Pool::statistics() const {
  const std::lock_guard lock(mutex_);
  PoolStatistics now = statistics_;
  now.alive = alive_;
  return now;
}

void Pool::count_ready() {
  const std::lock_guard lock(mutex_);
  ++statistics_.spawned;
  backoff_.succeeded();
}

void Pool::count_failure(const core::Error& error) {
  const std::lock_guard lock(mutex_);
  backoff_.failed(error);
}

core::Error Pool::closed_error() const {
  return core::make_error(Errc::closed, "use a pool of guests", "the pool has been closed");
}

}  // namespace heddle::guest

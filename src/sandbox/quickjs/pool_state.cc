#include "pool_state.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>

namespace heddle::sandbox::quickjs {
namespace {

using core::Errc;

core::Error closed_error() { return core::make_error(Errc::closed, "run a script", "the pool has been closed"); }

core::Result<void> watch(const core::Fd& epoll, const core::Fd& fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0) return core::system_error("epoll_ctl");
  return {};
}

// The engine seeds each run from the kernel, and a worker that cannot has no way to say why it ends.
core::Result<void> check_random_bytes() {
  std::uint8_t byte = 0;
  if (::getrandom(&byte, sizeof byte, 0) != static_cast<ssize_t>(sizeof byte)) {
    return core::system_error("getrandom",
                              "scripts need the kernel's random bytes: allow the call in the outer sandbox");
  }
  return {};
}

}  // namespace

core::Result<std::shared_ptr<PoolState>> PoolState::create(PoolOptions options) {
  HEDDLE_TRY(check_random_bytes());
  HEDDLE_ASSIGN(jail::Program program, jail::open_program(options.worker_path));
  std::shared_ptr<guest::Host> host = options.host;
  if (host == nullptr) {
    jail::SupervisorOptions supervisor_options;
    supervisor_options.program = options.supervisor_path;
    host = std::make_shared<guest::Host>(std::move(supervisor_options));
  }
  HEDDLE_TRY(host->start());
  jail::Limits limits;
  limits.data_bytes = options.max_memory_bytes + 2 * options.max_transfer_bytes + kWorkerOverheadBytes;
  // Behind the limits of the engine and of the process, for what those do not count: kernel memory, page cache, stack.
  limits.group.memory_bytes =
      jail::GroupLimit{limits.data_bytes + limits.stack_bytes + kWorkerOverheadBytes, jail::Need::if_available};
  limits.group.swap_bytes = jail::GroupLimit{0, jail::Need::if_available};
  HEDDLE_ASSIGN(jail::Policy policy, jail::Policy::script(limits));
  return std::make_shared<PoolState>(std::move(options), std::move(host), std::move(policy), std::move(program));
}

PoolState::PoolState(PoolOptions options, std::shared_ptr<guest::Host> host, jail::Policy policy, jail::Program program)
    : options_(std::move(options)), host_(std::move(host)), policy_(std::move(policy)), program_(std::move(program)) {}

core::Result<RunDescriptors> PoolState::take_descriptors() {
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      RunDescriptors descriptors = std::move(spare_.back());
      spare_.pop_back();
      return descriptors;
    }
  }
  RunDescriptors made;
  made.epoll = core::Fd(::epoll_create1(EPOLL_CLOEXEC));
  made.timer = core::Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  made.wake = core::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!made.epoll.valid() || !made.timer.valid() || !made.wake.valid()) {
    return core::system_error("make a run's descriptors", "raise the limit on open files (ulimit -n)");
  }
  HEDDLE_TRY(watch(made.epoll, made.timer));
  HEDDLE_TRY(watch(made.epoll, made.wake));
  return made;
}

void PoolState::keep_descriptors(RunDescriptors descriptors) {
  // Nothing of the last run may wake the next one.
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t drained = ::read(descriptors.wake.get(), &count, sizeof count);
  const itimerspec off{};
  if (::timerfd_settime(descriptors.timer.get(), 0, &off, nullptr) != 0) return;
  const std::lock_guard lock(mutex_);
  if (!closed_ && spare_.size() < options_.workers) spare_.push_back(std::move(descriptors));
}

void PoolState::enter(Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  present_.insert(&waiter);
}

void PoolState::leave(Waiter& waiter) {
  Lease unused;
  {
    const std::lock_guard lock(mutex_);
    present_.erase(&waiter);
    queue_.erase(std::remove(queue_.begin(), queue_.end(), &waiter), queue_.end());
    unused = std::move(waiter.assigned);
  }
  if (unused) give_back(std::move(unused));
}

core::Result<Lease> PoolState::lease(Waiter& waiter) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return closed_error();
    if (!idle_.empty()) {
      Lease worker = std::move(idle_.back());
      idle_.pop_back();
      return worker;
    }
    if (alive_ >= options_.workers) {
      queue_.push_back(&waiter);
      return Lease();
    }
    ++alive_;
  }
  return spawn();
}

core::Result<Lease> PoolState::take_assigned(Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  if (closed_) return closed_error();
  if (waiter.failure) return *waiter.failure;
  return std::move(waiter.assigned);
}

core::Result<Lease> PoolState::spawn() {
  auto worker = guest::Process::spawn(*host_, policy_, program_);
  if (!worker.ok()) {
    const std::lock_guard lock(mutex_);
    --alive_;
  }
  return worker;
}

void PoolState::give_back(Lease worker) {
  if (worker->calls() >= options_.runs_per_worker) {
    discard(std::move(worker), Discard::for_recycling);
    return;
  }
  worker->mark_idle();
  hand_over(std::move(worker));
}

void PoolState::hand_over(Lease worker) {
  const std::lock_guard lock(mutex_);
  if (closed_) {
    --alive_;
    return;  // ends with the lock held, once, while the pool closes
  }
  if (queue_.empty()) {
    if (worker->ready()) {
      idle_.push_back(std::move(worker));
    } else {
      idle_.push_front(std::move(worker));
    }
    return;
  }
  Waiter* first = queue_.front();
  queue_.pop_front();
  first->assigned = std::move(worker);
  wake(*first);
}

void PoolState::discard(Lease worker, Discard why) {
  worker.reset();
  {
    const std::lock_guard lock(mutex_);
    --alive_;
    if (why == Discard::after_a_kill) ++statistics_.killed;
    if (why == Discard::for_recycling) ++statistics_.recycled;
    // A worker that could not start is not tried again on nobody's behalf.
    const bool refill = warmed_ && why != Discard::after_a_failure;
    if (closed_ || (queue_.empty() && !refill)) return;
    ++alive_;
  }
  auto next = spawn();
  if (next.ok()) {
    hand_over(std::move(next).value());
  } else {
    fail_first_waiter(next.error());
  }
}

void PoolState::fail_first_waiter(const core::Error& error) {
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) return;  // a refill failed: the next run tries again and gets its own error
  Waiter* first = queue_.front();
  queue_.pop_front();
  first->failure = error;
  wake(*first);
}

void PoolState::wake(const Waiter& waiter) {
  const std::uint64_t one = 1;
  const ssize_t put = ::write(waiter.wake->get(), &one, sizeof one);
  HEDDLE_CHECK(put == sizeof one);
}

core::Result<void> PoolState::warm() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return closed_error();
      warmed_ = true;
      if (alive_ >= options_.workers) return {};
      ++alive_;
    }
    HEDDLE_ASSIGN(Lease worker, spawn());
    hand_over(std::move(worker));
  }
}

void PoolState::close() {
  std::deque<Lease> ended;
  std::vector<RunDescriptors> spare;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  alive_ -= idle_.size();
  ended.swap(idle_);
  spare.swap(spare_);
  for (const Waiter* waiter : present_) wake(*waiter);
}

bool PoolState::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

PoolStatistics PoolState::statistics() const {
  const std::lock_guard lock(mutex_);
  PoolStatistics now = statistics_;
  now.alive = alive_;
  return now;
}

void PoolState::count_ready() {
  const std::lock_guard lock(mutex_);
  ++statistics_.spawned;
}

}  // namespace heddle::sandbox::quickjs

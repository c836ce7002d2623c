#include "heddle/journal/core/group_commit.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <climits>
#include <limits>
#include <optional>
#include <stop_token>
#include <thread>

namespace heddle::journal {
namespace {

// What a waiter's own word says, and above it a count of pokes that make a sleeper look up.
enum Stage : std::uint32_t { queued = 0, leading = 1, settled = 2 };
constexpr std::uint32_t kStateMask = 3;
constexpr std::uint32_t kPoke = 4;

}  // namespace

// Lives on its caller's stack. Whoever sets settled has written the result before and does not touch it again.
struct GroupCommit::Waiter : Job {
  std::size_t bytes = 0;
  FutexWord own{queued};     // left queued under the mutex only
  FutexWord* bed = nullptr;  // the word it sleeps on: `own`, or that of its round
  bool taken = false;        // under the mutex: in the batch of the thread that leads
  std::optional<core::Error> error;

  [[nodiscard]] std::uint32_t state() const { return own.load(std::memory_order_acquire) & kStateMask; }
  void set(Stage stage) { own.store(stage, std::memory_order_release); }
};

// Whom to wake once their states have been set. Beds are words of threads that may be gone when they are woken.
struct GroupCommit::Sleepers {
  std::vector<FutexWord*> alone;
  std::array<bool, kRounds> rounds{};

  void add(GroupCommit& group, Waiter& waiter) {
    if (waiter.bed == &waiter.own) {
      alone.push_back(waiter.bed);
    } else {
      rounds[static_cast<std::size_t>(waiter.bed - group.rounds_.data())] = true;
    }
  }
};

void GroupCommit::wake(const Sleepers& sleepers) {
  for (const FutexWord* word : sleepers.alone) futex_wake(word, 1);
  for (std::size_t i = 0; i < rounds_.size(); ++i) {
    if (sleepers.rounds[i]) wake_round(rounds_[i]);
  }
}

// A sleeper reads the word, then its state, then sleeps for as long as the word is what it read.
void GroupCommit::wake_round(FutexWord& round) {
  round.fetch_add(1, std::memory_order_release);
  futex_wake(&round, INT_MAX);
}

core::Result<Receipt> GroupCommit::append(std::span<const Draft> drafts, const Wait& wait,
                                          std::span<const Range> erase) {
  if (drafts.empty()) return core::make_error(core::Errc::invalid_argument, "append to the journal", "no facts given");
  Waiter self;
  self.drafts = drafts;
  self.erase = erase;
  self.body_digests.reserve(drafts.size());
  for (const Draft& draft : drafts) {
    HEDDLE_TRY(check_draft(draft));
    // Here, where threads run side by side, and not where one of them writes for all.
    self.body_digests.push_back(draft.body ? core::sha256(*draft.body) : Digest());
    self.bytes += draft.payload.size() + (draft.body ? draft.body->size() : 0);
  }
  bool watches = false;
  {
    const std::lock_guard lock(mutex_);
    // The first to come after the commit under way is the one to lead the next.
    const bool leads_next = queue_.empty() && !open_;
    watches =
        quick_ && most_watchers_ != 0 && (leads_next || watching_.load(std::memory_order_relaxed) < most_watchers_);
    if (watches) watching_.fetch_add(1, std::memory_order_relaxed);
    self.bed = leads_next ? &self.own : &rounds_[round_ % kRounds];
    queue_.push_back(&self);
    queued_.store(queue_.size(), std::memory_order_relaxed);
    if (!led_) {
      led_ = true;
      self.set(leading);
    }
  }
  if (watches) watch(self, wait);
  if (self.state() == queued) {
    std::optional<std::stop_callback<std::function<void()>>> poke;
    if (wait.stop.stop_possible()) {
      poke.emplace(wait.stop, [&self] {
        self.own.fetch_add(kPoke, std::memory_order_release);
        if (self.bed == &self.own) {
          futex_wake(&self.own, 1);
        } else {
          wake_round(*self.bed);
        }
      });
    }
    for (;;) {
      const std::uint32_t seen = self.bed->load(std::memory_order_acquire);
      if (self.state() != queued) break;
      core::Deadline deadline = wait.deadline;
      if (auto over = wait_over(wait, "append to the journal", "waiting for the appends before it")) {
        const std::lock_guard lock(mutex_);
        if (self.state() != queued) continue;
        if (!self.taken) {
          queue_.erase(std::find(queue_.begin(), queue_.end(), &self));
          queued_.store(queue_.size(), std::memory_order_relaxed);
          return *std::move(over);
        }
        // Its facts are being committed. Whether they are stored is known only when that is over.
        deadline = core::Deadline::never();
      }
      futex_wait(*self.bed, seen, deadline);
    }
  }
  if (self.state() == leading) lead(self, wait);
  if (self.error) return *std::move(self.error);
  return self.receipt;
}

// Instead of sleeping, for a while. Its processor is for whoever wants it.
void GroupCommit::watch(const Waiter& self, const Wait& wait) {
  const core::Deadline end = core::Deadline::earlier(core::Deadline::after(kWatch), wait.deadline);
  while (self.state() == queued && !end.passed() && !wait.stop.stop_requested()) ::sched_yield();
  watching_.fetch_sub(1, std::memory_order_relaxed);
}

std::size_t GroupCommit::most_watchers() {
  constexpr std::size_t kProcessors = 4;
  const std::size_t processors = std::thread::hardware_concurrency();  // 0: not known
  return processors >= 1 && processors <= kProcessors ? std::numeric_limits<std::size_t>::max() : kProcessors;
}

// Under the mutex.
void GroupCommit::take(Batch& batch) {
  while (!queue_.empty()) {
    Waiter* const next = queue_.front();
    const std::size_t facts = batch.facts_ + next->drafts.size();
    const std::size_t bytes = batch.bytes_ + next->bytes;
    if (!batch.jobs_.empty() && (facts > kMaxBatchFacts || bytes > kMaxBatchBytes)) {
      close(batch);
      break;
    }
    batch.facts_ = facts;
    batch.bytes_ = bytes;
    next->taken = true;
    batch.jobs_.push_back(next);
    queue_.pop_front();
  }
  queued_.store(queue_.size(), std::memory_order_relaxed);
}

void GroupCommit::close(Batch& batch) {
  if (batch.closed_) return;
  batch.closed_ = true;
  batch.closed_at_ = core::Clock::now();
  open_ = false;
  ++round_;
}

std::span<Job* const> Batch::more() {
  if (closed_) return {};
  const std::size_t before = jobs_.size();
  const core::TimePoint end = core::Clock::now() + GroupCommit::kPause;
  while (before < group_.expected_ && group_.queued_.load(std::memory_order_relaxed) == 0 && core::Clock::now() < end) {
    ::sched_yield();
  }
  const std::lock_guard lock(group_.mutex_);
  group_.take(*this);
  if (jobs_.size() == before) group_.close(*this);
  return std::span<Job* const>(jobs_).subspan(before);
}

void GroupCommit::lead(Waiter& self, const Wait& wait) {
  Batch batch(*this);
  {
    const std::lock_guard lock(mutex_);
    open_ = true;
    take(batch);
  }
  HEDDLE_CHECK(!batch.jobs_.empty() && batch.jobs_.front() == &self);

  const CommitResult result = commit_(batch, wait);
  if (result.status != CommitResult::Status::durable) self.error = result.error;
  const core::Duration rest = core::Clock::now() - batch.closed_at_;

  Sleepers next;
  {
    const std::lock_guard lock(mutex_);
    close(batch);
    quick_ = rest <= kQuick;
    if (result.status == CommitResult::Status::not_begun) {
      for (; batch.jobs_.size() > 1; batch.jobs_.pop_back()) {
        auto* const waiter = static_cast<Waiter*>(batch.jobs_.back());
        waiter->taken = false;
        queue_.push_front(waiter);
        waiter->own.fetch_add(kPoke, std::memory_order_release);  // its own Wait may be over too
        next.add(*this, *waiter);
      }
      queued_.store(queue_.size(), std::memory_order_relaxed);
    }
    expected_ = (batch.jobs_.size() + queue_.size()) * 7 / 8;
    led_ = !queue_.empty();
    if (led_) {
      queue_.front()->set(leading);
      next.add(*this, *queue_.front());
    }
  }
  wake(next);  // first: the next commit waits for nothing else
  Sleepers done;
  for (Job* job : batch.jobs_) {
    auto* const waiter = static_cast<Waiter*>(job);
    if (waiter == &self) continue;
    if (result.status == CommitResult::Status::failed) waiter->error = result.error;
    done.add(*this, *waiter);
    waiter->set(settled);
  }
  wake(done);
}

void Bell::ring() noexcept {
  word_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) != 0) futex_wake(&word_, INT_MAX);
}

void Bell::wait(std::uint32_t state, const Wait& wait) noexcept {
  const std::stop_callback ring_on_stop(wait.stop, [this] { ring(); });
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  while (word_.load(std::memory_order_seq_cst) == state && !wait.deadline.passed() && !wait.stop.stop_requested()) {
    futex_wait(word_, state, wait.deadline);
  }
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace heddle::journal

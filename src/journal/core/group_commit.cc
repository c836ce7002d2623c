#include "heddle/journal/core/group_commit.h"

#include <algorithm>
#include <climits>
#include <optional>
#include <stop_token>

namespace heddle::journal {
namespace {

// The futex word of a waiter: a state, and above it a count of pokes that make a sleeper look up.
enum State : std::uint32_t { queued = 0, leading = 1, settled = 2 };
constexpr std::uint32_t kStateMask = 3;
constexpr std::uint32_t kPoke = 4;

}  // namespace

// Lives on its caller's stack. Whoever sets settled has written the result before and does not touch it again.
struct GroupCommit::Waiter {
  Job job;
  std::size_t bytes = 0;
  FutexWord word{queued};  // left queued under the mutex only
  bool taken = false;      // under the mutex: in the batch of the thread that leads
  std::optional<core::Error> error;

  [[nodiscard]] std::uint32_t state() const { return word.load(std::memory_order_acquire) & kStateMask; }
  void set(State state) { word.store(state, std::memory_order_release); }
};

core::Result<Receipt> GroupCommit::append(std::span<const Draft> drafts, const Wait& wait) {
  if (drafts.empty()) return core::make_error(core::Errc::invalid_argument, "append to the journal", "no facts given");
  Waiter self;
  self.job.drafts = drafts;
  for (const Draft& draft : drafts) {
    HEDDLE_TRY(check_draft(draft));
    self.bytes += draft.payload.size() + (draft.body ? draft.body->size() : 0);
  }
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(&self);
    if (!led_) {
      led_ = true;
      self.set(leading);
    }
  }
  if (self.state() == queued) {
    std::optional<std::stop_callback<std::function<void()>>> poke;
    if (wait.stop.stop_possible()) {
      poke.emplace(wait.stop, [&self] {
        self.word.fetch_add(kPoke, std::memory_order_release);
        futex_wake(&self.word, 1);
      });
    }
    for (;;) {
      const std::uint32_t seen = self.word.load(std::memory_order_acquire);
      if ((seen & kStateMask) != queued) break;
      core::Deadline deadline = wait.deadline;
      if (auto over = wait_over(wait, "append to the journal", "waiting for the appends before it")) {
        const std::lock_guard lock(mutex_);
        if (self.state() != queued) continue;
        if (!self.taken) {
          queue_.erase(std::find(queue_.begin(), queue_.end(), &self));
          return *std::move(over);
        }
        // Its facts are being committed. Whether they are stored is known only when that is over.
        deadline = core::Deadline::never();
      }
      futex_wait(self.word, seen, deadline);
    }
  }
  if (self.state() == leading) lead(self, wait);
  if (self.error) return *std::move(self.error);
  return self.job.receipt;
}

std::vector<GroupCommit::Waiter*> GroupCommit::take_batch() {
  std::vector<Waiter*> batch;
  std::size_t facts = 0;
  std::size_t bytes = 0;
  while (!queue_.empty()) {
    Waiter* const next = queue_.front();
    facts += next->job.drafts.size();
    bytes += next->bytes;
    if (!batch.empty() && (facts > kMaxBatchFacts || bytes > kMaxBatchBytes)) break;
    next->taken = true;
    batch.push_back(next);
    queue_.pop_front();
  }
  return batch;
}

void GroupCommit::lead(Waiter& self, const Wait& wait) {
  std::vector<Waiter*> batch;
  {
    const std::lock_guard lock(mutex_);
    batch = take_batch();
  }
  HEDDLE_CHECK(!batch.empty() && batch.front() == &self);
  std::vector<Job*> jobs;
  jobs.reserve(batch.size());
  for (Waiter* waiter : batch) jobs.push_back(&waiter->job);

  const CommitResult result = commit_(jobs, wait);
  if (result.status != CommitResult::Status::durable) self.error = result.error;

  const FutexWord* next = nullptr;
  std::vector<const FutexWord*> put_back;
  {
    const std::lock_guard lock(mutex_);
    if (result.status == CommitResult::Status::not_begun) {
      for (auto waiter = batch.rbegin(); *waiter != &self; ++waiter) {
        (*waiter)->taken = false;
        queue_.push_front(*waiter);
        (*waiter)->word.fetch_add(kPoke, std::memory_order_release);  // its own Wait may be over too
        put_back.push_back(&(*waiter)->word);
      }
      batch.resize(1);
    }
    led_ = !queue_.empty();
    if (led_) {
      queue_.front()->set(leading);
      next = &queue_.front()->word;
    }
  }
  if (next != nullptr) futex_wake(next, 1);
  for (const FutexWord* word : put_back) futex_wake(word, 1);
  for (Waiter* waiter : batch) {
    if (waiter == &self) continue;
    if (result.status == CommitResult::Status::failed) waiter->error = result.error;
    const FutexWord* const word = &waiter->word;
    waiter->set(settled);
    futex_wake(word, 1);
  }
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

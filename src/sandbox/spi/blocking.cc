#include "heddle/sandbox/spi/blocking.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "event.h"
#include "heddle/sandbox/spi/pending.h"

namespace heddle::sandbox::spi {
namespace {

enum class Phase { waiting, running, finished, abandoned };

struct Job {
  Job(std::shared_ptr<BlockingEngine> used, Request asked) : engine(std::move(used)), request(std::move(asked)) {}
  const std::shared_ptr<BlockingEngine> engine;
  const Request request;
  Event event;  // raised with the answer; closed when the handle is given up

  // Below: guarded by BlockingState's mutex.
  Phase phase = Phase::waiting;
  std::optional<Outcome> outcome;
  std::exception_ptr thrown;
  std::thread thread;
};

}  // namespace

class BlockingState : public std::enable_shared_from_this<BlockingState> {
 public:
  BlockingState(std::shared_ptr<BlockingEngine> engine, BlockingOptions options)
      : engine_(std::move(engine)), options_(options) {
    options_.max_threads = std::max<std::size_t>(options_.max_threads, 1);
  }

  [[nodiscard]] const std::shared_ptr<BlockingEngine>& engine() const { return engine_; }

  void add(const std::shared_ptr<Job>& job) {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      answer(*job, Outcome::infrastructure("sandbox: the backend is closed"));
    } else if (all_stuck()) {
      answer(*job, refusal());
    } else {
      queue_.push_back(job);
      start_waiting();
    }
  }

  // The handle is gone. Returns with the thread joined, or counted as stuck and on its own.
  void release(const std::shared_ptr<Job>& job) {
    std::thread finished;
    {
      std::unique_lock lock(mutex_);
      if (job->phase == Phase::waiting) {
        queue_.erase(std::remove(queue_.begin(), queue_.end(), job), queue_.end());
        job->phase = Phase::abandoned;
        return;
      }
      if (job->phase == Phase::running) {
        lock.unlock();
        [[maybe_unused]] const bool ended = job->event.wait(options_.release_wait.count());
        lock.lock();
      }
      if (job->phase == Phase::running) {
        job->phase = Phase::abandoned;
        job->event.close();
        ++stuck_;
        job->thread.detach();
        if (all_stuck()) refuse_waiting(refusal());
        return;
      }
      finished = std::move(job->thread);
    }
    if (finished.joinable()) finished.join();
  }

  std::optional<Outcome> take(Job& job) {
    const std::lock_guard lock(mutex_);
    if (job.thrown) std::rethrow_exception(std::exchange(job.thrown, nullptr));
    return std::exchange(job.outcome, std::nullopt);
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(closed_, true)) return;
      refuse_waiting(Outcome::infrastructure("sandbox: the backend is closed"));
    }
    engine_->close();
  }

  BlockingStatistics statistics() const {
    const std::lock_guard lock(mutex_);
    return {running_, stuck_, queue_.size()};
  }

 private:
  [[nodiscard]] bool all_stuck() const { return stuck_ >= options_.max_threads; }

  [[nodiscard]] Outcome refusal() const {
    return Outcome::infrastructure("sandbox: all " + std::to_string(options_.max_threads) +
                                   " engine threads are stuck in runs that were given up");
  }

  static void answer(Job& job, Outcome outcome) {
    job.phase = Phase::finished;
    job.outcome = std::move(outcome);
    job.event.raise();
  }

  void refuse_waiting(const Outcome& outcome) {
    for (const auto& job : queue_) answer(*job, outcome);
    queue_.clear();
  }

  void start_waiting() {
    while (running_ < options_.max_threads && !queue_.empty()) {
      const auto job = std::move(queue_.front());
      queue_.pop_front();
      try {
        // The thread needs the mutex before it touches the job again, so `thread` is set by then.
        job->thread = std::thread([self = shared_from_this(), job] { self->run(job); });
        job->phase = Phase::running;
        ++running_;
      } catch (const std::system_error& error) {
        answer(*job, Outcome::infrastructure(std::string("sandbox: no thread for an evaluation: ") + error.what()));
      }
    }
  }

  void run(const std::shared_ptr<Job>& job) {
    std::optional<Outcome> outcome;
    std::exception_ptr thrown;
    try {
      outcome = job->engine->run(job->request);
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    --running_;
    if (job->phase == Phase::abandoned) {
      --stuck_;
    } else {
      job->phase = Phase::finished;
      job->outcome = std::move(outcome);
      job->thrown = std::move(thrown);
      job->event.raise();
    }
    start_waiting();
  }

  const std::shared_ptr<BlockingEngine> engine_;
  BlockingOptions options_;
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<Job>> queue_;
  std::size_t running_ = 0;
  std::size_t stuck_ = 0;
  bool closed_ = false;
};

namespace {

class BlockingEvaluation final : public Evaluation {
 public:
  BlockingEvaluation(std::shared_ptr<BlockingState> state, std::shared_ptr<Job> job)
      : state_(std::move(state)), job_(std::move(job)) {}
  ~BlockingEvaluation() override { state_->release(job_); }
  [[nodiscard]] int ready_fd() const noexcept override { return job_->event.fd(); }
  [[nodiscard]] std::optional<Outcome> take() override { return state_->take(*job_); }

 private:
  std::shared_ptr<BlockingState> state_;
  std::shared_ptr<Job> job_;
};

}  // namespace

BlockingEngine::~BlockingEngine() = default;
void BlockingEngine::warm() {}
void BlockingEngine::close() {}

BlockingBackend::BlockingBackend(std::shared_ptr<BlockingEngine> engine, BlockingOptions options)
    : state_(std::make_shared<BlockingState>(std::move(engine), options)) {}
BlockingBackend::~BlockingBackend() = default;

Capabilities BlockingBackend::capabilities() const { return state_->engine()->capabilities(); }

std::unique_ptr<Evaluation> BlockingBackend::evaluate(Request request) {
  return evaluate_on(state_->engine(), std::move(request));
}

std::unique_ptr<Evaluation> BlockingBackend::evaluate_on(std::shared_ptr<BlockingEngine> engine, Request request) {
  auto job = std::make_shared<Job>(std::move(engine), std::move(request));
  if (!job->event.valid()) {
    return ready(Outcome::infrastructure("sandbox: no descriptor left for an evaluation"));
  }
  state_->add(job);
  return std::make_unique<BlockingEvaluation>(state_, std::move(job));
}

void BlockingBackend::warm() { state_->engine()->warm(); }
void BlockingBackend::close() { state_->close(); }
BlockingStatistics BlockingBackend::statistics() const { return state_->statistics(); }

}  // namespace heddle::sandbox::spi

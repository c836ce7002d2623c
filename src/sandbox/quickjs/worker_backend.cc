#include <algorithm>
#include <mutex>
#include <utility>

#include "heddle/sandbox/quickjs/backend.h"
#include "heddle/sandbox/spi/pending.h"

namespace heddle::sandbox::quickjs {
namespace {

using SpiOutcome = spi::Outcome;

bool is_start_up(core::Errc code) {
  return code == core::Errc::start_up || code == core::Errc::confinement || code == core::Errc::untrusted_program;
}

SpiOutcome limit_of(LimitKind kind) {
  switch (kind) {
    case LimitKind::cpu:
      return SpiOutcome::limited(spi::LimitKind::cpu);
    case LimitKind::wall_clock:
      return SpiOutcome::limited(spi::LimitKind::wall_clock);
    case LimitKind::memory:
    case LimitKind::output:  // see RunFacts::output_exceeded
      return SpiOutcome::limited(spi::LimitKind::memory);
  }
  return {};
}

SpiOutcome with_explanation(SpiOutcome outcome, std::optional<Explanation> explanation) {
  if (!explanation) return outcome;
  outcome.applied = std::move(explanation->applied);
  outcome.denials.reserve(explanation->denied.size());
  for (Explanation::Denied& denied : explanation->denied) {
    outcome.denials.push_back({std::move(denied.syscall), std::move(denied.object), std::move(denied.rule)});
  }
  outcome.ended_by_denial = explanation->ended_by_denial;
  return outcome;
}

// Throws WorkerStartUpError: the interface's way to let an error keep its type (SBX-19).
SpiOutcome to_spi(Outcome outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::ok:
      return SpiOutcome::ok(std::move(outcome.value));
    case Outcome::Kind::threw: {
      SpiOutcome threw = SpiOutcome::threw(std::move(outcome.name), std::move(outcome.message));
      threw.line = outcome.line;
      threw.column = outcome.column;
      return threw;
    }
    case Outcome::Kind::limit:
      return limit_of(outcome.limit);
    case Outcome::Kind::input_too_large:
      return SpiOutcome::input_too_large();
    case Outcome::Kind::infrastructure:
      if (is_start_up(outcome.error.code)) throw WorkerStartUpError(std::move(outcome.error));
      return SpiOutcome::infrastructure(outcome.error.message());
    case Outcome::Kind::cancelled:
      return SpiOutcome::infrastructure("the run was cancelled");
  }
  return {};
}

class WorkerEvaluation final : public spi::Evaluation {
 public:
  WorkerEvaluation(Run run, std::stop_token stop, std::shared_ptr<RunFacts> facts)
      : fd_(run.fd()), run_(std::move(run)), stop_(std::move(stop)), facts_(std::move(facts)) {}
  [[nodiscard]] int ready_fd() const noexcept override { return fd_; }
  [[nodiscard]] std::optional<SpiOutcome> take() override {
    if (!run_) return std::nullopt;
    if (stop_.stop_requested()) {
      run_.reset();  // ends the worker's run
      return SpiOutcome::infrastructure("the run was stopped");
    }
    auto outcome = run_->poll();
    if (!outcome) return std::nullopt;
    if (facts_ != nullptr) {
      facts_->output_exceeded = outcome->kind == Outcome::Kind::limit && outcome->limit == LimitKind::output;
      facts_->elapsed = outcome->elapsed;
      facts_->explanation = outcome->explanation;
    }
    std::optional<Explanation> explanation = std::move(outcome->explanation);
    spi::Remarks remarks = std::move(outcome->remarks);
    SpiOutcome told = with_explanation(to_spi(*std::move(outcome)), std::move(explanation));
    told.remarks = std::move(remarks);
    return told;
  }

 private:
  const int fd_;
  std::optional<Run> run_;
  std::stop_token stop_;
  std::shared_ptr<RunFacts> facts_;
};

class WorkerBackend final : public Backend {
 public:
  WorkerBackend(std::unique_ptr<Pool> pool, WorkerBackendOptions options)
      : options_(std::move(options)), pool_(std::move(pool)) {}

  [[nodiscard]] spi::Capabilities capabilities() const override {
    spi::Capabilities capabilities;
    capabilities.language = "javascript";
    capabilities.network = spi::Network::none;
    capabilities.wall_clock = spi::WallClock::hard;
    capabilities.memory = true;
    capabilities.cpu = options_.cpu.count() > 0;
    capabilities.fresh_per_run = true;
    return capabilities;
  }

  [[nodiscard]] std::unique_ptr<spi::Evaluation> evaluate_with(spi::Request request, RunSettings settings,
                                                               std::shared_ptr<RunFacts> facts) override {
    const auto pool = pool_now();
    if (pool == nullptr) return spi::ready(SpiOutcome::infrastructure("sandbox: the backend is closed"));
    RunRequest run;
    run.script = std::move(request.script);
    run.input_json = std::move(request.input_json);
    run.limits.wall_clock = request.limits.wall_clock;
    run.limits.memory_bytes = request.limits.memory_bytes;
    run.limits.cpu = options_.cpu;
    run.explain = settings.explain || request.explain;
    // JSON text of the result lies in the run's memory before it is sent, so the memory never is what ends a run here.
    run.limits.output_bytes = settings.output_bytes != 0
                                  ? settings.output_bytes
                                  : std::min(request.limits.memory_bytes, options_.pool.max_transfer_bytes);
    auto started = pool->start(std::move(run));
    if (!started.ok()) {
      const std::string why = started.error().message();
      if (started.error().code == core::Errc::invalid_argument) throw std::invalid_argument(why);  // not to be retried
      return spi::ready(SpiOutcome::infrastructure(why));
    }
    return std::make_unique<WorkerEvaluation>(std::move(started).value(), std::move(request.stop), std::move(facts));
  }

  void warm() override {
    // Advice only: what fails here fails again, and is told, in the run that needs it.
    if (const auto pool = pool_now()) [[maybe_unused]]
      const auto warmed = pool->warm();
  }

  void close() override {
    std::shared_ptr<Pool> last;
    const std::lock_guard lock(mutex_);
    last.swap(pool_);
  }

 private:
  [[nodiscard]] std::shared_ptr<Pool> pool_now() const {
    const std::lock_guard lock(mutex_);
    return pool_;
  }

  const WorkerBackendOptions options_;
  mutable std::mutex mutex_;
  std::shared_ptr<Pool> pool_;
};

}  // namespace

WorkerStartUpError::WorkerStartUpError(core::Error error)
    : std::runtime_error(error.message()), error_(std::make_shared<const core::Error>(std::move(error))) {}

core::Result<std::unique_ptr<Backend>> make_worker_backend(WorkerBackendOptions options) {
  if (options.cpu.count() < 0) {
    return core::make_error(core::Errc::invalid_argument, "make a QuickJS backend", "a CPU time below zero");
  }
  if (options.transfers == Transfers::whole_memory) {
    options.pool.max_transfer_bytes = std::max(options.pool.max_transfer_bytes, options.pool.max_memory_bytes);
  }
  HEDDLE_ASSIGN(auto pool, Pool::create(options.pool));
  return std::unique_ptr<Backend>(std::make_unique<WorkerBackend>(std::move(pool), std::move(options)));
}

std::chrono::milliseconds backend_grace(const PoolOptions& options) {
  // A run asks at most so many idle workers, one after another, whether they live (RunState::try_another_worker).
  const auto asked = static_cast<std::int64_t>(options.workers) + 3;
  return std::max<std::chrono::milliseconds>(
      std::chrono::minutes(1),
      options.cold_start + options.liveness_wait * asked + options.soft_grace + options.hard_grace);
}

}  // namespace heddle::sandbox::quickjs

#include "heddle/cli/effect_evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "heddle/sandbox/effect/sandbox_effect.h"
#include "heddle/sandbox/quickjs/backend.h"

namespace heddle::cli {
namespace {

namespace quickjs = sandbox::quickjs;
using sandbox::SandboxEffect;

// What the in-process engine may take beyond the wall clock.
constexpr std::chrono::seconds kInProcessGrace{5};

// The effect hashes what it reads, so the bytes are kept beside the address that was made of them.
class OneScript final : public sandbox::ScriptReader {
 public:
  explicit OneScript(std::string script) : script_(std::move(script)), address_(effect::ContentAddress::of(script_)) {}
  [[nodiscard]] const std::string& script() const { return script_; }
  [[nodiscard]] const effect::ContentAddress& address() const { return address_; }
  [[nodiscard]] core::Result<std::string> read(const effect::ContentAddress& address, std::size_t max_bytes,
                                               const Wait& /*wait*/) override {
    if (script_.size() <= max_bytes) return script_;
    return core::make_error(core::Errc::too_large, "read a script", address.text());
  }

 private:
  const std::string script_;
  const effect::ContentAddress address_;
};

// The backend of one run: the shared one, told and asked what the interface has no words for.
class OneRunBackend final : public sandbox::spi::SandboxBackend {
 public:
  OneRunBackend(std::shared_ptr<quickjs::Backend> shared, quickjs::RunSettings settings,
                std::shared_ptr<quickjs::RunFacts> facts)
      : shared_(std::move(shared)), settings_(settings), facts_(std::move(facts)) {}
  [[nodiscard]] sandbox::spi::Capabilities capabilities() const override { return shared_->capabilities(); }
  [[nodiscard]] std::unique_ptr<sandbox::spi::Evaluation> evaluate(sandbox::spi::Request request) override {
    return shared_->evaluate_with(std::move(request), settings_, facts_);
  }

 private:
  const std::shared_ptr<quickjs::Backend> shared_;
  const quickjs::RunSettings settings_;
  const std::shared_ptr<quickjs::RunFacts> facts_;
};

quickjs::Explanation in_process_explanation(const quickjs::RunLimits& limits) {
  quickjs::Explanation explanation;
  explanation.applied = {
      "engine in this process: no boundary of the kernel's, and a fault of the engine ends the command",
      "system calls: not filtered, so none is refused or reported",
      fmt::format("memory: {} bytes, held by the engine", limits.memory_bytes),
      fmt::format("wall clock: {} ms, soft: held by the engine, which looks at it in each round of each loop",
                  limits.wall_clock.count()),
      "CPU time: not limited",
  };
  return explanation;
}

class EffectEvaluation final : public Evaluation {
 public:
  EffectEvaluation(std::unique_ptr<sandbox::SandboxRun> run, std::shared_ptr<quickjs::RunFacts> facts,
                   std::optional<quickjs::Explanation> explanation, EngineKind engine)
      : run_(std::move(run)),
        deadline_(run_->deadline()),
        facts_(std::move(facts)),
        explanation_(std::move(explanation)),
        engine_(engine) {}

  [[nodiscard]] int fd() const override { return run_->ready_fd(); }
  [[nodiscard]] core::Deadline deadline() const override { return deadline_; }
  [[nodiscard]] std::optional<RunEnd> poll() override {
    auto reply = run_->take();
    if (!reply) return std::nullopt;
    RunEnd end{*std::move(reply), {}, run_->remarks()};
    if (engine_ == EngineKind::in_process && end.reply.is_untyped()) {
      // The run may go on, and with it the facts belong to its thread.
      if (deadline_.passed()) {
        effect::UntypedFailure failure = std::move(end.reply).untyped();
        failure.message += "; --engine worker ends a script that does not stop";
        end.reply = std::move(failure);
      }
    } else {
      end.facts = std::move(*facts_);
    }
    if (explanation_) end.facts.explanation = std::move(explanation_);
    return end;
  }

 private:
  const std::unique_ptr<sandbox::SandboxRun> run_;
  const core::Deadline deadline_;
  const std::shared_ptr<quickjs::RunFacts> facts_;
  std::optional<quickjs::Explanation> explanation_;
  const EngineKind engine_;
};

class EffectEvaluator final : public Evaluator {
 public:
  EffectEvaluator(std::shared_ptr<quickjs::Backend> backend, sandbox::SandboxEffectOptions options, EngineKind engine)
      : backend_(std::move(backend)), options_(options), engine_(engine) {}
  ~EffectEvaluator() override { backend_->close(); }
  EffectEvaluator(const EffectEvaluator&) = delete;
  EffectEvaluator& operator=(const EffectEvaluator&) = delete;

  core::Result<std::unique_ptr<Evaluation>> start(quickjs::RunRequest request) override {
    // Runs of one script follow each other with --each.
    if (script_ == nullptr || script_->script() != request.script) {
      script_ = std::make_shared<OneScript>(std::move(request.script));
    }
    auto facts = std::make_shared<quickjs::RunFacts>();
    const bool in_process = engine_ == EngineKind::in_process;
    const quickjs::RunSettings settings{request.limits.output_bytes, request.explain && !in_process};
    sandbox::SandboxEffectOptions options = options_;
    options.wall_clock = request.limits.wall_clock;
    options.memory_bytes = request.limits.memory_bytes;
    options.output_bytes = request.limits.output_bytes;
    // An effect a run: it is the backend's settings that differ, and a backend is an effect's for life.
    HEDDLE_ASSIGN(const auto effect,
                  SandboxEffect::create(script_, std::make_shared<OneRunBackend>(backend_, settings, facts), options));
    const sandbox::SandboxEvalInput input{script_->address(), std::move(request.input_json), std::nullopt, {}};
    std::optional<quickjs::Explanation> explanation;
    if (request.explain && in_process) explanation = in_process_explanation(request.limits);
    return std::unique_ptr<Evaluation>(
        std::make_unique<EffectEvaluation>(effect->start(input), std::move(facts), std::move(explanation), engine_));
  }

 private:
  const std::shared_ptr<quickjs::Backend> backend_;
  const sandbox::SandboxEffectOptions options_;
  const EngineKind engine_;
  std::shared_ptr<OneScript> script_;
};

core::Result<std::shared_ptr<quickjs::Backend>> make_backend(const EvaluatorNeeds& needs,
                                                             std::chrono::milliseconds& grace) {
  if (needs.engine == EngineKind::in_process) {
    if (needs.cpu.count() > 0) {
      return core::make_error(core::Errc::invalid_argument, "use the in-process engine", "it cannot limit CPU time");
    }
    grace = kInProcessGrace;
    return std::shared_ptr<quickjs::Backend>(quickjs::make_in_process_backend({needs.workers}));
  }
  const std::string folder = helper_folder();
  quickjs::WorkerBackendOptions options;
  options.pool.supervisor_path = folder + "/heddle-supervisor";
  options.pool.worker_path = folder + "/heddle-sandbox-worker";
  options.pool.workers = needs.workers;
  options.pool.max_memory_bytes = needs.max_memory_bytes;
  options.pool.max_transfer_bytes = std::max(needs.max_script_bytes + needs.max_input_bytes, needs.max_output_bytes);
  options.transfers = quickjs::Transfers::as_the_pool_says;
  options.cpu = needs.cpu;
  grace = quickjs::backend_grace(options.pool);
  HEDDLE_ASSIGN(auto backend, quickjs::make_worker_backend(std::move(options)));
  return std::shared_ptr<quickjs::Backend>(std::move(backend));
}

}  // namespace

core::Result<std::unique_ptr<Evaluator>> make_effect_evaluator(const EvaluatorNeeds& needs) {
  sandbox::SandboxEffectOptions options;
  options.input_bytes = needs.max_input_bytes;
  options.script_bytes = needs.max_script_bytes;
  options.trust_backend_to_return = true;
  HEDDLE_ASSIGN(auto backend, make_backend(needs, options.backend_grace));
  return std::unique_ptr<Evaluator>(std::make_unique<EffectEvaluator>(std::move(backend), options, needs.engine));
}

}  // namespace heddle::cli

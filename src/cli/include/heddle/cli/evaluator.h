// Evaluator: where the command gets its evaluations from. SandboxEffect is behind it in the program; tests put
// something there that needs no jail.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "heddle/core/clock.h"
#include "heddle/core/result.h"
#include "heddle/sandbox/effect/sandbox_effect.h"
#include "heddle/sandbox/quickjs/backend.h"
#include "heddle/sandbox/quickjs/run.h"

namespace heddle::cli {

enum class EngineKind {
  worker,      ///< a pool of jailed processes
  in_process,  ///< the engine in this process: no boundary of the kernel's, a soft clock, no CPU time, no kill
};

/// How a run ended: what the effect says, and what is known of it besides.
struct RunEnd {
  sandbox::SandboxEffect::Reply reply;
  sandbox::quickjs::RunFacts facts;
  sandbox::spi::Remarks remarks = {};
};

/// One evaluation that has been started. Destroying it before its end gives up. One thread.
class Evaluation {
 public:
  Evaluation() = default;
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;
  virtual ~Evaluation() = default;

  /// Readable when poll() has something to do; -1 when there is nothing to wait for. Owned by the evaluation.
  [[nodiscard]] virtual int fd() const = 0;
  /// When poll() has something to do though nothing became readable.
  [[nodiscard]] virtual core::Deadline deadline() const { return core::Deadline::never(); }
  /// Does what is due without blocking; the end once there is one, exactly once. To be called right after the start.
  [[nodiscard]] virtual std::optional<RunEnd> poll() = 0;
};

class Evaluator {
 public:
  Evaluator() = default;
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;
  virtual ~Evaluator() = default;

  [[nodiscard]] virtual core::Result<std::unique_ptr<Evaluation>> start(sandbox::quickjs::RunRequest request) = 0;
};

/// What the runs of one command can ask for together; whoever evaluates may refuse more.
struct EvaluatorNeeds {
  EngineKind engine = EngineKind::worker;
  std::size_t workers = 1;             ///< runs at a time
  std::chrono::milliseconds cpu{0};    ///< of RunLimits::cpu, the same for all runs
  std::uint64_t max_memory_bytes = 0;  ///< of RunLimits::memory_bytes
  std::uint64_t max_script_bytes = 0;  ///< of RunRequest::script
  std::uint64_t max_input_bytes = 0;   ///< of RunRequest::input_json, as it came and in its compact form
  std::uint64_t max_output_bytes = 0;  ///< of RunLimits::output_bytes
};

/// Called at most once a command, when its arguments and its script are known to be good.
using EvaluatorFactory = std::function<core::Result<std::unique_ptr<Evaluator>>(const EvaluatorNeeds& needs)>;

}  // namespace heddle::cli

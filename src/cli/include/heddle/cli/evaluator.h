// Evaluator: where the command gets its evaluations from. The worker pool is behind it in the program; tests put
// something there that needs no jail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "heddle/core/result.h"
#include "heddle/sandbox/quickjs/run.h"

namespace heddle::cli {

/// One evaluation that has been started. Destroying it before its outcome ends it. One thread.
class Evaluation {
 public:
  Evaluation() = default;
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;
  virtual ~Evaluation() = default;

  /// Readable when poll() has something to do; the same for the life of the evaluation, which owns it.
  [[nodiscard]] virtual int fd() const = 0;
  /// Does what is due without blocking; the outcome once there is one, exactly once.
  [[nodiscard]] virtual std::optional<sandbox::quickjs::Outcome> poll() = 0;
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
  std::size_t workers = 1;               ///< runs at a time
  std::uint64_t max_memory_bytes = 0;    ///< of RunLimits::memory_bytes
  std::uint64_t max_transfer_bytes = 0;  ///< of script and input together, and of RunLimits::output_bytes
};

/// Called at most once a command, when its arguments and its script are known to be good.
using EvaluatorFactory = std::function<core::Result<std::unique_ptr<Evaluator>>(const EvaluatorNeeds& needs)>;

}  // namespace heddle::cli

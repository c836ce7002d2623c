// QuickJS as a sandbox backend, in its two modes: a pool of jailed worker processes, or the engine inside this process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "heddle/core/result.h"
#include "heddle/sandbox/quickjs/pool.h"
#include "heddle/sandbox/spi/backend.h"

namespace heddle::sandbox::quickjs {

/// No worker could be had. Thrown out of Evaluation::take(), so that it arrives with its type at the caller of the
/// effect (as the failure's cause), and a wrong path is told apart from a run that went wrong.
class WorkerStartUpError final : public std::runtime_error {
 public:
  explicit WorkerStartUpError(core::Error error);
  [[nodiscard]] const core::Error& error() const noexcept { return *error_; }

 private:
  std::shared_ptr<const core::Error> error_;  // copies of an exception must not throw
};

/// What a run is told, and tells, beyond what the interface for backends has words for. For whoever wires the objects
/// and wants more of a run than its reply.
struct RunSettings {
  std::uint64_t output_bytes = 0;  ///< a longer result ends the run as it is made; 0: what its memory can hold
  bool explain = false;            ///< costs two questions to the supervisor; workers only
};

/// Of a run whose outcome has been taken.
struct RunFacts {
  /// It was ended by RunSettings::output_bytes. The interface has no such limit, since the ceiling is the effect's: the
  /// outcome says `memory`, in which the result was made.
  bool output_exceeded = false;
  std::chrono::microseconds elapsed{0};    ///< from the moment the engine had the script
  std::optional<Explanation> explanation;  ///< of a run that had a worker, when RunSettings::explain
};

/// Both modes. Thread-safe.
class Backend : public spi::SandboxBackend {
 public:
  [[nodiscard]] std::unique_ptr<spi::Evaluation> evaluate(spi::Request request) override {
    return evaluate_with(std::move(request), {}, nullptr);
  }
  /// `facts`, which may be null, are filled in before the outcome can be taken, and must be left alone until then.
  [[nodiscard]] virtual std::unique_ptr<spi::Evaluation> evaluate_with(spi::Request request, RunSettings settings,
                                                                       std::shared_ptr<RunFacts> facts) = 0;
};

enum class Transfers {
  whole_memory,     ///< the pool's `max_memory_bytes` and `max_transfer_bytes` are raised to each other's size
  as_the_pool_says  ///< for runs that all have a RunSettings::output_bytes within `max_transfer_bytes`
};

struct WorkerBackendOptions {
  PoolOptions pool;
  /// A result is bounded by the memory that it was made in, since its own ceiling is the effect's.
  Transfers transfers = Transfers::whole_memory;
  std::chrono::milliseconds cpu{
      0};  ///< CPU time a run may use; 0: the wall clock alone bounds it, and none is declared
};

/// network none, wall clock hard, memory, fresh per run; cpu where a budget is given.
[[nodiscard]] core::Result<std::unique_ptr<Backend>> make_worker_backend(WorkerBackendOptions options);

/// What the effect around a worker backend must allow beyond the script's clock: cold start, liveness wait and hard
/// kill, and never less than a minute.
[[nodiscard]] std::chrono::milliseconds backend_grace(const PoolOptions& options);

struct InProcessOptions {
  std::size_t max_threads = 4;  ///< runs at once; each has a thread and an engine of its own
};

/// network none, wall clock soft, memory, fresh per run. Installs no signal handler and has no kill: at its deadline or
/// stop a run ends in the next round of the engine's innermost loop, in built-ins too, and its thread is free. A fault
/// in the engine's own code ends this process. For scripts that nobody trusts take the workers.
[[nodiscard]] std::unique_ptr<Backend> make_in_process_backend(InProcessOptions options = {});

}  // namespace heddle::sandbox::quickjs

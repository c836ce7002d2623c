// QuickJS as a sandbox backend, in its two modes: a pool of jailed worker processes, or the engine inside this process.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>

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

struct WorkerBackendOptions {
  /// `max_memory_bytes` and `max_transfer_bytes` are raised to each other's size: a result is bounded by the memory
  /// that it was made in, and its own ceiling is the effect's.
  PoolOptions pool;
  std::chrono::milliseconds cpu{
      0};  ///< CPU time a run may use; 0: the wall clock alone bounds it, and none is declared
};

/// network none, wall clock hard, memory, fresh per run; cpu where a budget is given.
[[nodiscard]] core::Result<std::unique_ptr<spi::SandboxBackend>> make_worker_backend(WorkerBackendOptions options);

/// What the effect around a worker backend must allow beyond the script's clock: cold start, liveness wait and hard
/// kill, and never less than a minute.
[[nodiscard]] std::chrono::milliseconds backend_grace(const PoolOptions& options);

struct InProcessOptions {
  std::size_t max_threads = 4;  ///< runs at once; each has a thread and an engine of its own
};

/// network none, wall clock soft, memory, fresh per run. Installs no signal handler and has no kill: a script inside a
/// built-in that never polls keeps its thread until it ends, and a fault in the engine's own code ends this process.
/// For scripts that nobody trusts take the workers.
[[nodiscard]] std::unique_ptr<spi::SandboxBackend> make_in_process_backend(InProcessOptions options = {});

}  // namespace heddle::sandbox::quickjs

// Pool: jailed worker processes with the engine in them, kept warm and replaced as they die.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "heddle/core/result.h"
#include "heddle/guest/pool_options.h"
#include "heddle/sandbox/quickjs/run.h"

namespace heddle::guest {
class Host;
class Pool;
}  // namespace heddle::guest

namespace heddle::sandbox::quickjs {

/// The engine's own memory image needs this much of a run's memory limit.
inline constexpr std::uint64_t kMinimumMemoryBytes = std::uint64_t{2} << 20;
/// What a worker process needs beside a run's memory and transfers; part of its RLIMIT_DATA.
inline constexpr std::uint64_t kWorkerOverheadBytes = std::uint64_t{32} << 20;

struct PoolOptions {
  std::shared_ptr<guest::Host> host;  ///< whose supervisor serves it; null: one of its own, from supervisor_path
  std::string supervisor_path;        ///< heddle-supervisor
  std::string worker_path;            ///< heddle-sandbox-worker
  std::size_t workers = 1;            ///< at most this many processes; further runs wait for one
  std::uint64_t max_memory_bytes = std::uint64_t{64} << 20;   ///< ceiling of RunLimits::memory_bytes
  std::uint64_t max_transfer_bytes = std::uint64_t{4} << 20;  ///< ceiling of script + input, and of output_bytes
  std::chrono::milliseconds cold_start{10'000};               ///< from spawn to ready
  std::chrono::milliseconds liveness_after{5'000};  ///< a worker idle for longer answers a ping before it gets a run …
  std::chrono::milliseconds liveness_wait{2'000};   ///< … within this time, or is replaced
  std::chrono::milliseconds soft_grace{100};        ///< from the soft stop to the jump out
  std::chrono::milliseconds hard_grace{1'000};      ///< from the jump out to SIGKILL
  std::size_t runs_per_worker = 10'000;             ///< then it is replaced by a new process
  std::chrono::milliseconds idle_expiry{0};         ///< a worker idle for longer is ended; 0: none is
};

using guest::PoolStatistics;

/// Thread-safe. Destroying it ends all workers; runs still held then give Errc::closed. A supervisor that dies takes
/// the runs under it along and is replaced at the next spawn (JAIL-21).
class Pool {
 public:
  /// Starts the supervisor; workers are spawned as runs ask for them, or by warm().
  [[nodiscard]] static core::Result<std::unique_ptr<Pool>> create(PoolOptions options);
  ~Pool();

  /// Spawns workers up to the maximum without waiting for them. The first failure is returned.
  [[nodiscard]] core::Result<void> warm();

  /// Starts a run on an idle worker, a new one, or the first that becomes free. Errc::invalid_argument for limits that
  /// cannot be, or a script that is not UTF-8; what fails later is in the outcome.
  [[nodiscard]] core::Result<Run> start(RunRequest request);

  [[nodiscard]] PoolStatistics statistics() const;

 private:
  Pool(std::shared_ptr<guest::Pool> workers, PoolOptions options);
  const std::shared_ptr<guest::Pool> workers_;
  const PoolOptions options_;
};

}  // namespace heddle::sandbox::quickjs

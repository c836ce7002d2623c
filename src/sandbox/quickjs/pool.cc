#include "heddle/sandbox/quickjs/pool.h"

#include <sys/random.h>

#include "heddle/core/text.h"
#include "heddle/guest/pool.h"
#include "run_state.h"

namespace heddle::sandbox::quickjs {
namespace {

using core::Errc;

core::Error refuse(std::string_view what) { return core::make_error(Errc::invalid_argument, "start a run", what); }

core::Result<void> check(const RunRequest& request, const PoolOptions& options) {
  const RunLimits& limits = request.limits;
  if (limits.wall_clock.count() <= 0) return refuse("a wall clock of zero or less");
  if (limits.cpu.count() < 0) return refuse("a CPU time below zero");
  if (limits.memory_bytes < kMinimumMemoryBytes) {
    return refuse("a memory limit below the " + std::to_string(kMinimumMemoryBytes) + " bytes that the engine needs");
  }
  if (limits.memory_bytes > options.max_memory_bytes) {
    return refuse("a memory limit over the pool's " + std::to_string(options.max_memory_bytes) + " bytes");
  }
  if (limits.output_bytes == 0) return refuse("an output limit of zero");
  if (limits.output_bytes > options.max_transfer_bytes)
    return refuse("an output limit over the pool's max_transfer_bytes");
  if (request.script.size() + request.input_json.size() > options.max_transfer_bytes) {
    return refuse("script and input over the pool's max_transfer_bytes");
  }
  const std::size_t bad = core::invalid_utf8_at(request.script);
  if (bad != std::string_view::npos) return refuse("the script is not UTF-8 at byte " + std::to_string(bad));
  return {};
}

// The engine seeds each run from the kernel, and a worker that cannot has no way to say why it ends.
core::Result<void> check_random_bytes() {
  std::uint8_t byte = 0;
  if (::getrandom(&byte, sizeof byte, 0) != static_cast<ssize_t>(sizeof byte)) {
    return core::system_error("getrandom",
                              "scripts need the kernel's random bytes: allow the call in the outer sandbox");
  }
  return {};
}

core::Result<jail::Policy> worker_policy(const PoolOptions& options) {
  jail::Limits limits;
  limits.data_bytes = options.max_memory_bytes + 2 * options.max_transfer_bytes + kWorkerOverheadBytes;
  // Behind the limits of the engine and of the process, for what those do not count: kernel memory, page cache, stack.
  limits.group.memory_bytes =
      jail::GroupLimit{limits.data_bytes + limits.stack_bytes + kWorkerOverheadBytes, jail::Need::if_available};
  limits.group.swap_bytes = jail::GroupLimit{0, jail::Need::if_available};
  return jail::Policy::script(limits);
}

std::shared_ptr<guest::Host> host_of(const PoolOptions& options) {
  if (options.host != nullptr) return options.host;
  jail::SupervisorOptions supervisor;
  supervisor.program = options.supervisor_path;
  return std::make_shared<guest::Host>(std::move(supervisor));
}

}  // namespace

Pool::Pool(std::shared_ptr<guest::Pool> workers, PoolOptions options)
    : workers_(std::move(workers)), options_(std::move(options)) {}

Pool::~Pool() { workers_->close(); }

core::Result<std::unique_ptr<Pool>> Pool::create(PoolOptions options) {
  HEDDLE_TRY(check_random_bytes());
  HEDDLE_ASSIGN(jail::Program program, jail::open_program(options.worker_path));
  std::shared_ptr<guest::Host> host = host_of(options);
  HEDDLE_TRY(host->start());
  HEDDLE_ASSIGN(jail::Policy policy, worker_policy(options));
  guest::PoolOptions workers;
  workers.size = options.workers;
  workers.cold_start = options.cold_start;
  workers.liveness_after = options.liveness_after;
  workers.liveness_wait = options.liveness_wait;
  workers.stop_graces = {options.soft_grace, options.hard_grace};
  workers.calls_per_guest = options.runs_per_worker;
  workers.idle_expiry = options.idle_expiry;
  HEDDLE_ASSIGN(auto pool,
                guest::Pool::create(std::move(host), std::move(policy), std::move(program), std::move(workers)));
  return std::unique_ptr<Pool>(new Pool(std::move(pool), std::move(options)));
}

core::Result<void> Pool::warm() { return workers_->warm(); }

core::Result<Run> Pool::start(RunRequest request) {
  HEDDLE_TRY(check(request, options_));
  HEDDLE_ASSIGN(guest::CallDescriptors descriptors, workers_->take_descriptors());
  return Run(std::make_unique<RunState>(workers_, std::move(request), std::move(descriptors)));
}

PoolStatistics Pool::statistics() const { return workers_->statistics(); }

}  // namespace heddle::sandbox::quickjs

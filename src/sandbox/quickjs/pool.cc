#include "heddle/sandbox/quickjs/pool.h"

#include "heddle/core/text.h"
#include "pool_state.h"
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

}  // namespace

Pool::Pool(std::shared_ptr<PoolState> state) : state_(std::move(state)) {}

Pool::~Pool() { state_->close(); }

core::Result<std::unique_ptr<Pool>> Pool::create(PoolOptions options) {
  if (options.workers == 0 || options.runs_per_worker == 0) {
    return core::make_error(Errc::invalid_argument, "create a pool", "zero workers or zero runs a worker");
  }
  HEDDLE_ASSIGN(std::shared_ptr<PoolState> state, PoolState::create(std::move(options)));
  return std::unique_ptr<Pool>(new Pool(std::move(state)));
}

core::Result<void> Pool::warm() { return state_->warm(); }

core::Result<Run> Pool::start(RunRequest request) {
  HEDDLE_TRY(check(request, state_->options()));
  HEDDLE_ASSIGN(RunDescriptors descriptors, state_->take_descriptors());
  return Run(std::make_unique<RunState>(state_, std::move(request), std::move(descriptors)));
}

PoolStatistics Pool::statistics() const { return state_->statistics(); }

}  // namespace heddle::sandbox::quickjs

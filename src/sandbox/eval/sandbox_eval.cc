#include "heddle/sandbox/eval/sandbox_eval.h"

#include <algorithm>
#include <utility>

#include "heddle/sandbox/eval/helpers.h"

namespace heddle::sandbox {
namespace {

core::Error wrong(std::string_view why) {
  return core::make_error(core::Errc::invalid_argument, "make the sandbox effect", why);
}

// A call only lowers the effect's limits, so what fits here fits in every call (SBX-29).
core::Result<void> check_limits(const SandboxEvalOptions& options) {
  const quickjs::PoolOptions& pool = options.workers.pool;
  const auto bytes = [](std::uint64_t count) { return std::to_string(count) + " bytes"; };
  if (options.effect.memory_bytes > pool.max_memory_bytes) {
    return wrong("effect.memory_bytes, " + bytes(options.effect.memory_bytes) +
                 ", is above workers.pool.max_memory_bytes, " + bytes(pool.max_memory_bytes) + "; raise the pool's");
  }
  if (options.effect.memory_bytes < quickjs::kMinimumMemoryBytes) {
    return wrong("effect.memory_bytes is below the " + bytes(quickjs::kMinimumMemoryBytes) + " that the engine needs");
  }
  const std::uint64_t transfer = options.workers.transfers == quickjs::Transfers::whole_memory
                                     ? std::max(pool.max_transfer_bytes, pool.max_memory_bytes)
                                     : pool.max_transfer_bytes;
  if (options.effect.script_bytes > transfer || options.effect.input_bytes > transfer - options.effect.script_bytes) {
    return wrong("effect.script_bytes and input_bytes are together above workers.pool.max_transfer_bytes, " +
                 bytes(transfer) + "; raise the pool's");
  }
  return {};
}

}  // namespace

core::Result<std::unique_ptr<SandboxEffect>> make_sandbox_eval(std::shared_ptr<ScriptReader> scripts,
                                                               SandboxEvalOptions options) {
  HEDDLE_TRY(check_limits(options));
  quickjs::PoolOptions& pool = options.workers.pool;
  if (pool.supervisor_path.empty()) pool.supervisor_path = helper_folder() + "/heddle-supervisor";
  if (pool.worker_path.empty()) pool.worker_path = helper_folder() + "/heddle-sandbox-worker";
  options.effect.backend_grace = std::max(options.effect.backend_grace, quickjs::backend_grace(pool));
  options.effect.trust_backend_to_return = true;  // its calls never wait
  HEDDLE_ASSIGN(auto backend, quickjs::make_worker_backend(std::move(options.workers)));
  HEDDLE_ASSIGN(auto effect, SandboxEffect::create(std::move(scripts), std::move(backend), options.effect));
  if (options.start == Start::warm) effect->warm();
  return effect;
}

core::Result<void> register_sandbox_eval(effect::EffectRegistrar& registrar, std::shared_ptr<ScriptReader> scripts,
                                         SandboxEvalOptions options) {
  HEDDLE_ASSIGN(auto effect, make_sandbox_eval(std::move(scripts), std::move(options)));
  return registrar.add(std::move(effect));
}

}  // namespace heddle::sandbox

#include "heddle/sandbox/eval/sandbox_eval.h"

#include <algorithm>
#include <utility>

namespace heddle::sandbox {

core::Result<std::unique_ptr<SandboxEffect>> make_sandbox_eval(std::shared_ptr<ScriptReader> scripts,
                                                               SandboxEvalOptions options) {
  options.effect.backend_grace = std::max(options.effect.backend_grace, quickjs::backend_grace(options.workers.pool));
  options.effect.trust_backend_to_return = true;  // its calls never wait
  HEDDLE_ASSIGN(auto backend, quickjs::make_worker_backend(std::move(options.workers)));
  return SandboxEffect::create(std::move(scripts), std::move(backend), options.effect);
}

core::Result<void> register_sandbox_eval(effect::EffectRegistrar& registrar, std::shared_ptr<ScriptReader> scripts,
                                         SandboxEvalOptions options) {
  HEDDLE_ASSIGN(auto effect, make_sandbox_eval(std::move(scripts), std::move(options)));
  return registrar.add(std::move(effect));
}

}  // namespace heddle::sandbox

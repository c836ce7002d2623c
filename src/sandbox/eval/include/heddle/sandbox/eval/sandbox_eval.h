// The ready-made sandbox: SandboxEffect around the QuickJS workers, and one call that registers it with a runtime.
#pragma once

#include <chrono>
#include <memory>

#include "heddle/core/result.h"
#include "heddle/effect/core/effect.h"
#include "heddle/sandbox/effect/sandbox_effect.h"
#include "heddle/sandbox/quickjs/backend.h"

namespace heddle::sandbox {

struct SandboxEvalOptions {
  quickjs::WorkerBackendOptions workers;  ///< the paths of supervisor and worker must be given
  SandboxEffectOptions effect;            ///< `backend_grace` is raised to what the pool may need
};

/// Errors of the pool's start and of SandboxEffect::create.
[[nodiscard]] core::Result<std::unique_ptr<SandboxEffect>> make_sandbox_eval(std::shared_ptr<ScriptReader> scripts,
                                                                             SandboxEvalOptions options);

/// Makes the effect and adds it, as "sandboxEval".
[[nodiscard]] core::Result<void> register_sandbox_eval(effect::EffectRegistrar& registrar,
                                                       std::shared_ptr<ScriptReader> scripts,
                                                       SandboxEvalOptions options);

}  // namespace heddle::sandbox

// The ready-made sandbox: SandboxEffect around the QuickJS workers, and one call that registers it with a runtime.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "heddle/core/result.h"
#include "heddle/effect/core/effect.h"
#include "heddle/sandbox/effect/sandbox_effect.h"
#include "heddle/sandbox/quickjs/backend.h"

namespace heddle::sandbox {

enum class Start : std::uint8_t {
  warm,  ///< the workers are started at once
  cold,  ///< the runs that need them start them
};

struct SandboxEvalOptions {
  quickjs::WorkerBackendOptions workers;  ///< paths that are not given are found (helpers.h)
  SandboxEffectOptions effect;            ///< `backend_grace` is raised to what the pool may need
  Start start = Start::warm;
};

/// Errors of the pool's start and of SandboxEffect::create; Errc::invalid_argument for limits that the pool cannot
/// keep.
[[nodiscard]] core::Result<std::unique_ptr<SandboxEffect>> make_sandbox_eval(std::shared_ptr<ScriptReader> scripts,
                                                                             SandboxEvalOptions options);

/// Makes the effect and adds it, as "sandboxEval".
[[nodiscard]] core::Result<void> register_sandbox_eval(effect::EffectRegistrar& registrar,
                                                       std::shared_ptr<ScriptReader> scripts,
                                                       SandboxEvalOptions options);

}  // namespace heddle::sandbox

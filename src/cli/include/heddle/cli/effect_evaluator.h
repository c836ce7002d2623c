// The evaluator of the program `heddle`: SandboxEffect around QuickJS, in the worker pool with the helper programs that
// belong to this executable, or in this process.
#pragma once

#include "heddle/cli/evaluator.h"
#include "heddle/sandbox/eval/helpers.h"

namespace heddle::cli {

using sandbox::helper_folder;

/// An error names the helper program or the step that it failed at.
[[nodiscard]] core::Result<std::unique_ptr<Evaluator>> make_effect_evaluator(const EvaluatorNeeds& needs);

}  // namespace heddle::cli

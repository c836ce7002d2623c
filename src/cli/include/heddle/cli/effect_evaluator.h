// The evaluator of the program `heddle`: SandboxEffect around QuickJS, in the worker pool with the helper programs that
// belong to this executable, or in this process.
#pragma once

#include <string>

#include "heddle/cli/evaluator.h"

namespace heddle::cli {

/// The folder of the helper programs: libexec/heddle beside the folder of the running executable where there is one,
/// else where this build is installed to.
[[nodiscard]] std::string helper_folder();

/// An error names the helper program or the step that it failed at.
[[nodiscard]] core::Result<std::unique_ptr<Evaluator>> make_effect_evaluator(const EvaluatorNeeds& needs);

}  // namespace heddle::cli

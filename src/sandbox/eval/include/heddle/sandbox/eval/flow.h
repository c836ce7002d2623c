// A flow asks for the run of a script, without JSON by hand.
#pragma once

#include "heddle/effect/runtime/flow.h"
#include "heddle/sandbox/effect/channels.h"
#include "heddle/sandbox/effect/eval_input.h"

namespace heddle::sandbox {

/// As Flow::ask() of "sandboxEval". from_typed() (channels.h) reads a typed failure. An input that is not JSON, or is
/// nested too deeply to be carried, is a typed failure here already, on its channel: a replay gives the same.
[[nodiscard]] effect::Reply<std::string> sandbox_eval(effect::Flow& flow, const SandboxEvalInput& input,
                                                      const effect::AskOptions& options = {});

}  // namespace heddle::sandbox

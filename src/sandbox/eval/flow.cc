#include "heddle/sandbox/eval/flow.h"

#include "heddle/core/json.h"

namespace heddle::sandbox {

effect::Reply<std::string> sandbox_eval(effect::Flow& flow, const SandboxEvalInput& input,
                                        const effect::AskOptions& options) {
  if (const auto fault = core::check_json(input.input_json, core::kMaxJsonDepth)) {
    SandboxFailure failure;
    failure.channel =
        fault->kind == core::JsonFault::Kind::too_deep ? Channel::input_too_large : Channel::input_not_serializable;
    failure.message = "the input is not JSON: " + fault->message;
    if (failure.channel == Channel::input_too_large) failure.message = "the input is nested too deeply";
    return to_typed(failure);
  }
  return flow.ask("sandboxEval", input.to_json(), options);
}

}  // namespace heddle::sandbox

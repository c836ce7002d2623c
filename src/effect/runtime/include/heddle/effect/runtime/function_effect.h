// An effect out of a function: for what an application itself does.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/effect/core/effect.h"

namespace heddle::effect {

struct FunctionEffect {
  std::string kind;
  Idempotency idempotency = Idempotency::not_idempotent;
  std::vector<std::string> channels;  ///< of its typed failures
  std::string input_schema;
  std::string output_schema;
  /// Thread-safe; as Effect::execute.
  std::function<Reply<std::string>(std::string_view input_json, const Call& call)> run;
};

[[nodiscard]] std::shared_ptr<const Effect> make_effect(FunctionEffect function);

}  // namespace heddle::effect

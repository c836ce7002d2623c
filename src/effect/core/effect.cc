#include "heddle/effect/core/effect.h"

#include "heddle/core/text.h"
#include "heddle/effect/core/executor.h"

namespace heddle::effect {

Effect::~Effect() = default;
std::string_view Effect::input_schema() const { return {}; }
std::string_view Effect::output_schema() const { return {}; }
Annotations Effect::annotations(std::string_view /*input_json*/) const { return {}; }
EffectRegistrar::~EffectRegistrar() = default;
Executor::~Executor() = default;
Witness::~Witness() = default;
// NOLINTNEXTLINE(performance-unnecessary-value-param): whoever keeps the lines moves them
void Witness::console(std::string /*lines_json*/, bool /*cut*/) {}

UntypedFailure untyped(std::string_view message, Retry retry) {
  UntypedFailure failure;
  failure.message = core::bound_text(message);
  failure.retry = retry;
  return failure;
}

UntypedFailure untyped(const core::Error& error, Retry retry) {
  UntypedFailure failure = untyped(error.message(), retry);
  failure.error = error;
  return failure;
}

}  // namespace heddle::effect

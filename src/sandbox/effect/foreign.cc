#include "foreign.h"

#include <string>

#include "heddle/core/text.h"

namespace heddle::sandbox {
namespace {

bool storable(std::string_view text) {
  // At most four bytes a unit: no need to walk through megabytes.
  return text.size() <= 4 * core::kMaxGuestTextUnits && core::bound_text(text) == text;
}

}  // namespace

effect::UntypedFailure backend_failed(std::string_view what, effect::Retry retry) {
  return effect::untyped("sandbox backend failed: " + core::bound_text(what), retry);
}

effect::UntypedFailure from_exception(const std::exception_ptr& thrown) {
  effect::UntypedFailure failure;
  try {
    std::rethrow_exception(thrown);
  } catch (const effect::TypedFailure& typed) {
    failure = backend_failed(typed.message);
  } catch (const std::exception& error) {
    const std::string_view text = error.what();
    failure = storable(text) ? effect::untyped(text) : backend_failed(text);
  } catch (...) {
    failure = backend_failed("it threw something that has no text");
  }
  failure.retry = effect::Retry::yes;
  failure.cause = thrown;
  return failure;
}

}  // namespace heddle::sandbox

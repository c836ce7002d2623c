#include "foreign.h"

#include <string>

#include "guard.h"
#include "heddle/core/text.h"

namespace heddle::sandbox {
namespace {

bool storable(std::string_view text) {
  // At most four bytes a unit: no need to walk through megabytes.
  return text.size() <= 4 * core::kMaxGuestTextUnits && core::bound_text(text) == text;
}

effect::UntypedFailure from_text(const char* text) {
  if (text == nullptr) return backend_failed("it threw something that has no text");
  return storable(text) ? effect::untyped(text) : backend_failed(text);
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
  } catch (const BackendBroke& broke) {
    return backend_failed(broke.what());
  } catch (const std::exception& error) {
    failure = from_text(error.what());
  } catch (const std::string& text) {
    failure = from_text(text.c_str());
  } catch (const char* text) {
    failure = from_text(text);
  } catch (...) {
    failure = from_text(nullptr);
  }
  failure.retry = effect::Retry::yes;
  failure.cause = thrown;
  return failure;
}

}  // namespace heddle::sandbox

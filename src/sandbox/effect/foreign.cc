#include "foreign.h"

#include <stdexcept>
#include <string>

#include "guard.h"
#include "heddle/core/text.h"

namespace heddle::sandbox {
namespace {

bool storable(std::string_view text) {
  // At most four bytes a unit: no need to walk through megabytes.
  return text.size() <= 4 * core::kMaxGuestTextUnits && core::bound_text(text) == text;
}

effect::UntypedFailure failed(std::string_view who, std::string_view what) {
  return effect::untyped(std::string(who) + core::bound_text(what), effect::Retry::yes);
}

// A backend's text that is storable is carried as it is; of anybody else it is said whose it is.
effect::UntypedFailure from_text(std::string_view who, const char* text) {
  if (text == nullptr) return failed(who, "it threw something that has no text");
  return who == kBackendFailed && storable(text) ? effect::untyped(text, effect::Retry::yes) : failed(who, text);
}

effect::UntypedFailure describe(const std::exception_ptr& thrown, std::string_view who) {
  try {
    std::rethrow_exception(thrown);
  } catch (const effect::TypedFailure& typed) {
    return failed(who, typed.message);
  } catch (const BackendBroke& broke) {
    return backend_failed(broke.what());
  } catch (const std::invalid_argument& error) {
    effect::UntypedFailure failure = from_text(who, error.what());
    failure.retry = effect::Retry::no;
    failure.error = core::make_error(core::Errc::invalid_argument, "use a sandbox backend", failure.message);
    return failure;
  } catch (const std::exception& error) {
    return from_text(who, error.what());
  } catch (const std::string& text) {
    return from_text(who, text.c_str());
  } catch (const char* text) {
    return from_text(who, text);
  } catch (...) {
    return from_text(who, nullptr);
  }
}

}  // namespace

effect::UntypedFailure backend_failed(std::string_view what, effect::Retry retry) {
  return effect::untyped(std::string(kBackendFailed) + core::bound_text(what), retry);
}

effect::UntypedFailure from_exception(const std::exception_ptr& thrown, std::string_view who) {
  effect::UntypedFailure failure = describe(thrown, who);
  failure.cause = thrown;
  return failure;
}

}  // namespace heddle::sandbox

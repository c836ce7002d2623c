// What a class of somebody else's threw, as an untyped failure.
#pragma once

#include <exception>
#include <string_view>

#include "heddle/effect/core/failure.h"

namespace heddle::sandbox {

inline constexpr std::string_view kBackendFailed = "sandbox backend failed: ";

/// The message of a failure of the backend's: `sandbox backend failed: …`, bounded.
[[nodiscard]] effect::UntypedFailure backend_failed(std::string_view what, effect::Retry retry = effect::Retry::no);

/// Never typed. `who` stands before every text that cannot be carried as it is. An exception whose text is storable and
/// within the bound is carried as it is; anything else (a longer text, an effect::TypedFailure, something without a
/// text) becomes a bounded message with the original as its cause.
[[nodiscard]] effect::UntypedFailure from_exception(const std::exception_ptr& thrown,
                                                    std::string_view who = kBackendFailed);

}  // namespace heddle::sandbox

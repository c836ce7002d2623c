// The typed failures that the runtime itself gives, whatever the effect: a closed list. An effect may not have a
// channel of the same name.
#pragma once

#include <span>
#include <string_view>

namespace heddle::effect {

inline constexpr std::string_view kEffectDenied = "effectDenied";  ///< by the authorizer: rule, reason
inline constexpr std::string_view kAccessDenied =
    "accessDenied";  ///< the kernel ended the guest: syscall, object, rule
inline constexpr std::string_view kBudgetExceeded = "budgetExceeded";  ///< resource, limit
inline constexpr std::string_view kInvalidInput = "invalidInput";      ///< message
inline constexpr std::string_view kInvalidOutput = "invalidOutput";    ///< message
/// Begun, and nobody knows whether it was done: effect, key, attempt, intent. An operator resolves it.
inline constexpr std::string_view kInDoubt = "inDoubt";
inline constexpr std::string_view kResolvedAsFailed = "resolvedAsFailed";  ///< so an operator said: by, reason

[[nodiscard]] std::span<const std::string_view> runtime_channels() noexcept;

}  // namespace heddle::effect

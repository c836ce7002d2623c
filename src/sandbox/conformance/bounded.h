// A call that should return at once, made so that the kit goes on when it does not.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace heddle::sandbox::conformance {

/// Calls `call` on a thread of its own. Why it is no good: it did not return within `timeout` (the thread is left
/// alone, and what `call` holds with it), or it threw. Nothing when it returned. `name` stands in the text.
[[nodiscard]] std::optional<std::string> bounded(const std::string& name, std::chrono::milliseconds timeout,
                                                 std::function<void()> call);

}  // namespace heddle::sandbox::conformance

// How an effect can end without a value: a typed failure, a cancellation, or an untyped failure. Never mixed: a flow
// may act on a typed failure, and only on that.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/core/error.h"

namespace heddle::effect {

/// What the effect's own subject did (a script threw, a limit was met), on one of the effect's closed list of channels.
struct TypedFailure {
  std::string channel;      ///< "scriptError"
  std::string detail_json;  ///< a JSON object; its members are the channel's own
  std::string message;      ///< one line for people, bounded and storable
};

/// The caller's stop was requested. Wins over everything else that happened.
struct Cancelled {
  std::string message;
};

enum class Retry { no, yes };

/// The job could not be done, and nothing is known of its subject. `message` is bounded and storable, whatever the
/// cause's own text is.
struct UntypedFailure {
  std::string message;
  Retry retry = Retry::no;           ///< yes: the same call may succeed later
  std::exception_ptr cause;          ///< what a foreign class threw, its type kept; null when nothing was thrown
  std::optional<core::Error> error;  ///< where one of ours is behind it
};

/// `message` bounded by core::bound_text.
[[nodiscard]] UntypedFailure untyped(std::string_view message, Retry retry = Retry::no);
[[nodiscard]] UntypedFailure untyped(const core::Error& error, Retry retry = Retry::no);

}  // namespace heddle::effect

// Effect: something with a name that takes JSON and gives JSON, and says enough about itself to be run, recorded and
// replayed by a runtime that knows nothing else of it.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/core/clock.h"
#include "heddle/core/result.h"
#include "heddle/effect/core/reply.h"
#include "heddle/effect/core/witness.h"

namespace heddle::effect {

/// May a call that was begun, and of which no end is known, be run again?
enum class Idempotency { not_idempotent, idempotent };

/// What a runtime gives with a call.
struct Call {
  std::stop_token stop;
  core::Deadline deadline = core::Deadline::never();
  std::string idempotency_key;  ///< the same for every attempt, and no other call has it
  Witness* witness = nullptr;   ///< null: nobody records what a boundary has to tell
};

/// Names and values that belong into the facts of a call, and that must be the same when it is replayed.
using Annotations = std::vector<std::pair<std::string, std::string>>;

/// Thread-safe.
class Effect {
 public:
  Effect() = default;
  Effect(const Effect&) = delete;
  Effect& operator=(const Effect&) = delete;
  virtual ~Effect();

  [[nodiscard]] virtual std::string_view kind() const = 0;                       ///< "sandboxEval"
  [[nodiscard]] virtual std::span<const std::string_view> channels() const = 0;  ///< of its typed failures; closed
  [[nodiscard]] virtual Idempotency idempotency() const = 0;

  /// JSON Schemas (draft 7) as text; empty: anything.
  [[nodiscard]] virtual std::string_view input_schema() const;
  [[nodiscard]] virtual std::string_view output_schema() const;

  [[nodiscard]] virtual Annotations annotations(std::string_view input_json) const;

  /// Runs to the end, blocking. A requested stop or a passed deadline of `call` gives Cancelled or an untyped failure.
  [[nodiscard]] virtual Reply<std::string> execute(std::string_view input_json, const Call& call) const = 0;
};

/// Where effects are handed in; implemented by a runtime.
class EffectRegistrar {
 public:
  virtual ~EffectRegistrar();
  /// Errc::invalid_argument when one of the same kind is there.
  [[nodiscard]] virtual core::Result<void> add(std::shared_ptr<const Effect> effect) = 0;
};

}  // namespace heddle::effect

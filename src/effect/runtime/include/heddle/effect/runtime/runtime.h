// EffectRuntime: runs an effect through the rings and records what happened.
//
//   authorize → schedule → meter → validate input → [INTENT] → executor or effect → validate output → [OUTCOME]
//
// All of it is on the host's side; a boundary, where there is one, is inside the effect or its executor.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "heddle/core/clock.h"
#include "heddle/core/result.h"
#include "heddle/effect/core/effect.h"
#include "heddle/effect/core/executor.h"
#include "heddle/effect/runtime/authorizer.h"
#include "heddle/effect/runtime/channels.h"
#include "heddle/effect/runtime/meter.h"
#include "heddle/effect/runtime/scheduler.h"
#include "heddle/journal/core/store.h"

namespace heddle::effect {

/// What the runtime is made of. All must be there; several runtimes may share them.
struct Rings {
  std::shared_ptr<const Authorizer> authorizer;
  std::shared_ptr<Scheduler> scheduler;
  std::shared_ptr<Meter> meter;
  std::shared_ptr<journal::Store> journal;
};

struct RuntimeOptions {
  /// How long one append may wait: for the file's lock, for a server that went away and comes back.
  std::chrono::milliseconds journal_wait{30'000};
  /// Denials of one call that become facts; the guest may cause as many as it likes. The ones that go beyond are
  /// counted in the last one's rule.
  std::size_t max_denials = 64;
};

/// One attempt of one effect. The views hold during the call.
struct Invocation {
  std::string_view flow;
  std::string_view key;  ///< of the effect in that flow
  std::string_view effect;
  std::string_view input_json;
  std::uint32_t attempt = 1;
};

/// Thread-safe. Outlives the calls in it.
class EffectRuntime final : public EffectRegistrar {
 public:
  /// Errc::invalid_argument when a ring is missing.
  [[nodiscard]] static core::Result<std::unique_ptr<EffectRuntime>> create(Rings rings, RuntimeOptions options = {});
  ~EffectRuntime() override;

  /// Errc::invalid_argument for a kind that is there already or is no name (letters, digits, `.`, `_`, `-`), for a
  /// channel of the runtime's own; Errc::malformed for a schema that is none. What has been added stays.
  [[nodiscard]] core::Result<void> add(std::shared_ptr<const Effect> effect) override;
  /// Binds the effect to an executor, for good: every call of the kind goes there, and none to the effect itself.
  [[nodiscard]] core::Result<void> add(std::shared_ptr<const Effect> effect, std::shared_ptr<Executor> executor);

  /// Runs one attempt; does not look for what the journal has under the key: flows do (flow.h). In this order:
  ///
  /// - refused by the authorizer: INTENT and EFFECT_DENIED, and kEffectDenied;
  /// - no place before stop or deadline: no fact, Cancelled or an untyped failure;
  /// - over budget, or an input that does not fit the schema: INTENT and OUTCOME, and the typed failure;
  /// - INTENT, durable before anything happens; the effect; OUTCOME (behind what its boundary denied), durable before
  /// the
  ///   reply is given.
  ///
  /// A channel that the effect does not declare, an exception, and a journal that fails are untyped failures.
  [[nodiscard]] Reply<std::string> execute(const Invocation& invocation, const std::stop_token& stop = {},
                                           core::Deadline deadline = core::Deadline::never());

  class Impl;
  [[nodiscard]] Impl& impl() const noexcept { return *impl_; }  ///< for flows

 private:
  explicit EffectRuntime(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heddle::effect

// The fold: facts in, state out. Pure: the same facts give the same state, on every store and at any time (JRN-3).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/core/result.h"
#include "heddle/journal/core/fact.h"
#include "heddle/journal/core/facts.h"

namespace heddle::journal {

enum class EffectPhase : std::uint8_t {
  none,       ///< only spoken of so far: no intent yet, or the operator said to run it again
  begun,      ///< an intent and no outcome: running, or in doubt if nobody runs it
  succeeded,  ///< `settled_by` is the fact whose body is the output
  failed,     ///< typed; likewise the failure
  errored,    ///< untyped
  cancelled,
  denied,  ///< the host refused it
};

/// What an OUTCOME with this ending makes of its effect.
[[nodiscard]] EffectPhase phase_of(Ending ending);

/// Refusals, counted. None of them alone settles an effect but the host's refusal of the effect itself.
struct Denials {
  std::uint32_t effect = 0;  ///< EFFECT_DENIED
  std::uint32_t egress = 0;  ///< EGRESS_DENIED
  std::uint32_t access = 0;  ///< ACCESS_DENIED
  std::uint64_t last = 0;    ///< the newest of them; 0: none

  friend bool operator==(const Denials&, const Denials&) = default;
};

struct EffectState {
  std::string effect;  ///< its kind: "sandboxEval"
  EffectPhase phase = EffectPhase::none;
  bool repeatable = false;       ///< of the newest intent: may it be run again when it is in doubt?
  std::uint32_t attempts = 0;    ///< intents
  std::uint64_t intent = 0;      ///< the newest one's sequence
  std::uint64_t settled_by = 0;  ///< the sequence of the fact that gave `phase`, unless none or begun
  Denials denials;

  friend bool operator==(const EffectState&, const EffectState&) = default;
};

struct FlowState {
  std::string name;                                         ///< of the flow's code, as the payload has it
  std::uint64_t started = 0;                                ///< sequence of the newest FLOW_STARTED; 0: none seen
  std::uint64_t ended = 0;                                  ///< sequence of the FLOW_ENDED after it; 0: not ended
  std::optional<Ending> ending;                             ///< when ended
  Denials denials;                                          ///< all of the flow's, its effects' included
  std::map<std::string, EffectState, std::less<>> effects;  ///< by idempotency key

  friend bool operator==(const FlowState&, const FlowState&) = default;
};

/// Outputs are not held here but found by their sequence, so that the state of a long journal stays small.
struct State {
  std::uint64_t sequence = 0;  ///< the last fact folded in
  std::map<std::string, FlowState, std::less<>> flows;

  friend bool operator==(const State&, const State&) = default;
};

/// Raised whenever `apply` gives another state for the same facts: a snapshot of another fold is not used.
inline constexpr std::uint32_t kFoldVersion = 1;

/// Facts of unknown kinds change `sequence` alone; so do snapshots, and facts that were pruned. Facts at or before
/// `sequence` are a bug.
void apply(State& state, const Fact& fact);

/// A state as JSON text, and back. Errc::malformed for a text that `state_json` does not give.
[[nodiscard]] std::string state_json(const State& state);
[[nodiscard]] core::Result<State> state_from_json(std::string_view json);

}  // namespace heddle::journal

#include "heddle/journal/core/fold.h"

#include <charconv>

#include "heddle/core/check.h"
#include "heddle/core/json.h"

namespace heddle::journal {
namespace {

// A payload of a newer MINOR has at least today's fields, so what is missing here is missing on purpose.
std::optional<Ending> ending_in(const Fact& fact) {
  const auto status = core::json_word(fact.payload, "status");
  return status ? ending_from(*status) : std::nullopt;
}

void settle(EffectState& effect, EffectPhase phase, const Fact& fact) {
  effect.phase = phase;
  effect.settled_by = fact.sequence;
}

void resolve(EffectState& effect, const Fact& fact) {
  const auto word = core::json_word(fact.payload, "resolution");
  const auto resolution = word ? resolution_from(*word) : std::nullopt;
  if (!resolution) return;
  switch (*resolution) {
    case Resolution::success:
      settle(effect, EffectPhase::succeeded, fact);
      return;
    case Resolution::failure:
      settle(effect, EffectPhase::failed, fact);
      return;
    case Resolution::run_again:
      effect.phase = EffectPhase::none;
      effect.settled_by = 0;
      return;
  }
}

void count(Denials& denials, const Fact& fact) {
  if (fact.kind == Kind::effect_denied) ++denials.effect;
  if (fact.kind == Kind::egress_denied) ++denials.egress;
  if (fact.kind == Kind::access_denied) ++denials.access;
  denials.last = fact.sequence;
}

void apply_to_effect(EffectState& effect, const Fact& fact) {
  if (effect.effect.empty()) {
    if (const auto kind = core::json_word(fact.payload, "effect")) effect.effect = *kind;
  }
  switch (fact.kind) {
    case Kind::intent:
      effect.phase = EffectPhase::begun;
      effect.repeatable = core::json_member(fact.payload, "repeatable") == "true";
      effect.intent = fact.sequence;
      effect.settled_by = 0;
      ++effect.attempts;
      return;
    case Kind::outcome:
      if (const auto ending = ending_in(fact)) settle(effect, phase_of(*ending), fact);
      return;
    case Kind::effect_denied:
      count(effect.denials, fact);
      settle(effect, EffectPhase::denied, fact);
      return;
    case Kind::egress_denied:
    case Kind::access_denied:
      count(effect.denials, fact);
      return;
    case Kind::resolved:
      resolve(effect, fact);
      return;
    case Kind::unknown:
    case Kind::flow_started:
    case Kind::flow_ended:
    case Kind::jail_applied:
    case Kind::snapshot:
    case Kind::pruned:
    case Kind::console:
      return;
  }
}

}  // namespace

EffectPhase phase_of(Ending ending) {
  switch (ending) {
    case Ending::success:
      return EffectPhase::succeeded;
    case Ending::failure:
      return EffectPhase::failed;
    case Ending::error:
      return EffectPhase::errored;
    case Ending::cancelled:
      return EffectPhase::cancelled;
  }
  return EffectPhase::errored;
}

void apply(State& state, const Fact& fact) {
  HEDDLE_CHECK(fact.sequence > state.sequence);
  state.sequence = fact.sequence;
  if (fact.flow.empty() || fact.pruned || fact.kind == Kind::unknown || fact.kind == Kind::snapshot ||
      fact.kind == Kind::jail_applied || fact.kind == Kind::console) {
    return;
  }
  FlowState& flow = state.flows[fact.flow];
  switch (fact.kind) {
    case Kind::flow_started:
      if (const auto name = core::json_word(fact.payload, "name")) flow.name = *name;
      flow.started = fact.sequence;
      flow.ended = 0;
      flow.ending.reset();
      return;
    case Kind::flow_ended:
      flow.ended = fact.sequence;
      flow.ending = ending_in(fact);
      return;
    case Kind::effect_denied:
    case Kind::egress_denied:
    case Kind::access_denied:
      count(flow.denials, fact);
      break;
    default:
      break;
  }
  if (!fact.effect.empty()) apply_to_effect(flow.effects[fact.effect], fact);
}

}  // namespace heddle::journal

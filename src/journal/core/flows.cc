#include "heddle/journal/core/flows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "heddle/journal/core/fold.h"
#include "heddle/journal/core/replay.h"

namespace heddle::journal {
namespace {

constexpr std::size_t kListedPage = 2000;

bool is_in_doubt(const EffectState& effect) {
  return !effect.repeatable && (effect.phase == EffectPhase::begun || effect.phase == EffectPhase::cancelled);
}

// May an operator still say something about it?
bool is_open(const EffectState& effect) {
  return effect.phase == EffectPhase::begun || effect.phase == EffectPhase::cancelled ||
         effect.phase == EffectPhase::errored;
}

FlowSummary summary_of(const std::string& id, const FlowState& flow, Time began) {
  FlowSummary summary;
  summary.id = id;
  summary.name = flow.name;
  summary.began = began;
  summary.started = flow.started;
  summary.ended = flow.ended;
  summary.ending = flow.ending;
  summary.effects = flow.effects.size();
  if (flow.ended != 0) return summary;
  for (const auto& [key, effect] : flow.effects) {
    if (is_in_doubt(effect)) summary.in_doubt.push_back({key, effect.effect, effect.intent});
  }
  return summary;
}

}  // namespace

core::Result<std::vector<FlowSummary>> list_flows(Store& store, WhichFlows which, const Wait& wait) {
  State state;
  std::map<std::string, Time, std::less<>> began;
  Query query;
  query.limit = kListedPage;
  query.bodies = Bodies::digests_only;
  for (bool at_end = false; !at_end;) {
    HEDDLE_ASSIGN(const Page page, store.read(query, wait));
    for (const Fact& fact : page.facts) {
      apply(state, fact);
      if (fact.flow.empty()) continue;
      if (fact.kind == Kind::flow_started) {
        began.insert_or_assign(fact.flow, fact.time);
      } else {
        began.try_emplace(fact.flow, fact.time);
      }
      if (which == WhichFlows::open && fact.kind == Kind::flow_ended) {
        state.flows.erase(fact.flow);
        began.erase(fact.flow);
      }
    }
    query.from = page.next;
    at_end = page.at_end;
    if (auto over = wait_over(wait, "list the flows", "at fact " + std::to_string(page.next))) return *std::move(over);
  }
  std::vector<FlowSummary> flows;
  for (const auto& [id, flow] : state.flows) {
    if (which == WhichFlows::all || flow.ended == 0) flows.push_back(summary_of(id, flow, began[id]));
  }
  std::stable_sort(flows.begin(), flows.end(),
                   [](const FlowSummary& a, const FlowSummary& b) { return a.started < b.started; });
  return flows;
}

core::Result<std::uint64_t> resolve(Store& store, std::string_view flow, std::string_view key, Resolution resolution,
                                    std::string_view by, std::string_view reason,
                                    std::optional<std::string> output_json, const Wait& wait) {
  const auto refused = [&](core::Errc code, std::string_view what) {
    return core::make_error(
        code, "resolve an effect",
        "effect " + std::string(key) + " of the flow " + std::string(flow) + ": " + std::string(what));
  };
  HEDDLE_ASSIGN(const State state, replay(store, std::string(flow), From::newest_snapshot, wait));
  const auto found = state.flows.find(flow);
  if (found == state.flows.end()) return refused(core::Errc::not_found, "the journal has no such flow");
  const auto effect = found->second.effects.find(key);
  if (effect == found->second.effects.end()) return refused(core::Errc::not_found, "the journal has no such effect");
  if (!is_open(effect->second)) return refused(core::Errc::invalid_argument, "nothing about it is open");
  if (resolution != Resolution::success) output_json.reset();
  return store.append_one(resolved({flow, key, effect->second.effect, effect->second.attempts}, resolution, by, reason,
                                   std::move(output_json)),
                          wait);
}

}  // namespace heddle::journal

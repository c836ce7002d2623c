#include "heddle/journal/core/replay.h"

#include "heddle/core/json.h"
#include "heddle/journal/core/prune.h"

namespace heddle::journal {
namespace {

constexpr std::size_t kPageFacts = 2000;

// Calls `visit` for every fact that matches, up to what is durable at the last page.
template <class Visit>
core::Result<void> for_each(Store& store, Query query, const Wait& wait, const Visit& visit) {
  query.limit = kPageFacts;
  for (;;) {
    HEDDLE_ASSIGN(const Page page, store.read(query, wait));
    for (const Fact& fact : page.facts) visit(fact);
    if (page.at_end) return {};
    query.from = page.next;
    if (auto over = wait_over(wait, "read the journal", "at fact " + std::to_string(page.next))) {
      return *std::move(over);
    }
  }
}

// Of a snapshot that this fold wrote: its sequence.
core::Result<std::optional<std::uint64_t>> newest_snapshot(Store& store, const std::string& scope, const Wait& wait) {
  Query query;
  query.flow = scope;
  query.kinds = {Kind::snapshot, Kind::pruned};
  query.bodies = Bodies::digests_only;
  const std::string version = std::to_string(kFoldVersion);
  std::optional<std::uint64_t> newest;
  HEDDLE_TRY(for_each(store, query, wait, [&](const Fact& fact) {
    // What was pruned since is still in a snapshot of everything.
    if (fact.kind == Kind::pruned) newest.reset();
    if (fact.kind == Kind::snapshot && core::json_member(fact.payload, "fold") == version && fact.body)
      newest = fact.sequence;
  }));
  return newest;
}

core::Result<State> snapshot_at(Store& store, const std::string& scope, std::uint64_t sequence, const Wait& wait) {
  Query query;
  query.from = sequence;
  query.flow = scope;
  query.kinds = {Kind::snapshot};
  query.limit = 1;
  HEDDLE_ASSIGN(const Page page, store.read(query, wait));
  if (page.facts.empty() || page.facts[0].sequence != sequence || !page.facts[0].body) {
    return core::make_error(core::Errc::damaged, "read a snapshot", "fact " + std::to_string(sequence) + " is gone");
  }
  return state_from_json(page.facts[0].body->text);
}

core::Result<State> first_state(Store& store, const std::string& scope, From from, const Wait& wait) {
  if (from == From::start) return State{};
  HEDDLE_ASSIGN(const auto newest, newest_snapshot(store, scope, wait));
  if (!newest) return State{};
  return snapshot_at(store, scope, *newest, wait);
}

}  // namespace

core::Result<State> replay(Store& store, const std::optional<std::string>& flow, From from, const Wait& wait) {
  HEDDLE_ASSIGN(State state, first_state(store, flow.value_or(""), from, wait));
  Query query;
  query.from = state.sequence + 1;
  query.flow = flow;
  query.bodies = Bodies::digests_only;
  HEDDLE_TRY(for_each(store, query, wait, [&](const Fact& fact) { apply(state, fact); }));
  return state;
}

core::Result<std::uint64_t> take_snapshot(Store& store, const std::optional<std::string>& flow, const Wait& wait) {
  HEDDLE_ASSIGN(const State state, replay(store, flow, From::newest_snapshot, wait));
  Draft draft;
  draft.flow = flow.value_or("");
  draft.kind = Kind::snapshot;
  draft.payload = "{\"fold\":" + std::to_string(kFoldVersion) + ",\"upto\":" + std::to_string(state.sequence) + "}";
  draft.body = state_json(state);
  return store.append_one(draft, wait);
}

core::Result<Verified> verify(Store& store, const Wait& wait) {
  Verified verified;
  PrunedCheck pruned;
  HEDDLE_TRY(for_each(store, {}, wait, [&](const Fact& fact) {
    pruned.take(fact);
    if (fact.pruned) ++verified.pruned;
    ++verified.facts;
    if (fact.body) ++verified.bodies;
    if (fact.kind == Kind::unknown) ++verified.skipped;
    verified.head = {fact.sequence, fact.checksum};
  }));
  HEDDLE_TRY(pruned.finish());
  HEDDLE_TRY(store.check_storage(wait));
  return verified;
}

}  // namespace heddle::journal

#include "history.h"

#include <algorithm>
#include <charconv>

#include "heddle/core/json.h"
#include "heddle/effect/runtime/channels.h"

namespace heddle::effect {
namespace {

using journal::EffectPhase;
using journal::Ending;
using journal::Fact;
using journal::Kind;

constexpr std::size_t kPageFacts = 2000;

std::uint32_t attempt_of(const Fact& fact) {
  const auto text = core::json_member(fact.payload, "attempt");
  std::uint32_t attempt = 1;
  if (text) std::from_chars(text->data(), text->data() + text->size(), attempt);
  return attempt;
}

std::uint64_t bytes_of(const Fact& fact) {
  const auto text = core::json_member(fact.payload, "bytes");
  std::uint64_t bytes = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), bytes);
  return bytes;
}

std::optional<Ending> ending_of(const Fact& fact) {
  const auto status = core::json_word(fact.payload, "status");
  return status ? journal::ending_from(*status) : std::nullopt;
}

void apply_to(Past& past, const Fact& fact) {
  switch (fact.kind) {
    case Kind::intent:
      if (past.final()) return;
      if (const auto effect = core::json_word(fact.payload, "effect")) past.effect = *effect;
      past.annotations = core::json_member(fact.payload, "annotations").value_or("");
      past.input = fact.body ? fact.body->digest : journal::Digest{};
      past.intent = fact.sequence;
      past.begun = fact.time;
      past.repeatable = core::json_member(fact.payload, "repeatable") == "true";
      past.attempts = std::max(past.attempts, attempt_of(fact));
      past.phase = EffectPhase::begun;
      ++past.charged;
      past.writing = 0;
      return;
    case Kind::console:
      past.writing = bytes_of(fact);
      return;
    case Kind::outcome: {
      const auto ending = ending_of(fact);
      if (past.final() || !ending) return;
      past.phase = phase_of(*ending);
      past.settled_by = fact.sequence;
      past.spent += std::max(std::chrono::microseconds(0), fact.time - past.begun);
      past.retry = core::json_member(fact.payload, "retry") == "true";
      if (*ending == Ending::error && past.retry) ++past.errors;
      if (core::json_word(fact.payload, "channel") == kBudgetExceeded) {
        if (past.charged > 0) --past.charged;
      } else {
        past.written += past.writing;
      }
      past.writing = 0;
      return;
    }
    case Kind::effect_denied:
      if (past.final()) return;
      past.phase = EffectPhase::denied;
      past.settled_by = fact.sequence;
      if (past.charged > 0) --past.charged;
      return;
    case Kind::resolved: {
      const auto word = core::json_word(fact.payload, "resolution");
      const auto resolution = word ? journal::resolution_from(*word) : std::nullopt;
      if (!resolution) return;
      past.settled_by = fact.sequence;
      past.errors = 0;
      past.phase = *resolution == journal::Resolution::success   ? EffectPhase::succeeded
                   : *resolution == journal::Resolution::failure ? EffectPhase::failed
                                                                 : EffectPhase::none;
      return;
    }
    default:
      return;
  }
}

}  // namespace

bool Past::final() const {
  return phase == EffectPhase::succeeded || phase == EffectPhase::failed || phase == EffectPhase::denied;
}

void History::apply(const Fact& fact) {
  upto = fact.sequence;
  if (fact.pruned) {
    pruned = fact.sequence;
    return;
  }
  if (fact.kind == Kind::flow_started) {
    started = fact.sequence;
    name = core::json_word(fact.payload, "name").value_or("");
    if (fact.body) input = fact.body->digest;
    ending.reset();
  } else if (fact.kind == Kind::flow_ended) {
    ended = fact.sequence;
    ending = ending_of(fact);
  } else if (!fact.effect.empty() && (fact.kind == Kind::intent || fact.kind == Kind::outcome ||
                                      fact.kind == Kind::effect_denied || fact.kind == Kind::resolved)) {
    apply_to(effects[fact.effect], fact);
  }
}

core::Result<void> read_history(journal::Store& store, std::string_view flow, History& history,
                                const journal::Wait& wait) {
  journal::Query query;
  query.flow = flow;
  query.from = history.upto + 1;
  query.limit = kPageFacts;
  query.bodies = journal::Bodies::digests_only;
  for (;;) {
    HEDDLE_ASSIGN(const journal::Page page, store.read(query, wait));
    for (const Fact& fact : page.facts) history.apply(fact);
    if (page.at_end) {
      history.upto = std::max(history.upto, page.next - 1);
      return {};
    }
    query.from = page.next;
    if (auto over = journal::wait_over(wait, "read a flow", flow)) return *std::move(over);
  }
}

core::Result<Fact> read_fact(journal::Store& store, std::string_view flow, std::uint64_t sequence,
                             const journal::Wait& wait) {
  journal::Query query;
  query.flow = flow;
  query.from = sequence;
  query.limit = 1;
  HEDDLE_ASSIGN(journal::Page page, store.read(query, wait));
  if (page.facts.empty() || page.facts[0].sequence != sequence) {
    return core::make_error(core::Errc::damaged, "read a flow's fact", "fact " + std::to_string(sequence) + " is gone");
  }
  return std::move(page.facts[0]);
}

}  // namespace heddle::effect

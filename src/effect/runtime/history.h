// What a journal has of one flow, by the keys of its effects: what replay needs, without the outputs themselves.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/core/result.h"
#include "heddle/effect/core/reply.h"
#include "heddle/journal/core/fold.h"
#include "heddle/journal/core/store.h"

namespace heddle::effect {

/// One effect's past.
struct Past {
  std::string effect;
  journal::Digest input;
  std::string annotations;  ///< the JSON text of the INTENT's member; empty without
  std::uint64_t intent = 0;
  journal::EffectPhase phase = journal::EffectPhase::none;
  std::uint64_t settled_by = 0;
  bool repeatable = false;            ///< the INTENT's word
  bool retry = false;                 ///< of an untyped failure
  std::uint32_t attempts = 0;         ///< the highest number
  std::uint32_t errors = 0;           ///< untyped failures that may pass
  std::uint64_t charged = 0;          ///< calls that a meter counted
  std::chrono::microseconds spent{};  ///< between INTENT and OUTCOME
  std::uint64_t written = 0;          ///< bytes of console that a meter counted
  std::uint64_t writing = 0;          ///< the same, of an attempt without an outcome
  journal::Time begun;

  /// Has an end that a flow may have acted upon. An INTENT that comes after it is of a run that was taken over.
  [[nodiscard]] bool final() const;
};

class History {
 public:
  /// Facts of one flow, in order.
  void apply(const journal::Fact& fact);

  std::map<std::string, Past, std::less<>> effects;
  std::uint64_t upto = 0;                 ///< everything up to this sequence is in
  std::uint64_t pruned = 0;               // the newest fact whose content is gone: the flow cannot be taken up
  std::optional<journal::Digest> input;   ///< of the newest FLOW_STARTED
  std::string name;                       ///< likewise
  std::uint64_t started = 0;              ///< its sequence
  std::uint64_t ended = 0;                ///< the sequence of the newest FLOW_ENDED, wherever it stands
  std::optional<journal::Ending> ending;  ///< how, unless a FLOW_STARTED came after it
};

/// Reads on from `history.upto`.
[[nodiscard]] core::Result<void> read_history(journal::Store& store, std::string_view flow, History& history,
                                              const journal::Wait& wait);

/// The fact with this sequence, body and all. Errc::damaged when it is not there.
[[nodiscard]] core::Result<journal::Fact> read_fact(journal::Store& store, std::string_view flow,
                                                    std::uint64_t sequence, const journal::Wait& wait);

/// The reply that an OUTCOME, an EFFECT_DENIED, a RESOLVED or a FLOW_ENDED stands for: what its reader got at that
/// time.
[[nodiscard]] Reply<std::string> reply_of(const journal::Fact& fact);

}  // namespace heddle::effect

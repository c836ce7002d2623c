// Retention: old flows that have ended lose what they said, and a fact says what went.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/journal/core/store.h"

namespace heddle::journal {

struct PruneOptions {
  Time before;                      ///< flows that ended before this
  std::optional<std::string> flow;  ///< of them this one alone
  std::string by;                   ///< who says so
  std::string reason;               ///< why
};

struct PrunePlan {
  std::uint64_t flows = 0;
  std::uint64_t facts = 0;
  std::vector<Range> ranges;  ///< of all their facts that have a payload still
};

/// What `prune` would take away: all facts of flows whose newest FLOW_ENDED is older and has no fact of theirs after
/// it. Reads every fact.
[[nodiscard]] core::Result<PrunePlan> plan_prune(Store& store, const PruneOptions& options, const Wait& wait = {});

/// Takes it away: payloads and bodies, for good. The facts stay in their places with ids, kinds, times and checksums,
/// so that nothing else of the journal changes, and a fact of kind PRUNED in the same transaction says which they were.
/// A flow that was pruned cannot be run again under its id. Nothing is written for a plan without facts, and 0 given;
/// otherwise the sequence of that fact. `plan` is of this journal; facts that came later do not matter.
[[nodiscard]] core::Result<std::uint64_t> prune(Store& store, const PrunePlan& plan, const PruneOptions& options,
                                                const Wait& wait = {});

/// Compares facts that were pruned with what facts of kind PRUNED say of them. Takes every fact, in order, with its
/// body.
class PrunedCheck {
 public:
  void take(const Fact& fact);
  /// Errc::damaged for the first difference.
  [[nodiscard]] core::Result<void> finish() const;

 private:
  std::vector<Range> unexplained_;  // ascending; of pruned facts that no fact has spoken of yet
  std::vector<Range> explained_;
  std::optional<std::string> wrong_;
};

}  // namespace heddle::journal

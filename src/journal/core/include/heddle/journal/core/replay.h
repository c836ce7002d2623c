// Folded state out of a store: from the newest snapshot on, or from the start; and looking through a whole journal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "heddle/journal/core/fold.h"
#include "heddle/journal/core/store.h"

namespace heddle::journal {

enum class From : std::uint8_t { newest_snapshot, start };

/// The state of one flow's facts, or of all facts when `flow` is absent. Both ways give equal states (JRN-6).
[[nodiscard]] core::Result<State> replay(Store& store, const std::optional<std::string>& flow, From from,
                                         const Wait& wait = {});

/// Appends a SNAPSHOT of that state and gives its sequence. Facts that others append meanwhile are not in it, and
/// `replay` reads them after it. Errc::too_large when the state is over a body's ceiling.
[[nodiscard]] core::Result<std::uint64_t> take_snapshot(Store& store, const std::optional<std::string>& flow,
                                                        const Wait& wait = {});

struct Verified {
  Head head;                  ///< keep its checksum elsewhere, and nobody can rewrite what came before unseen
  std::uint64_t facts = 0;    ///< all checked against the chain, without a gap
  std::uint64_t bodies = 0;   ///< all checked against their digests
  std::uint64_t skipped = 0;  ///< of kinds that this build does not know
  std::uint64_t pruned = 0;   ///< whose contents are gone, each by the word of a fact of kind PRUNED
};

/// Reads every fact and body and asks the store to look through its own structures. Errc::damaged names what is wrong.
[[nodiscard]] core::Result<Verified> verify(Store& store, const Wait& wait = {});

}  // namespace heddle::journal

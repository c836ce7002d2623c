// Histories of flows for tests: the same seed gives the same drafts.
#pragma once

#include <vector>

#include "heddle/journal/core/fact.h"

namespace heddle::journal::testing {

/// `count` drafts of all kinds over a few flows and effects, in an order that runtimes, crashes and operators could
/// give.
[[nodiscard]] std::vector<Draft> history(unsigned seed, std::size_t count);

/// The facts that an empty journal would make of them, apart from time and checksum.
[[nodiscard]] std::vector<Fact> facts_of(const std::vector<Draft>& drafts);

}  // namespace heddle::journal::testing

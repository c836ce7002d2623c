// What an operator asks a journal: which flows began and have not ended, and to settle an effect that is in doubt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/journal/core/facts.h"
#include "heddle/journal/core/store.h"

namespace heddle::journal {

/// An effect that nobody may run again unasked: it was begun, is not repeatable, and no fact says how it ended. Whether
/// somebody is running it just now no journal knows.
struct OpenEffect {
  std::string key;
  std::string effect;        ///< its kind
  std::uint64_t intent = 0;  ///< the fact that begun it
};

struct FlowSummary {
  std::string id;
  std::string name;           ///< of its code
  Time began;                 ///< the time of `started`, or of its first fact where no fact says that it began
  std::uint64_t started = 0;  ///< the newest FLOW_STARTED; 0: none
  std::uint64_t ended = 0;    ///< the FLOW_ENDED after it; 0: it is open
  std::optional<Ending> ending;
  std::uint64_t effects = 0;
  std::vector<OpenEffect> in_doubt;
};

enum class WhichFlows : std::uint8_t { all, open };

/// In the order in which they began. Reads every fact, and holds the state of the flows that it lists.
[[nodiscard]] core::Result<std::vector<FlowSummary>> list_flows(Store& store, WhichFlows which, const Wait& wait = {});

/// An operator's word on an effect that is begun, or was cancelled, or ended with an untyped failure: as a RESOLVED
/// fact, whose sequence it gives. `output_json` for Resolution::success. Errc::not_found when the flow has no such
/// effect, invalid_argument when nothing about it is open, malformed when the output is not JSON.
[[nodiscard]] core::Result<std::uint64_t> resolve(Store& store, std::string_view flow, std::string_view key,
                                                  Resolution resolution, std::string_view by, std::string_view reason,
                                                  std::optional<std::string> output_json, const Wait& wait = {});

}  // namespace heddle::journal

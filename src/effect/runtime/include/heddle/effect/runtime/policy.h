// What an operator decides, in a TOML file: rules of authorization, limits of the schedule, budget and prices.
//
//   [[rule]]                       # the first that matches decides; nothing matches: denied
//   name = "known scripts"         # stands in the facts
//   effect = "sandboxEval"         # a pattern; default "*"
//   flow = "report-*"              # a pattern for the flow's id; default "*"
//   annotations = { script = "sha256:…" }
//   verdict = "allow"              # or "deny"
//   reason = "…"                   # for a denial
//
//   [schedule]
//   total = 64
//   each = 16
//   effects = { sandboxEval = 2 }
//
//   [budget]                       # of each flow; what is not here is not limited
//   calls = 100
//   time_ms = 60000
//   bytes = 10485760
//   cost = 500
//
//   [price.sandboxEval]
//   per_call = 1
//   per_second = 10
//   per_kib = 0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/result.h"
#include "heddle/effect/runtime/authorizer.h"
#include "heddle/effect/runtime/meter.h"
#include "heddle/effect/runtime/scheduler.h"

namespace heddle::effect {

struct Policy {
  std::vector<Rule> rules;
  ScheduleLimits schedule;
  Budget budget;
  Prices prices;
};

inline constexpr std::size_t kMaxPolicyBytes = std::size_t{1} << 20;

/// Errc::malformed, with the line, for what is no TOML and for every name or value that is not as above: a policy with
/// a slip of the pen must not allow more than was meant. `name` stands in the errors.
[[nodiscard]] core::Result<Policy> parse_policy(std::string_view toml, std::string_view name);

/// The same from a file.
[[nodiscard]] core::Result<Policy> load_policy(const std::string& path);

}  // namespace heddle::effect

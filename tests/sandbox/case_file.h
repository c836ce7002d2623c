// The case files of tests/cases, as far as they are about scripts: what an outcome must be, checked word for word.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace heddle {

/// What the command said of one run, and how long it took to say it.
struct CaseRun {
  nlohmann::json outcome;
  std::chrono::milliseconds took{0};
};

/// tests/cases/NAME.json.
[[nodiscard]] nlohmann::json read_cases(const std::string& name);

/// What is not as `expected` says, a line each. A key of an expectation that nothing here knows is a line too, so that
/// a case is never believed to be checked where it is not. `again` is a second run of the same case.
[[nodiscard]] std::vector<std::string> complaints(const nlohmann::json& expected, const CaseRun& run,
                                                  const CaseRun& again);

/// Whether the run ended by its clock though the case does not permit that: on a busy machine that says nothing.
[[nodiscard]] bool ran_out_of_time(const nlohmann::json& expected, const nlohmann::json& outcome);

}  // namespace heddle

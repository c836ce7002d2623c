// The cases, each a function that gives the reason why it failed, or nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "heddle/sandbox/conformance/conformance.h"
#include "recorder.h"

namespace heddle::sandbox::conformance {

/// What a case works with: a backend of its own behind an effect of its own. Shared with the case's thread.
struct World {
  Fixtures fixtures;
  Options options;
  std::shared_ptr<Recording> recording;
  std::shared_ptr<MemoryScripts> scripts;
  std::shared_ptr<spi::SandboxBackend> backend;
  std::unique_ptr<SandboxEffect> effect;

  [[nodiscard]] SandboxEffect::Reply run(const std::string& script, std::string input_json = "null",
                                         std::optional<std::chrono::milliseconds> clock = std::nullopt,
                                         const std::stop_token& stop = {}) const;
};

using Problem = std::optional<std::string>;
using Case = Problem (*)(World&);

struct CaseRow {
  CaseId id;
  std::string_view name;
  Case run;
  /// Why the case does not apply under a declaration; null where it always does.
  const char* (*skip)(const spi::Capabilities&);
};

/// In the order of CaseId.
[[nodiscard]] const std::vector<CaseRow>& case_table();

}  // namespace heddle::sandbox::conformance

// The cases, each a function that gives the reason why it failed, or nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/sandbox/conformance/conformance.h"
#include "heddle/sandbox/plugin/backend_process.h"
#include "processes.h"
#include "recorder.h"

namespace heddle::sandbox::conformance {

/// What all cases of one run of the kit share.
struct Setting {
  BackendFactory factory;
  Fixtures fixtures;
  Options options;
  spi::Capabilities declared;
  std::shared_ptr<const Adoption> adoption;
};

/// What a case works with: a backend of its own behind an effect of its own. Shared with the case's thread.
struct World {
  std::shared_ptr<const Setting> setting;
  std::shared_ptr<Recording> recording;
  std::shared_ptr<MemoryScripts> scripts;
  std::shared_ptr<spi::SandboxBackend> raw;      ///< as the factory gave it
  std::shared_ptr<spi::SandboxBackend> backend;  ///< with the recording around it
  std::unique_ptr<SandboxEffect> effect;

  [[nodiscard]] const Fixtures& fixtures() const { return setting->fixtures; }
  [[nodiscard]] const Options& options() const { return setting->options; }

  /// Where the backend runs: a process of its own, or null.
  [[nodiscard]] plugin::BackendProcess* process() const { return dynamic_cast<plugin::BackendProcess*>(raw.get()); }

  struct Run {
    std::string script;
    std::string input_json = "null";
    std::optional<std::chrono::milliseconds> clock;  ///< script_clock
    std::optional<std::uint64_t> memory;             ///< memory_bytes
    std::stop_token stop;
  };
  [[nodiscard]] SandboxEffect::Reply run(const Run& asked) const;
};

/// The options that a declaration needs, and no others (CNF-5).
[[nodiscard]] SandboxEffectOptions effect_options(const spi::Capabilities& declared, const Options& options);

/// Makes a backend and what is around it. The factory's call is bounded.
[[nodiscard]] core::Result<std::shared_ptr<World>> make_world(std::shared_ptr<const Setting> setting);
/// Closes the backend and lets go of it; never waits for long.
void leave(std::shared_ptr<World> world);

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

/// The words that all cases use for what came.
[[nodiscard]] std::string describe(const SandboxEffect::Reply& reply);
[[nodiscard]] std::string expected(std::string_view what, const SandboxEffect::Reply& reply);

// cases.cc
[[nodiscard]] Problem echo(World& world);
[[nodiscard]] Problem throws(World& world);
[[nodiscard]] Problem syntax_error(World& world);
[[nodiscard]] Problem limit_from_text(World& world);
[[nodiscard]] Problem rich_value(World& world);
[[nodiscard]] Problem no_escape(World& world);
[[nodiscard]] Problem composition(World& world);
// cases_limits.cc
[[nodiscard]] Problem runaway_loop(World& world);
[[nodiscard]] Problem cpu_budget(World& world);
[[nodiscard]] Problem allocation_bomb(World& world);
[[nodiscard]] Problem memory_as_asked(World& world);
[[nodiscard]] Problem already_aborted(World& world);
[[nodiscard]] Problem aborted_mid_run(World& world);
// cases_state.cc
[[nodiscard]] Problem own_answers(World& world);
[[nodiscard]] Problem fresh_per_run(World& world);
[[nodiscard]] Problem alive_after(World& world);
// cases_calls.cc
[[nodiscard]] Problem capabilities_hold(World& world);
[[nodiscard]] Problem calls_return(World& world);
// cases_leaks.cc
[[nodiscard]] Problem leaks_nothing(World& world);
[[nodiscard]] Problem outlives_nothing(World& world);

}  // namespace heddle::sandbox::conformance

// The conformance kit: the list of what every sandbox backend must do, run against one, through the effect that its
// users will use. It proves the declaration; what is not declared is skipped, and said to be.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/result.h"
#include "heddle/sandbox/conformance/fixtures.h"
#include "heddle/sandbox/effect/sandbox_effect.h"
#include "heddle/sandbox/spi/backend.h"

namespace heddle::sandbox::conformance {

/// Rises when a case comes or changes: a record of an older kit proves nothing of a newer one's.
inline constexpr std::string_view kKitVersion = "1.0.0";

enum class CaseId : std::uint8_t {
  echo,             ///< the input comes back as the result
  throws,           ///< an error of the script's is a scriptError with its message
  syntax_error,     ///< so is a script that does not parse
  runaway_loop,     ///< an endless loop ends as limitExceeded, cpu or wallClock
  cpu_budget,       ///< with a wall clock far away it ends as cpu (where cpu is declared)
  allocation_bomb,  ///< limitExceeded, memory (where memory is declared)
  rich_value,       ///< unicode, escapes, integers past 2^31, nesting, exactly, in the backend's own outcome
  no_escape,        ///< neither a network nor an object of the host is reached (where network is none)
  fresh_per_run,    ///< 16 runs in sequence and 8 at once see nothing of each other (where fresh per run is declared)
  already_aborted,  ///< a stop that was there before gives a cancellation, not a channel
  aborted_mid_run,  ///< a stop during a runaway: a cancellation, and the backend's own run ends too (where hard)
  composition,      ///< an oversized message arrives bounded and storable; this checks the effect
};

[[nodiscard]] std::string_view case_name(CaseId id) noexcept;

enum class CaseStatus : std::uint8_t { passed, failed, skipped };
[[nodiscard]] std::string_view status_name(CaseStatus status) noexcept;

struct CaseResult {
  CaseId id = CaseId::echo;
  CaseStatus status = CaseStatus::failed;
  std::string reason;  ///< why it failed or was skipped; bounded
  std::chrono::milliseconds took{0};
};

struct Report {
  spi::Capabilities declaration;
  std::vector<CaseResult> cases;  ///< all, in the order of CaseId

  [[nodiscard]] bool passed() const;  ///< none failed
};

/// A new backend each time; the kit closes it after use.
using BackendFactory = std::function<std::shared_ptr<spi::SandboxBackend>()>;

struct Options {
  std::chrono::milliseconds case_timeout{120'000};  ///< a case that takes longer has failed
  std::chrono::milliseconds runaway_clock{500};     ///< the wall clock that the runaway loop is given
  std::chrono::milliseconds script_clock{20'000};   ///< that every other script is given
  std::uint64_t memory_bytes = std::uint64_t{64} << 20;
  /// How an evaluation is run. For the kit's own tests, which put a broken effect here.
  std::function<SandboxEffect::Reply(const SandboxEffect&, const SandboxEvalInput&, const std::stop_token&)> evaluate;
};

/// Runs all cases, one after the other, each on a backend of its own. `fixtures` null: the kit's JavaScript. An Error
/// only where there is nothing to report on: no backend, one that the effect refuses, another language without
/// fixtures.
///
/// A backend that blocks in evaluate() keeps its case's thread; the case fails at its time-out and the kit goes on.
[[nodiscard]] core::Result<Report> run_sandbox_backend_conformance(const BackendFactory& factory,
                                                                   const Fixtures* fixtures = nullptr,
                                                                   const Options& options = {});

/// A table for people, a line a case.
[[nodiscard]] std::string to_text(const Report& report);

}  // namespace heddle::sandbox::conformance

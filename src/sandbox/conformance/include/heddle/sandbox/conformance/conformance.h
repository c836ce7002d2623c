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
#include "heddle/sandbox/plugin/backend_file.h"
#include "heddle/sandbox/spi/backend.h"

namespace heddle::sandbox::conformance {

/// Rises when a case comes or changes: a record of an older kit proves nothing of a newer one's.
inline constexpr std::string_view kKitVersion = "2.0.0";

enum class CaseId : std::uint8_t {
  echo,               ///< the input comes back as the result
  throws,             ///< an error of the script's is a scriptError with its message
  syntax_error,       ///< so is a script that does not parse
  limit_from_text,    ///< an error, or a value, whose text looks like a limit's is what it is
  runaway_loop,       ///< an endless loop ends as limitExceeded, cpu or wallClock
  cpu_budget,         ///< with a wall clock far away it ends as cpu (where cpu is declared)
  allocation_bomb,    ///< limitExceeded, memory (where memory is declared)
  memory_as_asked,    ///< the limit of each run is the one that was asked for it (where memory is declared)
  rich_value,         ///< unicode, escapes, integers past 2^31, nesting, exactly, in the backend's own outcome
  own_answers,        ///< runs at once get their own answers
  no_escape,          ///< neither a network nor an object of the host is reached (where network is none or allowlist)
  fresh_per_run,      ///< runs in sequence, at once, and in sequence again see nothing of each other (where declared)
  alive_after,        ///< after each way in which a run can end, many at once, the next run works
  already_aborted,    ///< a stop that was there before gives a cancellation, not a channel
  aborted_mid_run,    ///< a stop during each runaway: a cancellation, and the backend's own run ends too (where hard)
  capabilities_hold,  ///< the declaration is the same each time, by every thread, of every backend
  calls_return,       ///< calls that must return at once do, while runs go on, and throw nothing
  leaks_nothing,      ///< threads, descriptors, processes and memory do not grow with the runs
  outlives_nothing,   ///< no process is left once the backend is closed and gone
  composition,        ///< an oversized message arrives bounded and storable, in the reply and in the log
};
inline constexpr std::size_t kCaseCount = static_cast<std::size_t>(CaseId::composition) + 1;

[[nodiscard]] std::string_view case_name(CaseId id) noexcept;
[[nodiscard]] std::optional<CaseId> case_named(std::string_view name) noexcept;

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
  std::vector<CaseResult> cases;  ///< in the order of CaseId: all, or those that were asked for

  [[nodiscard]] bool passed() const;  ///< none failed
};

/// A new backend each time; the kit closes it after use. A plugin::BackendProcess is a backend that the kit can watch
/// from outside: one that ends its process fails its case and no other, and nothing that it started is left.
using BackendFactory = plugin::BackendFactory;

struct Options {
  std::chrono::milliseconds case_timeout{120'000};  ///< a case that takes longer has failed
  std::chrono::milliseconds call_timeout{10'000};   ///< within this, a call that must return at once has returned
  std::chrono::milliseconds runaway_clock{500};     ///< the wall clock that the runaway loop is given
  std::chrono::milliseconds script_clock{20'000};   ///< that every other script is given
  std::uint64_t memory_bytes = std::uint64_t{64} << 20;
  std::vector<CaseId> only;  ///< empty: all
  /// How an evaluation is run, and what a runtime is given. For the kit's own tests, which put a broken effect here.
  std::function<SandboxEffect::Reply(const SandboxEffect&, const SandboxEvalInput&, const std::stop_token&)> evaluate;
  std::function<std::shared_ptr<const effect::Effect>(std::shared_ptr<const effect::Effect>)> registered;
};

/// Runs the cases, one after the other, each on a backend of its own. `fixtures` null: the kit's JavaScript. An Error
/// only where there is nothing to report on: no backend, one that the effect refuses or that does not say what it is,
/// another language without fixtures, one declaration and another of the second backend.
///
/// A backend that blocks where it must not keeps a thread of this process; the kit goes on. While the kit runs, this
/// process adopts orphans (PR_SET_CHILD_SUBREAPER), and the processes that it counts are all that came below it since:
/// do not start others meanwhile.
[[nodiscard]] core::Result<Report> run_sandbox_backend_conformance(const BackendFactory& factory,
                                                                   const Fixtures* fixtures = nullptr,
                                                                   const Options& options = {});

/// A table for people, a line a case; under it, where a case failed, how to run that one again.
[[nodiscard]] std::string to_text(const Report& report);

}  // namespace heddle::sandbox::conformance

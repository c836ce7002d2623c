// Flows: code that asks for effects, in sequence or side by side, and that may die at any moment. Run again under the
// same id, its code runs from the start, and each effect that the journal knows the end of gives its stored output
// instead of happening again.
//
// For that the code must be deterministic: same input and same replies, same effects asked for in the same order. Time,
// chance and files come from effects. docs/guide/flows.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/result.h"
#include "heddle/effect/runtime/runtime.h"

namespace heddle::effect {

struct AskOptions {
  /// How often an idempotent effect is tried when it gives an untyped failure that may pass (Retry::yes).
  std::uint32_t attempts = 1;
  std::chrono::milliseconds backoff{100};  ///< before the second attempt; doubled for each further one, up to a minute
  core::Deadline deadline = core::Deadline::never();  ///< of all attempts together
};

struct Ask {
  std::string effect;
  std::string input_json = "null";
  AskOptions options;
};

class FlowSession;

/// What a flow's code has in its hands. One thread at a time; `together` gives each of its threads a Flow of its own.
class Flow {
 public:
  Flow(FlowSession& session, std::string prefix) : session_(&session), prefix_(std::move(prefix)) {}
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  [[nodiscard]] const std::string& id() const noexcept;
  [[nodiscard]] std::string_view input_json() const noexcept;

  /// The effect's reply: stored, or of a run. Act on values and on typed failures. On Cancelled return at once: the
  /// stop was requested, or the flow cannot go on, and what the code returns then is not looked at. An untyped failure
  /// is for returning, too; the same command may get further later.
  [[nodiscard]] Reply<std::string> ask(std::string_view effect, std::string_view input_json,
                                       const AskOptions& options = {});

  /// Side by side, the replies in the order of `asks`. At most `threads` at a time.
  [[nodiscard]] std::vector<Reply<std::string>> ask_together(std::span<const Ask> asks, std::size_t threads = 16);

  /// Runs branches side by side, each in a thread with a Flow of its own; returns when all have.
  void together(std::span<const std::function<void(Flow&)>> branches, std::size_t threads = 16);

  [[nodiscard]] const std::stop_token& stop() const noexcept;

 private:
  FlowSession* session_;
  std::string prefix_;  // of its keys: "" or "3.2."
  std::uint32_t position_ = 0;
};

struct FlowSpec {
  std::string id;    ///< the application's: under it the flow is found again
  std::string name;  ///< of the code
  std::string input_json = "null";
  /// What it returns is how the flow ends. An exception is an untyped failure.
  std::function<Reply<std::string>(Flow&)> code;
};

enum class FlowState : std::uint8_t {
  ended,      ///< FLOW_ENDED is in the journal: with a value, a typed failure, or an untyped one (then it can go on)
  cancelled,  ///< stopped; the same call goes on
  in_doubt,   ///< an effect waits for resolve()
};

struct FlowRun {
  FlowState state = FlowState::ended;
  Reply<std::string> reply;    ///< Cancelled when cancelled; the typed kInDoubt when in doubt
  std::uint64_t replayed = 0;  ///< effects whose reply came out of the journal; 0 when the flow had ended before
  std::uint64_t ran = 0;       ///< attempts that were made, refused ones included
};

/// Begins a flow, goes on with it, or gives the stored end of one that has ended with a value or a typed failure.
///
/// Errors, after which nothing more has been done and the same call may be made again: Errc::invalid_argument when the
/// code does not ask what the journal has (both are named), when the id belongs to another name or input, when the flow
/// runs in this process already or another process has taken it over; what the store gives otherwise.
[[nodiscard]] core::Result<FlowRun> run_flow(EffectRuntime& runtime, const FlowSpec& spec,
                                             const std::stop_token& stop = {});

struct Verdict {
  enum class Kind : std::uint8_t { done, failed, run_again };
  Kind kind = Kind::run_again;
  std::string by;           ///< who says so
  std::string reason;       ///< why
  std::string output_json;  ///< for `done`
};

/// An operator's word on an effect that is in doubt (or was cancelled, or ended with an untyped failure), as a RESOLVED
/// fact. Errc::not_found when the flow has no such effect, invalid_argument when nothing about it is open.
[[nodiscard]] core::Result<void> resolve(journal::Store& store, std::string_view flow, std::string_view key,
                                         const Verdict& verdict);

}  // namespace heddle::effect

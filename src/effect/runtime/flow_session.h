// One run of a flow: the journal's past of it beside what its code asks for now. Shared by the flow's branches.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "heddle/effect/runtime/flow.h"
#include "history.h"
#include "runtime_impl.h"

namespace heddle::effect {

/// A place in a flow: "3", or "3.2.1" for the first effect of the second branch of the third step.
struct Place {
  std::string_view prefix;  ///< "3.2."
  std::uint32_t position = 0;

  [[nodiscard]] std::string key() const { return std::string(prefix) + std::to_string(position); }
};

class FlowSession {
 public:
  FlowSession(EffectRuntime::Impl& runtime, const FlowSpec& spec, const std::stop_token& stop)
      : runtime_(runtime), spec_(spec), stop_(stop) {}

  /// Reads the flow's past and takes it up with a FLOW_STARTED. A reply when the flow has ended for good before.
  [[nodiscard]] core::Result<std::optional<Reply<std::string>>> begin();

  [[nodiscard]] Reply<std::string> ask(const Place& place, std::string_view effect, std::string_view input_json,
                                       const AskOptions& options);
  /// Before branches run: does the journal have as many at this place?
  void check_branches(const Place& place, std::size_t branches);

  /// Calls code of the application's; an exception becomes the reply of the flow.
  template <class Code>
  void guarded(const Code& code) noexcept {
    try {
      code();
    } catch (...) {
      threw(std::current_exception());
    }
  }

  /// Ends the run with what the code returned.
  [[nodiscard]] core::Result<FlowRun> finish(Reply<std::string> reply);

  [[nodiscard]] const FlowSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }

 private:
  class Guard;
  struct Plan {
    enum class Kind : std::uint8_t { run, stored, in_doubt, stopped };
    Kind kind = Kind::run;
    const Past* past = nullptr;
    std::uint32_t attempt = 1;
    std::uint32_t errors = 0;
  };

  [[nodiscard]] Plan plan(const Place& place, std::string_view effect, std::string_view input_json);
  [[nodiscard]] Plan plan_known(const Place& place, const Past& past, std::string_view effect);
  [[nodiscard]] bool agrees(const Place& place, const Past& past, std::string_view effect, std::string_view input_json);
  [[nodiscard]] bool may_run_again(const Past& past, std::string_view effect) const;
  [[nodiscard]] bool has_under(const std::string& key) const;  // an effect, or a branch's
  [[nodiscard]] bool went_on_after(const Place& place) const;
  [[nodiscard]] Reply<std::string> replay(const Place& place, const Past& past, std::string_view effect,
                                          std::string_view input_json);
  [[nodiscard]] Reply<std::string> run(const Place& place, std::string_view effect, std::string_view input_json,
                                       const AskOptions& options, Plan plan);
  [[nodiscard]] Reply<std::string> doubt(const Place& place, const Past& past);
  [[nodiscard]] core::Result<void> end(const journal::Draft& ended);

  void threw(const std::exception_ptr& exception);
  void halt(core::Error error);
  void diverged(const std::string& key, const std::string& journal_has, const std::string& code_asks);
  [[nodiscard]] bool halted() const;
  [[nodiscard]] std::string stored_input(const Past& past);
  [[nodiscard]] static std::string excerpt(std::string_view json);

  EffectRuntime::Impl& runtime_;
  const FlowSpec& spec_;
  const std::stop_token stop_;
  History history_;  // not changed after begin()

  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> visited_;
  std::optional<core::Error> error_;      // the run cannot go on
  std::optional<TypedFailure> in_doubt_;  // likewise
  std::optional<UntypedFailure> thrown_;
  std::atomic<bool> cancelled_{false};
  std::uint64_t alone_upto_ = 0;  // up to this sequence nobody else has taken the flow up
  std::atomic<std::uint64_t> replayed_{0};
  std::atomic<std::uint64_t> ran_{0};
};

}  // namespace heddle::effect

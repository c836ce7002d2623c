// What stands behind EffectRuntime: the rings in their order, and the facts around them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <shared_mutex>
#include <span>

#include "heddle/effect/runtime/runtime.h"
#include "heddle/effect/schema/shape.h"
#include "heddle/journal/core/facts.h"

namespace heddle::effect {

// What a flow does around its calls. Called by the thread that makes the call.
class CallGuard {
 public:
  virtual ~CallGuard() = default;
  /// The INTENT is durable and nothing has happened yet. An error ends the call here.
  [[nodiscard]] virtual core::Result<void> intended(const journal::Receipt& receipt) = 0;
  virtual void settled(const journal::Receipt& receipt) = 0;
};

class EffectRuntime::Impl {
 public:
  struct Entry {
    std::shared_ptr<const Effect> effect;
    std::shared_ptr<Executor> executor;  // null: the effect itself
    std::optional<Shape> input;
    std::optional<Shape> output;
  };

  Impl(Rings rings, RuntimeOptions options) : rings_(std::move(rings)), options_(options) {}

  [[nodiscard]] core::Result<void> add(std::shared_ptr<const Effect> effect, std::shared_ptr<Executor> executor);
  /// Stays where it is for the life of the runtime; null when there is none.
  [[nodiscard]] const Entry* find(std::string_view kind) const;

  /// As EffectRuntime::execute. An Error is the journal's, or the guard's: whether the effect happened is in the
  /// journal as far as it got there, and the caller must not go on.
  [[nodiscard]] core::Result<Reply<std::string>> run(const Invocation& invocation, const std::stop_token& stop,
                                                     core::Deadline deadline, CallGuard* guard);

  [[nodiscard]] journal::Store& store() const { return *rings_.journal; }
  [[nodiscard]] Meter& meter() const { return *rings_.meter; }
  /// For appends that must be seen through.
  [[nodiscard]] journal::Wait patience() const { return {{}, core::Deadline::after(options_.journal_wait)}; }

  /// False when the flow is running here already.
  [[nodiscard]] bool enter(const std::string& flow);
  void leave(const std::string& flow);

 private:
  struct Attempt;

  [[nodiscard]] std::optional<Reply<std::string>> refuse(Attempt& attempt, Scheduler::Slot& slot);
  [[nodiscard]] core::Result<Reply<std::string>> call(Attempt& attempt, Scheduler::Slot slot);
  [[nodiscard]] Reply<std::string> check(const Attempt& attempt, Reply<std::string> reply,
                                         core::Deadline deadline) const;
  [[nodiscard]] core::Result<void> append(Attempt& attempt, std::span<const journal::Draft> drafts) const;
  [[nodiscard]] core::Result<void> record_unbegun(Attempt& attempt, const Reply<std::string>& reply) const;

  const Rings rings_;
  const RuntimeOptions options_;
  mutable std::shared_mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::set<std::string> flows_;
};

/// The OUTCOME of a reply.
[[nodiscard]] journal::Draft outcome_of(const journal::EffectRef& ref, const Reply<std::string>& reply);

/// What the authorizer's refusal is to the flow, now and on replay. Both bounded as in the fact.
[[nodiscard]] Reply<std::string> denied_reply(std::string_view rule, std::string_view reason);

/// {"name":"value",…}, the values bounded.
[[nodiscard]] std::string detail(std::initializer_list<std::pair<std::string_view, std::string_view>> members);

/// What a catch-all caught, its type kept.
[[nodiscard]] UntypedFailure from_exception(std::string_view what, const std::exception_ptr& exception);

}  // namespace heddle::effect

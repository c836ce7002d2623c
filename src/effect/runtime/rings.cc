// One attempt of an effect on its way through the rings. EFF-1's order is the order of this file.
#include <algorithm>
#include <utility>

#include "heddle/core/json.h"
#include "heddle/core/text.h"
#include "recorder.h"
#include "runtime_impl.h"

namespace heddle::effect {
namespace {

using core::Deadline;
using core::Errc;
using journal::Draft;
using journal::EffectRef;
using journal::Repeatable;
using Text = Reply<std::string>;

Text failed(std::string_view channel, std::string detail_json, std::string_view message) {
  return TypedFailure{std::string(channel), std::move(detail_json), core::bound_text(message)};
}

Text exceeded(const Exceeded& what) {
  const std::string_view resource = resource_name(what.resource);
  const std::string limit = std::to_string(what.limit);
  return failed(kBudgetExceeded, "{\"resource\":\"" + std::string(resource) + "\",\"limit\":" + limit + "}",
                "the flow's budget of " + limit + (what.resource == Resource::time ? " us of " : " ") +
                    std::string(resource) + " is used up");
}

Text invalid(std::string_view channel, std::string_view what, std::string_view why) {
  const std::string message = core::bound_text("the " + std::string(what) + " does not fit: " + std::string(why));
  return failed(channel, detail({{"message", message}}), message);
}

// A value held against a schema: a reply when it does not fit, or when stop or deadline came first.
std::optional<Text> misfit(const Shape& shape, std::string_view channel, std::string_view what, std::string_view value,
                           const std::stop_token& stop, Deadline deadline) {
  const Shape::Verdict verdict = shape.check(value, stop, deadline);
  if (verdict.fits()) return std::nullopt;
  if (verdict.kind == Shape::Verdict::Kind::differs) return invalid(channel, what, verdict.why);
  if (stop.stop_requested()) return Cancelled{"cancelled while its " + std::string(what) + " was checked"};
  return untyped("the deadline passed while its " + std::string(what) + " was checked", Retry::yes);
}

Text call_handler(const EffectRuntime::Impl::Entry& entry, std::string_view input_json, const Call& call) {
  try {
    if (entry.executor != nullptr) return entry.executor->execute(*entry.effect, input_json, call);
    return entry.effect->execute(input_json, call);
  } catch (...) {
    return from_exception("the effect " + std::string(entry.effect->kind()), std::current_exception());
  }
}

core::Error cannot(Errc code, std::string_view effect, std::string_view why) {
  return core::make_error(code, "run the effect " + core::bound_text(effect, 64), why);
}

std::optional<core::Error> malformed(const Invocation& invocation) {
  if (invocation.flow.empty() || invocation.key.empty()) {
    return cannot(Errc::invalid_argument, invocation.effect, "the flow and the effect's key must be given");
  }
  if (invocation.input_json.size() > journal::kMaxBodyBytes) {
    return cannot(Errc::too_large, invocation.effect, "its input is over 64 MiB");
  }
  if (!core::is_json(invocation.input_json, journal::kMaxFactDepth))
    return cannot(Errc::malformed, invocation.effect, "its input is not JSON");
  return std::nullopt;
}

Decision ask(const Authorizer& authorizer, const Request& request) {
  try {
    return authorizer.authorize(request);
  } catch (...) {
    return Decision::deny("error", from_exception("the authorizer", std::current_exception()).message);
  }
}

}  // namespace

struct EffectRuntime::Impl::Attempt {
  const Invocation& invocation;
  const Entry* entry;
  const std::stop_token& stop;
  Deadline deadline;
  CallGuard* guard;
  EffectRef ref;
  Annotations annotations;
  std::optional<Draft> denied;                         // instead of an OUTCOME
  std::optional<std::chrono::microseconds> time_left;  // of the flow's budget

  // When the effect must have ended, checks included, counted from now.
  [[nodiscard]] Deadline end() const {
    return time_left ? Deadline::earlier(deadline, Deadline::after(*time_left)) : deadline;
  }

  [[nodiscard]] Draft intent() const {
    const bool idempotent = entry != nullptr && entry->effect->idempotency() == Idempotency::idempotent;
    return journal::intent(ref, idempotent ? Repeatable::yes : Repeatable::no, annotations,
                           std::string(invocation.input_json));
  }
};

core::Result<void> EffectRuntime::Impl::append(Attempt& attempt, std::span<const Draft> drafts) const {
  HEDDLE_ASSIGN(const journal::Receipt receipt, store().append(drafts, patience()));
  if (attempt.guard != nullptr) attempt.guard->settled(receipt);
  return {};
}

// What was refused before it began: asked and answered in one append.
core::Result<void> EffectRuntime::Impl::record_unbegun(Attempt& attempt, const Text& reply) const {
  const std::array<Draft, 2> drafts{attempt.intent(),
                                    attempt.denied ? *std::move(attempt.denied) : outcome_of(attempt.ref, reply)};
  return append(attempt, drafts);
}

// Authorize, schedule, meter, validate input: a reply when one of them refuses.
std::optional<Text> EffectRuntime::Impl::refuse(Attempt& attempt, Scheduler::Slot& slot) {
  const Invocation& of = attempt.invocation;
  if (attempt.entry == nullptr) return untyped(cannot(Errc::not_found, of.effect, "none of this kind has been added"));
  try {
    attempt.annotations = attempt.entry->effect->annotations(of.input_json);
  } catch (...) {
    return from_exception("the effect " + std::string(of.effect), std::current_exception());
  }

  const Decision decision =
      ask(*rings_.authorizer, Request{of.flow, of.key, of.effect, of.input_json, attempt.annotations});
  if (!decision.allowed()) {
    attempt.denied = journal::effect_denied(attempt.ref, decision.rule(), decision.reason());
    return denied_reply(core::bound_text(decision.rule(), 256), core::bound_text(decision.reason()));
  }

  auto place = rings_.scheduler->acquire(of.flow, of.effect, attempt.stop, attempt.deadline);
  if (!place.ok()) {
    if (place.error().code == Errc::cancelled) return Cancelled{"cancelled while it waited for its turn"};
    return untyped(place.error(), Retry::yes);
  }
  slot = std::move(place).value();

  const Meter::Admission admission = rings_.meter->admit(of.flow, of.effect, of.input_json.size());
  if (admission.refused) return exceeded(*admission.refused);
  attempt.time_left = admission.time_left;

  if (attempt.entry->input) {
    return misfit(*attempt.entry->input, kInvalidInput, "input", of.input_json, attempt.stop, attempt.end());
  }
  return std::nullopt;
}

// What the effect gave, held against what it said of itself.
Text EffectRuntime::Impl::check(const Attempt& attempt, Text reply, Deadline deadline) const {
  if (reply.ok()) {
    const std::string& output = reply.value();
    if (output.size() > journal::kMaxBodyBytes) return invalid(kInvalidOutput, "output", "it is over 64 MiB");
    if (!core::is_json(output)) {
      return invalid(kInvalidOutput, "output", "it is not JSON, or nested too deep to be stored");
    }
    if (attempt.entry->output) {
      const Shape& shape = *attempt.entry->output;
      if (auto instead = misfit(shape, kInvalidOutput, "output", output, attempt.stop, deadline)) {
        return *std::move(instead);
      }
    }
    return reply;
  }
  if (reply.is_cancelled()) {
    if (attempt.stop.stop_requested()) return Cancelled{core::bound_text(reply.cancelled().message)};
    return untyped("the effect gave up without being asked to: " + reply.cancelled().message, Retry::yes);
  }
  if (reply.is_untyped()) {
    UntypedFailure failure = std::move(reply).untyped();
    failure.message = core::bound_text(failure.message);
    return failure;
  }
  TypedFailure failure = std::move(reply).typed();
  const auto channels = attempt.entry->effect->channels();
  if (std::find(channels.begin(), channels.end(), failure.channel) == channels.end()) {
    return untyped("the effect gave a failure on the channel '" + core::bound_text(failure.channel, 64) +
                   "', which it does not declare: " + failure.message);
  }
  if (failure.detail_json.size() > journal::kMaxBodyBytes || !core::is_json_object(failure.detail_json)) {
    return untyped("the effect gave details of a failure that are not a JSON object: " + failure.message);
  }
  failure.message = core::bound_text(failure.message);
  return failure;
}

core::Result<Text> EffectRuntime::Impl::call(Attempt& attempt, Scheduler::Slot slot) {
  const Invocation& of = attempt.invocation;
  {
    journal::Wait wait = patience();
    wait.stop = attempt.stop;
    wait.deadline = Deadline::earlier(wait.deadline, attempt.deadline);
    const Draft intent = attempt.intent();
    const auto receipt = store().append(std::span<const Draft>(&intent, 1), wait);
    if (!receipt.ok()) {
      if (receipt.error().code == Errc::cancelled) return Text(Cancelled{"cancelled before it began"});
      return receipt.error();
    }
    if (attempt.guard != nullptr) HEDDLE_TRY(attempt.guard->intended(receipt.value()));
  }

  std::string key;
  key.reserve(of.flow.size() + 1 + of.key.size());
  key.append(of.flow).append(1, '/').append(of.key);
  Recorder recorder(options_.max_denials);
  const core::TimePoint begun = core::Clock::now();
  const Deadline deadline = attempt.end();
  Text reply = call_handler(*attempt.entry, of.input_json, Call{attempt.stop, deadline, std::move(key), &recorder});
  slot.release();
  reply = check(attempt, std::move(reply), deadline);
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(core::Clock::now() - begun);
  if (reply.is_untyped()) {
    if (const auto fatal = recorder.fatal()) {
      reply =
          failed(kAccessDenied, detail({{"syscall", fatal->syscall}, {"object", fatal->object}, {"rule", fatal->rule}}),
                 "the kernel refused " + fatal->syscall + " and the guest was ended: " + fatal->rule);
    } else if (attempt.time_left && took >= *attempt.time_left) {
      reply = exceeded({Resource::time, static_cast<std::uint64_t>(rings_.meter->budget().time->count())});
    }
  }
  const std::uint64_t output_bytes = (reply.ok() ? reply.value().size() : 0) + recorder.console_bytes();
  const auto over = rings_.meter->settle(of.flow, of.effect, took, of.input_json.size(), output_bytes);
  if (over && reply.ok()) reply = exceeded(*over);

  std::vector<Draft> drafts = recorder.drafts(attempt.ref);
  const Draft outcome = outcome_of(attempt.ref, reply);
  if (drafts.empty()) {
    HEDDLE_TRY(append(attempt, std::span<const Draft>(&outcome, 1)));
  } else {
    drafts.push_back(outcome);
    HEDDLE_TRY(append(attempt, drafts));
  }
  return reply;
}

core::Result<Text> EffectRuntime::Impl::run(const Invocation& invocation, const std::stop_token& stop,
                                            Deadline deadline, CallGuard* guard) {
  if (auto problem = malformed(invocation)) return Text(untyped(*problem));
  if (stop.stop_requested()) return Text(Cancelled{"cancelled before it began"});
  Attempt attempt{invocation, find(invocation.effect),
                  stop,       deadline,
                  guard,      {invocation.flow, invocation.key, invocation.effect, invocation.attempt},
                  {},         {},
                  {}};
  Scheduler::Slot slot;
  if (auto reply = refuse(attempt, slot)) {
    slot.release();
    if (!reply->is_cancelled()) HEDDLE_TRY(record_unbegun(attempt, *reply));
    return *std::move(reply);
  }
  return call(attempt, std::move(slot));
}

Text denied_reply(std::string_view rule, std::string_view reason) {
  return failed(kEffectDenied, detail({{"rule", rule}, {"reason", reason}}),
                "denied by the rule " + std::string(rule) + ": " + std::string(reason));
}

Draft outcome_of(const EffectRef& ref, const Text& reply) {
  if (reply.ok()) return journal::outcome_success(ref, reply.value());
  if (reply.is_typed()) {
    return journal::outcome_failure(ref, reply.typed().channel, reply.typed().message, reply.typed().detail_json);
  }
  if (reply.is_cancelled()) return journal::outcome_cancelled(ref, reply.cancelled().message);
  const UntypedFailure& failure = reply.untyped();
  return journal::outcome_error(ref, failure.message, failure.retry == Retry::yes ? Repeatable::yes : Repeatable::no);
}

}  // namespace heddle::effect

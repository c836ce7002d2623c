#include "flow_session.h"

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <utility>

#include "heddle/core/json.h"
#include "heddle/core/text.h"

namespace heddle::effect {
namespace {

using core::Errc;
using journal::EffectPhase;
using Text = Reply<std::string>;

constexpr std::chrono::milliseconds kMaxBackoff{60'000};

// The annotations as the INTENT of this call would have them.
std::string annotations_text(const EffectRuntime::Impl::Entry* entry, std::string_view input_json) {
  if (entry == nullptr) return {};
  try {
    const journal::Draft draft =
        journal::intent({}, journal::Repeatable::no, entry->effect->annotations(input_json), std::string());
    return std::string(core::json_member(draft.payload, "annotations").value_or(""));
  } catch (...) {
    return {};
  }
}

// False when the stop or the deadline came first.
bool sleep(std::chrono::milliseconds duration, const std::stop_token& stop, core::Deadline deadline) {
  const core::Deadline until = core::Deadline::after(duration);
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_until(lock, stop, core::Deadline::earlier(until, deadline).when(), [] { return false; });
  return !stop.stop_requested() && !deadline.passed();
}

}  // namespace

// Looks after each INTENT whether another run has taken the flow up since: then this one must not act.
class FlowSession::Guard final : public CallGuard {
 public:
  explicit Guard(FlowSession& session) : session_(session) {}

  core::Result<void> intended(const journal::Receipt& receipt) override {
    const std::lock_guard lock(session_.mutex_);
    if (receipt.first == session_.alone_upto_ + 1) {
      session_.alone_upto_ = receipt.last;
      return {};
    }
    journal::Query query;
    query.flow = session_.spec_.id;
    query.from = session_.alone_upto_ + 1;
    query.kinds = {journal::Kind::flow_started};
    query.limit = 1;
    query.bodies = journal::Bodies::digests_only;
    HEDDLE_ASSIGN(const journal::Page page, session_.runtime_.store().read(query, session_.runtime_.patience()));
    if (!page.facts.empty()) {
      return core::make_error(
          Errc::invalid_argument, "go on with the flow " + session_.spec_.id,
          "another run has taken it up (fact " + std::to_string(page.facts[0].sequence) + "); let that one finish");
    }
    session_.alone_upto_ = std::max(session_.alone_upto_, page.next - 1);
    return {};
  }

  void settled(const journal::Receipt& receipt) override {
    const std::lock_guard lock(session_.mutex_);
    if (receipt.first == session_.alone_upto_ + 1) session_.alone_upto_ = receipt.last;
  }

 private:
  FlowSession& session_;
};

void FlowSession::halt(core::Error error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
}

void FlowSession::threw(const std::exception_ptr& exception) {
  const std::lock_guard lock(mutex_);
  if (!thrown_) thrown_ = from_exception("the flow's code", exception);
}

bool FlowSession::halted() const {
  const std::lock_guard lock(mutex_);
  return error_.has_value() || in_doubt_.has_value();
}

void FlowSession::diverged(const std::string& key, const std::string& journal_has, const std::string& code_asks) {
  halt(core::make_error(Errc::invalid_argument, "replay the flow " + spec_.id,
                        "at effect " + key + " the journal has " + journal_has + ", and the code " + code_asks +
                            "; run the code that began this flow, or begin another one"));
}

std::string FlowSession::excerpt(std::string_view json) {
  constexpr std::size_t kMost = 100;
  std::string text = core::printable_line(core::bound_text(json, kMost));
  if (text.size() < json.size()) text += "…";
  return text;
}

std::string FlowSession::stored_input(const Past& past) {
  const auto fact = read_fact(runtime_.store(), spec_.id, past.intent, runtime_.patience());
  if (!fact.ok() || !fact.value().body) return "(unknown)";
  return excerpt(fact.value().body->text);
}

core::Result<std::optional<Text>> FlowSession::begin() {
  HEDDLE_TRY(read_history(runtime_.store(), spec_.id, history_, runtime_.patience()));
  if (history_.pruned != 0) {
    // What it did is not known any more, and it would do it again.
    return core::make_error(Errc::invalid_argument, "run the flow " + spec_.id,
                            "it has ended and was pruned from the journal (fact " + std::to_string(history_.pruned) +
                                "); give the new one an id of its own");
  }
  if (history_.started != 0) {
    if (history_.name != core::bound_text(spec_.name, 256) || history_.input != core::sha256(spec_.input_json)) {
      const auto fact = read_fact(runtime_.store(), spec_.id, history_.started, runtime_.patience());
      const std::string input = fact.ok() && fact.value().body ? excerpt(fact.value().body->text) : "(unknown)";
      return core::make_error(Errc::invalid_argument, "go on with the flow " + spec_.id,
                              "the journal has it as " + history_.name + " with the input " + input + " (fact " +
                                  std::to_string(history_.started) + "), and it is now asked for as " + spec_.name +
                                  " with the input " + excerpt(spec_.input_json) +
                                  "; give the new one an id of its own");
    }
    if (history_.ending == journal::Ending::success || history_.ending == journal::Ending::failure) {
      HEDDLE_ASSIGN(const journal::Fact fact,
                    read_fact(runtime_.store(), spec_.id, history_.ended, runtime_.patience()));
      return std::optional<Text>(reply_of(fact));
    }
  }
  const bool went_wrong = history_.ending.has_value();
  HEDDLE_ASSIGN(
      const std::uint64_t mine,
      runtime_.store().append_one(journal::flow_started(spec_.id, spec_.name, spec_.input_json), runtime_.patience()));
  // What another run has written since the reading; from here on it finds out that it is not alone.
  HEDDLE_TRY(read_history(runtime_.store(), spec_.id, history_, runtime_.patience()));
  if (went_wrong) history_.ending = journal::Ending::error;
  alone_upto_ = mine;
  return std::optional<Text>();
}

bool FlowSession::has_under(const std::string& key) const {
  if (history_.effects.find(key) != history_.effects.end()) return true;
  const auto group = history_.effects.lower_bound(key + '.');
  return group != history_.effects.end() && group->first.rfind(key + '.', 0) == 0;
}

bool FlowSession::went_on_after(const Place& place) const {
  std::string prefix(place.prefix);
  std::uint32_t position = place.position;
  for (;;) {
    if (has_under(prefix + std::to_string(position + 1))) return true;
    if (prefix.empty()) return false;
    // "3.2." is the second branch of step 3 of the flow itself.
    prefix.resize(prefix.rfind('.', prefix.size() - 2));
    const std::size_t dot = prefix.rfind('.');
    const std::size_t digits = dot == std::string::npos ? 0 : dot + 1;
    std::from_chars(prefix.data() + digits, prefix.data() + prefix.size(), position);
    prefix.resize(digits);
  }
}

void FlowSession::check_branches(const Place& place, std::size_t branches) {
  const std::string key = place.key();
  const auto single = history_.effects.find(key);
  if (single != history_.effects.end()) {
    diverged(key, single->second.effect + " with the input " + stored_input(single->second),
             "asks for " + std::to_string(branches) + " branches side by side");
    return;
  }
  const std::string prefix = key + '.';
  for (auto past = history_.effects.lower_bound(prefix);
       past != history_.effects.end() && past->first.rfind(prefix, 0) == 0; ++past) {
    std::size_t branch = 0;
    std::from_chars(past->first.data() + prefix.size(), past->first.data() + past->first.size(), branch);
    if (branch > branches) {
      diverged(past->first, past->second.effect + " in branch " + std::to_string(branch),
               "has " + std::to_string(branches) + " branches there");
      return;
    }
  }
}

bool FlowSession::agrees(const Place& place, const Past& past, std::string_view effect, std::string_view input_json) {
  const std::string annotations = annotations_text(runtime_.find(effect), input_json);
  if (past.effect == effect && past.input == core::sha256(input_json) &&
      (past.annotations == annotations || runtime_.find(effect) == nullptr)) {
    return true;
  }
  std::string journal_has = past.effect + " with the input " + stored_input(past);
  std::string code_asks = "asks for " + std::string(effect) + " with the input " + excerpt(input_json);
  if (past.annotations != annotations) {
    journal_has += " and " + (past.annotations.empty() ? "no annotations" : excerpt(past.annotations));
    code_asks += " and " + (annotations.empty() ? "no annotations" : excerpt(annotations));
  }
  diverged(place.key(), journal_has + " (fact " + std::to_string(past.intent) + ")", code_asks);
  return false;
}

bool FlowSession::may_run_again(const Past& past, std::string_view effect) const {
  const auto* entry = runtime_.find(effect);
  return past.repeatable && entry != nullptr && entry->effect->idempotency() == Idempotency::idempotent;
}

FlowSession::Plan FlowSession::plan_known(const Place& place, const Past& past, std::string_view effect) {
  Plan plan;
  plan.past = &past;
  plan.attempt = past.attempts + 1;
  if (!history_.ending) plan.errors = past.errors;  // else the flow had given up, and begins to count anew
  switch (past.phase) {
    case EffectPhase::succeeded:
    case EffectPhase::failed:
    case EffectPhase::denied:
      plan.kind = Plan::Kind::stored;
      return plan;
    case EffectPhase::errored: {
      // Nobody has acted on it yet when it is the last that the branch asked for.
      const bool again = past.retry && may_run_again(past, effect) && !went_on_after(place);
      plan.kind = again ? Plan::Kind::run : Plan::Kind::stored;
      return plan;
    }
    case EffectPhase::begun:
    case EffectPhase::cancelled:
      plan.kind = may_run_again(past, effect) ? Plan::Kind::run : Plan::Kind::in_doubt;
      return plan;
    case EffectPhase::none:
      return plan;  // the operator said so
  }
  return plan;
}

FlowSession::Plan FlowSession::plan(const Place& place, std::string_view effect, std::string_view input_json) {
  Plan stopped;
  stopped.kind = Plan::Kind::stopped;
  if (halted()) return stopped;
  const std::string key = place.key();
  const auto group = history_.effects.lower_bound(key + '.');
  if (group != history_.effects.end() && group->first.rfind(key + '.', 0) == 0) {
    diverged(key, "branches side by side, such as " + group->second.effect + " at " + group->first,
             "asks for " + std::string(effect) + " with the input " + excerpt(input_json));
    return stopped;
  }
  const auto found = history_.effects.find(key);
  if (found == history_.effects.end()) {
    if (went_on_after(place)) {
      diverged(key, "nothing, but something after it",
               "asks for " + std::string(effect) + " with the input " + excerpt(input_json));
      return stopped;
    }
    return {};
  }
  {
    const std::lock_guard lock(mutex_);
    visited_.insert(key);
  }
  // An effect that was only spoken of has no input to compare.
  if (found->second.intent != 0 && !agrees(place, found->second, effect, input_json)) return stopped;
  return plan_known(place, found->second, effect);
}

Text FlowSession::doubt(const Place& place, const Past& past) {
  const std::string key = place.key();
  std::string details = detail({{"effect", past.effect}, {"key", key}});
  details.pop_back();
  details += ",\"attempt\":" + std::to_string(past.attempts) + ",\"intent\":" + std::to_string(past.intent) + "}";
  TypedFailure failure{std::string(kInDoubt), std::move(details),
                       past.effect + " (effect " + key + ") was begun (fact " + std::to_string(past.intent) +
                           ") and nobody knows whether it was done; find out, and resolve it"};
  const std::lock_guard lock(mutex_);
  if (!in_doubt_) in_doubt_ = failure;
  return failure;
}

Text FlowSession::replay(const Place& place, const Past& past, std::string_view effect, std::string_view input_json) {
  const auto fact = read_fact(runtime_.store(), spec_.id, past.settled_by, runtime_.patience());
  if (!fact.ok()) {
    halt(fact.error());
    return Cancelled{"the flow cannot go on at effect " + place.key()};
  }
  Text reply = reply_of(fact.value());
  replayed_.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t output = reply.ok() ? reply.value().size() : 0;
  runtime_.meter().count(spec_.id, effect,
                         Usage{past.charged, past.spent, past.charged * input_json.size() + output + past.written, 0});
  return reply;
}

Text FlowSession::run(const Place& place, std::string_view effect, std::string_view input_json,
                      const AskOptions& options, Plan plan) {
  if (plan.past != nullptr && plan.past->charged != 0) {
    runtime_.meter().count(
        spec_.id, effect,
        Usage{plan.past->charged, plan.past->spent, plan.past->charged * input_json.size() + plan.past->written, 0});
  }
  const std::string key = place.key();
  Guard guard(*this);
  std::chrono::milliseconds backoff = options.backoff;
  for (;; ++plan.attempt) {
    auto result = runtime_.run({spec_.id, key, effect, input_json, plan.attempt}, stop_, options.deadline, &guard);
    if (!result.ok()) {
      halt(std::move(result).error());
      return Cancelled{"the flow cannot go on at effect " + key};
    }
    Text reply = std::move(result).value();
    if (reply.is_cancelled()) cancelled_ = true;
    ran_.fetch_add(1, std::memory_order_relaxed);
    const auto* entry = runtime_.find(effect);
    const bool again = reply.is_untyped() && reply.untyped().retry == Retry::yes && entry != nullptr &&
                       entry->effect->idempotency() == Idempotency::idempotent && ++plan.errors < options.attempts;
    if (!again) return reply;
    if (!sleep(backoff, stop_, options.deadline)) {
      if (!stop_.stop_requested()) return reply;
      cancelled_ = true;
      return Cancelled{"cancelled before another attempt"};
    }
    backoff = std::min(backoff * 2, kMaxBackoff);
  }
}

Text FlowSession::ask(const Place& place, std::string_view effect, std::string_view input_json,
                      const AskOptions& options) {
  const Plan plan = this->plan(place, effect, input_json);
  switch (plan.kind) {
    case Plan::Kind::stopped:
      return Cancelled{"the flow cannot go on"};
    case Plan::Kind::in_doubt:
      return doubt(place, *plan.past);
    case Plan::Kind::stored:
      return replay(place, *plan.past, effect, input_json);
    case Plan::Kind::run:
      break;
  }
  return run(place, effect, input_json, options, plan);
}

core::Result<void> FlowSession::end(const journal::Draft& ended) {
  HEDDLE_TRY(Guard(*this).intended({0, 0}));
  const auto receipt = runtime_.store().append_one(ended, runtime_.patience());
  if (!receipt.ok()) return receipt.error();
  return {};
}

core::Result<FlowRun> FlowSession::finish(Text reply) {
  const auto made = [&](FlowState state, Text with) {
    return FlowRun{state, std::move(with), replayed_.load(), ran_.load()};
  };
  {
    const std::lock_guard lock(mutex_);
    if (error_) return *error_;
    if (in_doubt_) return made(FlowState::in_doubt, *in_doubt_);
    if (thrown_) reply = *thrown_;
  }
  if (cancelled_ || (reply.is_cancelled() && stop_.stop_requested())) {
    Cancelled cancelled{"the flow was stopped; the same call goes on with it"};
    HEDDLE_TRY(end(journal::flow_ended(spec_.id, journal::Ending::cancelled, {}, cancelled.message, std::nullopt)));
    return made(FlowState::cancelled, std::move(cancelled));
  }
  for (const auto& [key, past] : history_.effects) {
    if (past.intent == 0 || visited_.count(key) != 0) continue;
    diverged(key, past.effect + " with the input " + stored_input(past) + " (fact " + std::to_string(past.intent) + ")",
             "ends without asking for it");
    return *error_;
  }
  if (reply.is_cancelled())
    reply = untyped("the flow's code gave up without being asked to: " + reply.cancelled().message);
  if (reply.ok() && (reply.value().size() > journal::kMaxBodyBytes || !core::is_json(reply.value()))) {
    reply = untyped("the flow's code returned what is not JSON, or too large to be stored");
  }
  if (reply.is_typed() && !core::is_json_object(reply.typed().detail_json)) {
    reply = untyped("the flow's code returned a failure whose details are not a JSON object: " + reply.typed().message);
  }
  if (reply.ok()) {
    HEDDLE_TRY(end(journal::flow_ended(spec_.id, journal::Ending::success, {}, {}, reply.value())));
  } else if (reply.is_typed()) {
    const TypedFailure& failure = reply.typed();
    HEDDLE_TRY(end(journal::flow_ended(spec_.id, journal::Ending::failure, failure.channel, failure.message,
                                       failure.detail_json)));
  } else {
    HEDDLE_TRY(end(journal::flow_ended(spec_.id, journal::Ending::error, {}, reply.untyped().message, std::nullopt)));
  }
  return made(FlowState::ended, std::move(reply));
}

}  // namespace heddle::effect

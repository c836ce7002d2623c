#include "heddle/sandbox/effect/sandbox_effect.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

#include "foreign.h"
#include "guard.h"
#include "heddle/core/text.h"
#include "heddle/effect/schema/json_text.h"
#include "heddle/effect/schema/shape.h"
#include "race.h"

namespace heddle::sandbox {
namespace {

using core::kMaxJsonDepth;
using effect::Cancelled;
using effect::compact_json;
using effect::CompactJson;
using effect::JsonVerdict;
using effect::Retry;
using effect::Shape;
using effect::shape_hash;
using effect::UntypedFailure;
using Reply = SandboxEffect::Reply;

Cancelled cancelled() { return {"sandbox: cancelled"}; }

core::Error refused(std::string_view why) {
  return core::make_error(core::Errc::invalid_argument, "use a sandbox backend", why);
}

UntypedFailure refused_input(std::string_view why) {
  UntypedFailure failure = effect::untyped("sandbox: " + std::string(why));
  failure.error = core::make_error(core::Errc::invalid_argument, "read the input of sandboxEval", failure.message);
  return failure;
}

SandboxFailure on(Channel channel, std::string message) {
  SandboxFailure failure;
  failure.channel = channel;
  failure.message = std::move(message);
  return failure;
}

SandboxFailure exceeded(Limit limit, std::string message) {
  SandboxFailure failure = on(Channel::limit_exceeded, std::move(message));
  failure.limit = limit;
  return failure;
}

// What is kept of a console, and what a line of it costs beside its text.
constexpr std::uint64_t kMaxConsoleBytes = std::uint64_t{64} << 10;
constexpr std::uint64_t kConsoleLineBytes = 16;

std::string bytes_over(std::string_view what, std::uint64_t ceiling) {
  return "the " + std::string(what) + " is over its ceiling of " + std::to_string(ceiling) + " bytes of JSON";
}

// Another thing than a text that is too large: no ceiling that could be raised helps.
SandboxFailure too_deep(SandboxFailure failure, std::string_view what) {
  failure.message =
      "the " + std::string(what) + " is nested more than " + std::to_string(kMaxJsonDepth) + " levels deep";
  failure.hint = failure.message + ", which no option raises: make it flatter";
  return failure;
}

// What an input asks for, with the defaults filled in and checked.
struct Limits {
  spi::Limits run;
  std::uint64_t input_bytes;
  std::uint64_t output_bytes;
};

std::optional<std::string> bad_limits(const Limits& limits) {
  if (limits.run.wall_clock.count() <= 0 || limits.run.wall_clock > kMaxWallClock) {
    return "the wall clock must be above zero and at most " + std::to_string(kMaxWallClock.count()) + " hours";
  }
  if (limits.run.memory_bytes == 0) return "the memory limit must be above zero";
  if (limits.input_bytes == 0 || limits.output_bytes == 0) return "the ceilings of input and output must be above zero";
  return std::nullopt;
}

// A call lowers what the host allows, and never raises it (SBX-12).
template <class Value>
Value lowered(const std::optional<Value>& asked, Value most) {
  return std::min(asked.value_or(most), most);
}

Limits limits_of(const EvalLimits& asked, const SandboxEffectOptions& options) {
  return {{lowered(asked.wall_clock, options.wall_clock), lowered(asked.memory_bytes, options.memory_bytes)},
          lowered(asked.input_bytes, options.input_bytes),
          lowered(asked.output_bytes, options.output_bytes)};
}

std::optional<std::string> bad_capabilities(const spi::Capabilities& capabilities) {
  const std::string& language = capabilities.language;
  if (language.empty() || language.size() > 64 ||
      language.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-_.#") != std::string::npos) {
    return "its language must be 1 to 64 of a-z 0-9 + - _ . #";
  }
  switch (capabilities.network) {
    case spi::Network::none:
    case spi::Network::allowlist:
    case spi::Network::open:
      break;
    default:
      return "its network is none of none, allowlist, open";
  }
  switch (capabilities.wall_clock) {
    case spi::WallClock::hard:
    case spi::WallClock::soft:
      break;
    default:
      return "its wall clock is none of hard, soft";
  }
  return std::nullopt;
}

// Fetched bytes are somebody else's until they have the address.
effect::Reply<std::string> fetch(ScriptReader& scripts, const effect::ContentAddress& address, std::size_t max_bytes,
                                 const ScriptReader::Wait& wait) {
  std::string script;
  try {
    auto fetched = scripts.read(address, max_bytes, wait);
    if (!fetched.ok()) {
      if (fetched.error().code == core::Errc::cancelled && wait.stop.stop_requested()) return cancelled();
      const bool known = fetched.error().code == core::Errc::not_found || fetched.error().code == core::Errc::too_large;
      return effect::untyped(fetched.error(), known ? Retry::no : Retry::yes);
    }
    script = std::move(fetched).value();
  } catch (...) {
    return from_exception(std::current_exception(), "sandbox: the script reader failed: ");
  }
  if (effect::ContentAddress::of(script) != address) {
    return effect::untyped("sandbox: the script that was fetched as " + address.text() +
                           " does not have that content address");
  }
  if (!core::valid_utf8(script)) return effect::untyped("sandbox: the script " + address.text() + " is not UTF-8");
  return script;
}

// More is as good as for ever, and would overflow the clock's type.
constexpr std::chrono::milliseconds kLongestGrace = std::chrono::years(100);

// How long a backend and the check of what it gave are waited for, and whose deadline that is.
struct Patience {
  Patience(const Limits& limits, const SandboxEffectOptions& options, std::stop_token callers_stop,
           core::Deadline callers)
      : stop(std::move(callers_stop)),
        own(limits.run.wall_clock + std::min(options.backend_grace, kLongestGrace)),
        deadline(core::Deadline::after(own)) {
    callers_first = callers.when() < deadline.when();
    if (callers_first) deadline = callers;
  }

  // What became of a call that `what` kept until the deadline.
  [[nodiscard]] UntypedFailure missed(std::string_view what) const {
    return effect::untyped(callers_first
                               ? "sandbox: the deadline of the call passed"
                               : std::string(what) + " did not settle within " + std::to_string(own.count()) + " ms",
                           Retry::yes);
  }

  std::stop_token stop;
  std::chrono::milliseconds own;
  core::Deadline deadline;
  bool callers_first;
};

// What is known of a call before the backend is asked.
struct CheckedCall {
  Limits limits;
  Patience patience;
  std::optional<Shape> shape;
  std::string script;
  std::string input_json;
};

Reply deliver(spi::Outcome outcome, const CheckedCall& call) {
  const std::uint64_t ceiling = call.limits.output_bytes;
  if (!outcome.value_json) outcome.value_json = "null";
  CompactJson value = compact_json(*outcome.value_json, ceiling);
  switch (value.verdict) {
    case JsonVerdict::good:
      break;
    case JsonVerdict::malformed:
      return backend_failed("malformed outcome: its value is " + value.why);
    case JsonVerdict::too_large:
      return exceeded(Limit::output, bytes_over("output", ceiling));
    case JsonVerdict::too_deep:
      return too_deep(exceeded(Limit::output, {}), "output");
  }
  Evaluated evaluated{std::move(value.text), std::nullopt};
  if (call.shape) {
    Shape::Verdict verdict = call.shape->check(evaluated.value_json, call.patience.stop, call.patience.deadline);
    if (verdict.kind == Shape::Verdict::Kind::differs) return on(Channel::shape_mismatch, std::move(verdict.why));
    if (!verdict.fits()) return call.patience.missed("sandbox: the check of the result's shape");
    evaluated.shape_hash = call.shape->hash();
  }
  return evaluated;
}

Reply map_outcome(spi::Outcome outcome, const CheckedCall& call) {
  const OutcomeRow* row = row_of(outcome);
  if (row == nullptr) {
    return backend_failed(outcome.kind == spi::Outcome::Kind::limit
                              ? "malformed outcome: its limit is not one of the interface's"
                              : "malformed outcome: its kind is not one of the interface's");
  }
  if (row->meaning == Meaning::retryable) return backend_failed(outcome.message, Retry::yes);
  if (row->meaning == Meaning::value) return deliver(std::move(outcome), call);

  SandboxFailure failure;
  failure.channel = *row->channel;
  failure.limit = row->reported;
  if (failure.channel == Channel::script_error) {
    if (outcome.name) failure.name = core::bound_text(*outcome.name);
    failure.message = core::bound_text(outcome.message);
    failure.line = outcome.line;
    failure.column = outcome.column;
  } else if (failure.channel == Channel::input_too_large) {
    failure.message =
        "the input did not fit into the script's memory of " + std::to_string(call.limits.run.memory_bytes) + " bytes";
  } else {
    failure.message = "the script was ended by its limit: " + std::string(limit_name(*row->reported));
  }
  return failure;
}

// What the backend knows of the boundary. Its text is bounded here: a backend is not believed (JRN-4).
void tell(effect::Witness& witness, spi::Outcome& outcome) {
  if (!outcome.applied.empty()) {
    std::string report = "[";
    for (const std::string& line : outcome.applied) {
      if (report.size() > 1) report += ',';
      report += core::quote_json(core::bound_text(line));
    }
    witness.jail_applied(report + ']');
  }
  if (!outcome.remarks.console.empty()) {
    witness.console(console_json(outcome.remarks), outcome.remarks.console_cut);
  }
  for (std::size_t i = 0; i < outcome.denials.size(); ++i) {
    spi::Denial& denial = outcome.denials[i];
    const bool fatal = outcome.ended_by_denial && outcome.kind == spi::Outcome::Kind::infrastructure &&
                       i + 1 == outcome.denials.size();
    witness.access_denied({core::bound_text(denial.syscall), core::bound_text(denial.object),
                           core::bound_text(denial.rule),
                           fatal ? effect::AfterDenial::ended : effect::AfterDenial::went_on});
  }
}

// A backend is not believed: what it says of a run is bounded and made storable here.
spi::Remarks bounded(spi::Remarks remarks) {
  std::uint64_t left = kMaxConsoleBytes;
  for (std::size_t i = 0; i < remarks.console.size(); ++i) {
    spi::ConsoleLine& line = remarks.console[i];
    if (line.level > spi::ConsoleLevel::debug) line.level = spi::ConsoleLevel::log;
    line.text = core::bound_text_bytes(line.text, left + 4);  // one character more than there is room for
    if (line.text.size() + kConsoleLineBytes <= left) {
      left -= line.text.size() + kConsoleLineBytes;
      continue;
    }
    line.text = core::bound_text_bytes(line.text, left - std::min(left, kConsoleLineBytes));
    remarks.console_cut = true;
    remarks.console.resize(i + 1);
  }
  remarks.hint = core::bound_text(remarks.hint);
  remarks.note = core::bound_text(remarks.note);
  return remarks;
}

// The first half of a call: up to the backend.
std::variant<CheckedCall, Reply> check(const SandboxEvalInput& input, ScriptReader& scripts,
                                       const SandboxEffectOptions& options, const std::stop_token& stop,
                                       core::Deadline deadline) {
  const Limits limits = limits_of(input.limits, options);
  if (auto why = bad_limits(limits)) return refused_input(*why);
  std::optional<Shape> shape;
  if (input.shape_json) {
    auto compiled = Shape::compile(*input.shape_json);
    if (!compiled.ok()) return effect::untyped(compiled.error());
    shape = std::move(compiled).value();
  }

  CompactJson value = compact_json(input.input_json, limits.input_bytes);
  if (value.verdict == JsonVerdict::malformed) return on(Channel::input_not_serializable, "the input is " + value.why);
  if (value.verdict == JsonVerdict::too_deep) return too_deep(on(Channel::input_too_large, {}), "input");
  if (value.verdict == JsonVerdict::too_large) {
    return on(Channel::input_too_large, bytes_over("input", limits.input_bytes));
  }

  const ScriptReader::Wait wait{stop, Patience(limits, options, stop, deadline).deadline};
  auto script = fetch(scripts, input.script, options.script_bytes, wait);
  if (script.is_cancelled()) return cancelled();
  if (!script.ok()) return std::move(script).untyped();
  return CheckedCall{limits, Patience(limits, options, stop, deadline), std::move(shape), std::move(script).value(),
                     std::move(value.text)};
}

// Takes script and input out of the call.
spi::Request request_of(CheckedCall& call, bool explain) {
  return {std::move(call.script), std::move(call.input_json), call.limits.run, explain, {}};
}

// The second half: what came of the backend.
Reply reply_of(Settled settled, const CheckedCall& call) {
  if (std::holds_alternative<Stopped>(settled)) return cancelled();
  if (auto* outcome = std::get_if<spi::Outcome>(&settled)) {
    return map_outcome(std::move(*outcome), call);
  }
  if (std::holds_alternative<MissedDeadline>(settled)) {
    return call.patience.missed("sandbox backend");
  }
  if (const auto* broken = std::get_if<Broken>(&settled)) return backend_failed(broken->what);
  if (const auto* none = std::get_if<NoDescriptor>(&settled)) {
    return effect::untyped(core::system_error(none->sys_errno, "wait for a sandbox backend"), Retry::yes);
  }
  return from_exception(std::get<std::exception_ptr>(settled));
}

}  // namespace

core::Result<std::unique_ptr<SandboxEffect>> SandboxEffect::create(std::shared_ptr<ScriptReader> scripts,
                                                                   std::shared_ptr<spi::SandboxBackend> backend,
                                                                   SandboxEffectOptions options) {
  if (scripts == nullptr || backend == nullptr) return refused("scripts and backend must be given");
  if (options.backend_grace.count() < 0 || options.backend_grace == std::chrono::milliseconds::max()) {
    return refused("backend_grace must be finite, zero or more");
  }
  if (auto why = bad_limits(limits_of({}, options))) return refused(*why);
  if (options.script_bytes == 0) return refused("script_bytes must be above zero");

  if (!options.trust_backend_to_return) {
    if (options.backend_threads == 0 || options.backend_call_wait.count() <= 0) {
      return refused("backend_threads and backend_call_wait must be above zero");
    }
    backend = std::make_shared<GuardedBackend>(std::move(backend), options.backend_threads, options.backend_call_wait);
  }
  spi::Capabilities capabilities;
  try {
    capabilities = backend->capabilities();
  } catch (...) {
    return refused("its capabilities cannot be read: " + from_exception(std::current_exception()).message);
  }
  if (auto why = bad_capabilities(capabilities)) return refused(*why);
  if (capabilities.network != spi::Network::none && !options.allow_network) {
    return refused("its scripts reach a network; set allow_network if they may");
  }
  if (!capabilities.fresh_per_run && !options.allow_reused_environment) {
    return refused("its runs see what earlier runs left; set allow_reused_environment if they may");
  }
  return std::unique_ptr<SandboxEffect>(
      new SandboxEffect(std::move(scripts), std::move(backend), options, std::move(capabilities)));
}

SandboxEffect::SandboxEffect(std::shared_ptr<ScriptReader> scripts, std::shared_ptr<spi::SandboxBackend> backend,
                             SandboxEffectOptions options, spi::Capabilities capabilities)
    : scripts_(std::move(scripts)),
      backend_(std::move(backend)),
      options_(options),
      capabilities_(std::move(capabilities)) {}

SandboxEffect::~SandboxEffect() = default;

void SandboxEffect::warm() const noexcept {
  try {
    backend_->warm();
  } catch (...) {  // NOLINT(bugprone-empty-catch): advice
  }
}

core::Result<void> SandboxEffect::close() const {
  try {
    backend_->close();
    return {};
  } catch (const BackendBroke& broke) {
    return core::make_error(core::Errc::timed_out, "close a sandbox backend", core::bound_text(broke.what()));
  } catch (...) {
    const std::string why = from_exception(std::current_exception()).message;
    return core::make_error(core::Errc::system, "close a sandbox backend", why);
  }
}

Reply SandboxEffect::evaluate(const SandboxEvalInput& input, const std::stop_token& stop, core::Deadline deadline,
                              effect::Witness* witness, spi::Remarks* remarks) const {
  if (stop.stop_requested()) return cancelled();
  Reply reply = run(input, stop, deadline, witness, remarks);
  // A stop that came while the outcome was worked on wins too: nobody waits for it any more.
  if (stop.stop_requested()) return cancelled();
  return reply;
}

Reply SandboxEffect::run(const SandboxEvalInput& input, const std::stop_token& stop, core::Deadline deadline,
                         effect::Witness* witness, spi::Remarks* remarks) const {
  auto checked = check(input, *scripts_, options_, stop, deadline);
  if (auto* instead = std::get_if<Reply>(&checked)) return std::move(*instead);
  auto& call = std::get<CheckedCall>(checked);
  if (stop.stop_requested()) return cancelled();
  Race race(stop, call.patience.deadline);
  race.start(*backend_, request_of(call, witness != nullptr));
  Settled settled = race.wait();
  if (auto* outcome = std::get_if<spi::Outcome>(&settled); outcome != nullptr) {
    outcome->remarks = bounded(std::move(outcome->remarks));
    if (witness != nullptr) tell(*witness, *outcome);
    if (remarks != nullptr) *remarks = outcome->remarks;
  }
  if (stop.stop_requested()) return cancelled();
  return reply_of(std::move(settled), call);
}

struct SandboxRun::State {
  State(std::shared_ptr<spi::SandboxBackend> used, CheckedCall checked)
      : backend(std::move(used)), call(std::move(checked)), race({}, call.patience.deadline) {}

  std::shared_ptr<spi::SandboxBackend> backend;  // outlives the handle, whatever becomes of the effect
  CheckedCall call;
  Race race;
};

SandboxRun::SandboxRun(Reply reply) : reply_(std::move(reply)) {}
SandboxRun::SandboxRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
SandboxRun::~SandboxRun() = default;

int SandboxRun::ready_fd() const noexcept { return state_ == nullptr ? -1 : state_->race.ready_fd(); }

core::Deadline SandboxRun::deadline() const noexcept {
  return state_ == nullptr ? core::Deadline::never() : state_->call.patience.deadline;
}

std::optional<Reply> SandboxRun::take() {
  if (state_ != nullptr) {
    auto settled = state_->race.look();
    if (!settled) return std::nullopt;
    if (auto* outcome = std::get_if<spi::Outcome>(&*settled)) remarks_ = bounded(std::move(outcome->remarks));
    reply_ = reply_of(*std::move(settled), state_->call);
    state_.reset();
  }
  return std::exchange(reply_, std::nullopt);
}

std::unique_ptr<SandboxRun> SandboxEffect::start(const SandboxEvalInput& input, core::Deadline deadline) const {
  auto checked = check(input, *scripts_, options_, {}, deadline);
  if (auto* instead = std::get_if<Reply>(&checked)) {
    return std::unique_ptr<SandboxRun>(new SandboxRun(std::move(*instead)));
  }
  auto state = std::make_unique<SandboxRun::State>(backend_, std::move(std::get<CheckedCall>(checked)));
  CheckedCall& call = state->call;
  state->race.start(*backend_, request_of(call, false));
  return std::unique_ptr<SandboxRun>(new SandboxRun(std::move(state)));
}

effect::Idempotency SandboxEffect::idempotency() const {
  return capabilities_.network == spi::Network::none && capabilities_.fresh_per_run
             ? effect::Idempotency::idempotent
             : effect::Idempotency::not_idempotent;
}

effect::Annotations SandboxEffect::annotations(std::string_view input_json) const {
  const auto input = SandboxEvalInput::parse(input_json);
  if (!input.ok()) return {};
  effect::Annotations annotations{{"script", input.value().script.text()}};
  if (input.value().shape_json) {
    const auto hash = shape_hash(*input.value().shape_json);
    if (hash.ok()) annotations.emplace_back("shapeHash", hash.value().text());
  }
  return annotations;
}

effect::Reply<std::string> SandboxEffect::execute(std::string_view input_json, const effect::Call& call) const {
  if (call.stop.stop_requested()) return cancelled();
  const auto input = SandboxEvalInput::parse(input_json);
  if (!input.ok()) return effect::untyped(input.error());
  Reply reply = evaluate(input.value(), call.stop, call.deadline, call.witness);
  if (reply.ok()) return std::move(reply).value().value_json;
  if (reply.is_typed()) return to_typed(reply.typed());
  if (reply.is_cancelled()) return std::move(reply).cancelled();
  return std::move(reply).untyped();
}

}  // namespace heddle::sandbox

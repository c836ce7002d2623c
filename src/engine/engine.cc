#include "heddle/engine/engine.h"

#include <algorithm>

#include "heddle/core/json.h"
#include "heddle/core/text.h"
#include "hints.h"
#include "state.h"
#include "thrown.h"

namespace heddle::engine {
namespace {

// Garbage in cycles is looked for when this part of the memory has been allocated, not at every 256 KiB.
constexpr std::uint64_t kGcShare = 8;
constexpr std::uint64_t kGcLeast = std::uint64_t{256} << 10;

// One run, from a restored guest to its ending. Each step says whether to go on; after a false the ending is either set
// or follows from the guest's exit.
class Run {
 public:
  Run(Guest& guest, Script& script, std::string_view source, std::uint64_t output_bytes) noexcept
      : guest_(guest), script_(script), source_(source), output_bytes_(output_bytes) {}

  RunResult evaluate(std::string_view input_json, std::uint64_t memory_bytes) {
    phase_ = Phase::input;
    const std::uint64_t threshold = std::clamp<std::uint64_t>(memory_bytes / kGcShare, kGcLeast, 1U << 30);
    Value value = kUndefined;
    if (!script_.set_gc_threshold(static_cast<std::uint32_t>(threshold)) || !give_input(input_json)) return finish();
    phase_ = Phase::compile;
    Value code = kUndefined;
    if (!script_.compile(source_, code) || !not_thrown(code)) return finish();
    phase_ = Phase::script;
    if (!script_.run_compiled(code, value) || !not_thrown(value) || !drain() || !settle(value) || !heard()) {
      return finish();
    }
    phase_ = Phase::result;
    if (write(value)) result_.ending = Ending::ok;
    return finish();
  }

 private:
  enum class Phase : std::uint8_t { input, compile, script, result };

  bool give_input(std::string_view json) {
    Value value = kUndefined;
    if (!script_.parse_json(json, value)) return false;
    if (tag_of(value) == Tag::exception) {
      // No script has run, so the error is the engine's own and can be believed.
      Value thrown = kUndefined;
      if (!script_.take_exception(thrown) || !describe_thrown(script_, thrown, {}, result_)) return false;
      if (result_.name == "SyntaxError") {
        result_.message = core::bound_text("the input is not JSON: " + result_.message);
      } else {
        result_ = {};
        result_.ending = Ending::input_too_large;
      }
      decided_ = true;
      return false;
    }
    return script_.define_input(value);
  }

  bool not_thrown(Value value) {
    if (tag_of(value) != Tag::exception) return true;
    Value thrown = kUndefined;
    if (!script_.take_exception(thrown)) return false;
    decided_ = describe_thrown(script_, thrown, source_, result_);
    return false;
  }

  // All jobs, also those that nobody waits for: a result does not depend on which of them happened to run.
  bool drain() {
    for (;;) {
      std::int32_t executed = 0;
      if (!script_.run_job(executed)) return false;
      if (executed == 0) return true;
      // A job that throws is the engine's own trouble (a reaction's error goes to its promise).
      if (executed < 0) return not_thrown(Value{static_cast<std::uint32_t>(Tag::exception)} << 32);
    }
  }

  bool settle(Value& value) {
    PromiseState state = PromiseState::none;
    if (!script_.promise_state(value, state)) return false;
    Value outcome = kUndefined;
    switch (state) {
      case PromiseState::none:
        return true;
      case PromiseState::pending:
        throws("the script's promise can never settle: nothing is left that could resolve or reject it");
        return false;
      case PromiseState::fulfilled:
        return script_.promise_result(value, value);
      case PromiseState::rejected:
        if (script_.promise_result(value, outcome)) decided_ = describe_thrown(script_, outcome, source_, result_);
        return false;
    }
    return false;
  }

  bool heard() {
    if (!guest_.rejections().empty()) {
      const Value reason = guest_.rejections().front().reason;
      decided_ = describe_thrown(script_, reason, source_, result_);
      return false;
    }
    if (!guest_.rejections_overflowed()) return true;
    throws("promises were rejected and nothing handled them");
    return false;
  }

  // Once, by the engine's own function, whatever the script did to JSON.
  bool write(Value value) {
    std::uint64_t units = 0;
    // A string's JSON is longer than the string: no need to make it.
    if (is_string(value) && (!script_.length(value, units) || !fits(units + 2))) return false;
    Value text = kUndefined;
    if (!script_.stringify(value, text)) return false;
    if (tag_of(text) == Tag::exception) {
      not_thrown(text);
      explain_json();
      return false;
    }
    if (tag_of(text) == Tag::undefined) {
      if (!note_missing(value)) return false;
      result_.value = "null";
      return fits(result_.value.size());
    }
    std::string_view bytes;
    if (!script_.length(text, units) || !fits(units) || !script_.utf8(text, bytes) || !fits(bytes.size())) return false;
    result_.value = core::storable_json(bytes);
    return true;
  }

  // Null because there is no value, which the author may not have meant.
  bool note_missing(Value value) {
    bool is_function = false;
    if (tag_of(value) == Tag::object && !script_.is_function(value, is_function)) return false;
    if (is_function) {
      result_.note = "the result is null: the script ended with a function that nobody called; call it, (…)()";
    } else if (tag_of(value) == Tag::undefined) {
      result_.note = "the result is null: the script's last statement has no value; end it with an expression";
    } else if (tag_of(value) == Tag::symbol) {
      result_.note = "the result is null: a symbol has no JSON form";
    }
    return true;
  }

  void explain_json() {
    if (!decided_ || result_.name != "TypeError") return;
    result_.message = core::bound_text("the result cannot be written as JSON: " + result_.message);
  }

  bool fits(std::uint64_t bytes) {
    if (bytes <= output_bytes_) return true;
    result_ = {};
    result_.ending = Ending::output;
    decided_ = true;
    return false;
  }

  void throws(std::string_view message) {
    result_ = {};
    result_.ending = Ending::threw;
    result_.message = message;
    decided_ = true;
  }

  // The exit of the guest wins over anything that was read from it.
  RunResult finish() {
    const Exit exit = guest_.exit();
    if (exit == Exit::none) {
      if (result_.ending != Ending::ok && !decided_) return broken("the engine gave no answer");
      return hinted();
    }
    result_ = {};
    switch (exit) {
      case Exit::stopped:
        result_.ending = Ending::stopped;
        break;
      case Exit::memory:
        result_.ending = phase_ == Phase::input ? Ending::input_too_large : Ending::memory;
        break;
      case Exit::stack:
        if (phase_ == Phase::input) {
          result_.ending = Ending::input_too_large;
          break;
        }
        throws("stack overflow");
        result_.has_name = true;
        result_.name = "InternalError";
        return hinted();
      case Exit::trap:
        return broken(trap_text(guest_.trap()));
      case Exit::corrupt:
      case Exit::none:
        return broken("the engine gave an address outside its memory");
    }
    return std::move(result_);
  }

  RunResult hinted() {
    if (result_.ending == Ending::threw && phase_ != Phase::input) {
      result_.hint = phase_ == Phase::compile ? hint_for_syntax(source_, result_) : hint_for_thrown(result_);
    }
    return std::move(result_);
  }

  static RunResult broken(std::string_view why) {
    RunResult result;
    result.ending = Ending::fault;
    result.message = why;
    return result;
  }

  static std::string_view trap_text(wasm_rt_trap_t trap) {
    switch (trap) {
      case WASM_RT_TRAP_OOB:
        return "the engine trapped: access outside its memory";
      case WASM_RT_TRAP_UNREACHABLE:
        return "the engine trapped: it aborted";
      case WASM_RT_TRAP_CALL_INDIRECT:
        return "the engine trapped: bad indirect call";
      default:
        return "the engine trapped: bad arithmetic";
    }
  }

  Guest& guest_;
  Script& script_;
  std::string_view source_;
  std::uint64_t output_bytes_;
  Phase phase_ = Phase::input;
  bool decided_ = false;
  RunResult result_;
};

}  // namespace

core::Result<std::unique_ptr<Engine>> Engine::create() {
  auto state = std::make_unique<State>();
  HEDDLE_TRY(state->guest.instantiate());
  HEDDLE_TRY(state->script.build());
  state->guest.restore();
  return std::unique_ptr<Engine>(new Engine(std::move(state)));
}

Engine::Engine(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Engine::~Engine() = default;

RunResult Engine::run(std::uint32_t run_id, std::string_view script, std::string_view input_json, const Limits& limits,
                      ConsoleSink* console) {
  HEDDLE_CHECK(run_id != 0);
  HEDDLE_CHECK(state_->guest.on_own_thread());
  state_->guest.restore();
  state_->guest.begin_run(run_id, limits, console);
  Run run(state_->guest, state_->script, script, limits.output_bytes);
  RunResult result = run.evaluate(input_json, limits.memory_bytes);
  state_->guest.end_run();
  return result;
}

void Engine::request_stop(std::uint32_t run_id) noexcept { state_->guest.request_stop(run_id); }

void Engine::halt(std::uint32_t run_id) noexcept { state_->guest.halt(run_id); }

void Engine::restore() {
  HEDDLE_CHECK(state_->guest.on_own_thread());
  state_->guest.restore();
}

std::uint64_t Engine::image_bytes() const noexcept { return state_->guest.memory().image_size(); }
bool Engine::pristine() const noexcept { return state_->guest.pristine(); }

}  // namespace heddle::engine

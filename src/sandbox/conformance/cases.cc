#include "cases.h"

#include <array>
#include <nlohmann/json.hpp>

#include "heddle/core/text.h"
#include "heddle/effect/runtime/runtime.h"
#include "heddle/journal/memory/memory.h"
#include "listener.h"

namespace heddle::sandbox::conformance {
namespace {

using nlohmann::json;

bool is_channel(const SandboxEffect::Reply& reply, Channel channel) {
  return reply.is_typed() && reply.typed().channel == channel;
}

json parsed(std::string_view text) { return json::parse(text.begin(), text.end(), nullptr, false); }

// Texts that engines and services use where a limit ended a script.
constexpr std::array<std::array<const char*, 2>, 22> kLimitTexts{{
    {"InternalError", "out of memory"},
    {"InternalError", "interrupted"},
    {"InternalError", "stack overflow"},
    {"RangeError", "Maximum call stack size exceeded"},
    {"RangeError", "Array buffer allocation failed"},
    {"RangeError", "Invalid array length"},
    {"Error", "Script execution timed out after 500ms"},
    {"Error", "Script execution was interrupted"},
    {"Error", "Isolate was disposed during execution due to memory limit"},
    {"Error", "JavaScript heap out of memory"},
    {"MemoryError", "MemoryError"},
    {"TimeoutError", "deadline exceeded"},
    {"Error", "Time limit exceeded"},
    {"Error", "Memory limit exceeded"},
    {"Error", "CPU limit exceeded"},
    {"Error", "limitExceeded"},
    {"Error", "wallClock"},
    {"Error", "std::bad_alloc"},
    {"Error", "Cannot allocate memory"},
    {"Error", "Killed"},
    {"Error", "exit status 137"},
    {"Error", "{\"kind\":\"limit\",\"limit\":\"memory\"}"},
}};

// Every string in a fact can be stored, and none is longer than a guest's text may be.
Problem unstorable(const json& value) {  // NOLINT(misc-no-recursion)
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (core::bound_text(text) != text) return "a text of " + std::to_string(text.size()) + " bytes";
  }
  if (value.is_structured()) {
    for (const auto& item : value) {
      if (auto problem = unstorable(item)) return problem;
    }
  }
  return std::nullopt;
}

// The same through a runtime: what the journal holds afterwards.
Problem look_at_the_log(const World& world) {
  std::shared_ptr<journal::Store> log = journal::open_memory();
  const auto allow = std::make_shared<effect::CallbackAuthorizer>(
      [](const effect::Request& /*request*/) { return effect::Decision::allow(); });
  HEDDLE_CHECK(world.effect != nullptr);
  auto scheduler = effect::Scheduler::create({});
  if (!scheduler.ok()) return scheduler.error().message();
  auto runtime =
      effect::EffectRuntime::create({allow, std::move(scheduler).value(), std::make_shared<effect::Meter>(), log});
  if (!runtime.ok()) return runtime.error().message();
  // The runtime goes before the world does, so it may borrow.
  std::shared_ptr<const effect::Effect> used(std::shared_ptr<void>(), world.effect.get());
  if (world.options().registered) used = world.options().registered(used);
  if (const auto added = runtime.value()->add(used); !added.ok()) return added.error().message();
  const auto script = world.scripts->add(world.fixtures().throws_vast);
  const auto clock = std::to_string(world.options().script_clock.count());
  const std::string input = R"({"script":")" + script.text() + R"(","limits":{"wallClockMs":)" + clock + "}}";
  const auto reply = runtime.value()->execute({"kit", "composition", used->kind(), input, 1});
  if (!reply.is_typed() || reply.typed().channel != "scriptError") return "through a runtime it is no scriptError";
  const auto page = log->read({}, {});
  if (!page.ok()) return page.error().message();
  bool outcome = false;
  for (const journal::Fact& fact : page.value().facts) {
    outcome = outcome || fact.kind == journal::Kind::outcome;
    for (const std::string& text : {fact.payload, fact.body ? fact.body->text : std::string("null")}) {
      const json value = parsed(text);
      if (value.is_discarded()) return "a fact of the run in the log is not JSON";
      if (auto problem = unstorable(value)) return "the log holds " + *problem + " that is not bounded and storable";
    }
  }
  if (!outcome) return "the log holds no outcome of the run";
  return std::nullopt;
}

const char* never(const spi::Capabilities& /*declared*/) { return nullptr; }

const char* without_memory(const spi::Capabilities& declared) {
  return declared.memory ? nullptr : "memory is not declared";
}

}  // namespace

std::string describe(const SandboxEffect::Reply& reply) {
  if (reply.ok()) return "the value " + core::bound_text(reply.value().value_json, 200);
  if (reply.is_cancelled()) return "a cancellation";
  if (reply.is_untyped()) return "an untyped failure: " + core::bound_text(reply.untyped().message, 500);
  std::string text(channel_name(reply.typed().channel));
  if (reply.typed().limit) return text + " (" + std::string(limit_name(*reply.typed().limit)) + ")";
  return text + ": " + core::bound_text(reply.typed().message, 500);
}

std::string expected(std::string_view what, const SandboxEffect::Reply& reply) {
  return "expected " + std::string(what) + ", got " + describe(reply);
}

SandboxEffect::Reply World::run(const Run& asked) const {
  SandboxEvalInput input{scripts->add(asked.script), asked.input_json, std::nullopt, {}};
  input.limits.wall_clock = asked.clock.value_or(options().script_clock);
  input.limits.memory_bytes = asked.memory.value_or(options().memory_bytes);
  if (options().evaluate) return options().evaluate(*effect, input, asked.stop);
  return effect->evaluate(input, asked.stop);
}

Problem echo(World& world) {
  constexpr std::string_view kInput =
      R"({"text":"hello","number":42,"fraction":1.5,"list":[1,2,3],"empty":[[],{},""],"nothing":null,"yes":true})";
  const auto reply = world.run({world.fixtures().echo, std::string(kInput), {}, {}, {}});
  if (!reply.ok() || parsed(reply.value().value_json) != parsed(kInput)) return expected(kInput, reply);
  return std::nullopt;
}

Problem throws(World& world) {
  const auto reply = world.run({world.fixtures().throws, "null", {}, {}, {}});
  if (!is_channel(reply, Channel::script_error)) return expected("scriptError", reply);
  if (reply.typed().message.find(world.fixtures().thrown_message) == std::string::npos) {
    return expected("scriptError with the message: " + world.fixtures().thrown_message, reply);
  }
  return std::nullopt;
}

Problem syntax_error(World& world) {
  const auto reply = world.run({world.fixtures().syntax_error, "null", {}, {}, {}});
  if (!is_channel(reply, Channel::script_error)) return expected("scriptError", reply);
  return std::nullopt;
}

// A script can throw any text and give back any text; only the boundary knows of a limit.
Problem limit_from_text(World& world) {
  for (const auto& [name, message] : kLimitTexts) {
    const std::string input = json{{"name", name}, {"message", message}}.dump();
    const auto thrown = world.run({world.fixtures().throws_given, input, {}, {}, {}});
    if (!is_channel(thrown, Channel::script_error)) {
      return expected("scriptError of a script that throws " + input, thrown);
    }
    const auto given = world.run({world.fixtures().echo, input, {}, {}, {}});
    if (!given.ok() || parsed(given.value().value_json) != parsed(input)) {
      return expected("the value " + input, given);
    }
  }
  return std::nullopt;
}

// The backend's own outcome is looked at, before the effect's round trip could repair anything.
Problem rich_value(World& world) {
  constexpr std::string_view kInput =
      R"({"text":"\u00e9\ud83d\ude00\u0000\"\\\n","past31":2147483649,"largest":9007199254740991,"list":[[[{"a":[1]}]]]})";
  const auto reply = world.run({world.fixtures().rich_value, std::string(kInput), {}, {}, {}});
  const json wanted{{"built", parsed(world.fixtures().rich_built)}, {"echoed", parsed(kInput)}};
  const auto outcome = world.recording->last();
  if (!reply.ok() || !outcome || !outcome->value_json) return expected("a value", reply);
  const json given = parsed(*outcome->value_json);
  if (given == wanted) return std::nullopt;
  const json patch = given.is_discarded() ? json("not JSON") : json::diff(wanted, given);
  return "the backend's own outcome is not exactly the value; the difference: " +
         core::bound_text(patch.dump(-1, ' ', true, json::error_handler_t::replace), 500);
}

// With an allow-list a script may see a network, but must not reach what nobody listed.
Problem no_escape(World& world) {
  auto listener = Listener::open();
  if (!listener.ok()) return listener.error().message();
  const std::string input = R"({"host":"127.0.0.1","port":)" + std::to_string(listener.value().port()) + "}";
  const bool may_see = world.setting->declared.network == spi::Network::allowlist;
  const auto look = [&](const Probe& probe, bool judged) -> Problem {
    const auto reply = world.run({probe.script, input, {}, {}, {}});
    if (listener.value().was_reached()) return "probe " + probe.name + ": a connection to the host arrived";
    if (judged && (!reply.ok() || reply.value().value_json != "[]")) {
      return "probe " + probe.name + ": " + expected("[]", reply);
    }
    return std::nullopt;
  };
  for (const Probe& probe : world.fixtures().network_probes) {
    if (auto problem = look(probe, !may_see)) return problem;
  }
  for (const Probe& probe : world.fixtures().escape_probes) {
    if (auto problem = look(probe, true)) return problem;
  }
  return std::nullopt;
}

Problem composition(World& world) {
  const auto reply = world.run({world.fixtures().throws_vast, "null", {}, {}, {}});
  if (!is_channel(reply, Channel::script_error)) return expected("scriptError", reply);
  const std::string& message = reply.typed().message;
  if (core::bound_text(message) != message) {
    return "a message of " + std::to_string(message.size()) + " bytes arrived that is not bounded and storable";
  }
  return look_at_the_log(world);
}

const std::vector<CaseRow>& case_table() {
  static const std::vector<CaseRow> kTable{
      {CaseId::echo, "echo", echo, never},
      {CaseId::throws, "throw", throws, never},
      {CaseId::syntax_error, "syntax error", syntax_error, never},
      {CaseId::limit_from_text, "limit from text", limit_from_text, never},
      {CaseId::runaway_loop, "runaway loop", runaway_loop, never},
      {CaseId::cpu_budget, "cpu budget", cpu_budget,
       [](const spi::Capabilities& declared) { return declared.cpu ? nullptr : "cpu is not declared"; }},
      {CaseId::allocation_bomb, "allocation bomb", allocation_bomb, without_memory},
      {CaseId::memory_as_asked, "memory as asked", memory_as_asked, without_memory},
      {CaseId::rich_value, "rich value", rich_value, never},
      {CaseId::own_answers, "own answers", own_answers, never},
      {CaseId::no_escape, "no network, no escape", no_escape,
       [](const spi::Capabilities& declared) {
         return declared.network == spi::Network::open ? "network none or allowlist is not declared" : nullptr;
       }},
      {CaseId::fresh_per_run, "fresh per run", fresh_per_run,
       [](const spi::Capabilities& declared) {
         return declared.fresh_per_run ? nullptr : "fresh per run is not declared";
       }},
      {CaseId::alive_after, "alive after", alive_after, never},
      {CaseId::already_aborted, "already aborted", already_aborted, never},
      {CaseId::aborted_mid_run, "aborted mid-run", aborted_mid_run,
       [](const spi::Capabilities& declared) {
         return declared.wall_clock == spi::WallClock::hard ? nullptr : "a hard wall clock is not declared";
       }},
      {CaseId::capabilities_hold, "capabilities hold", capabilities_hold, never},
      {CaseId::calls_return, "calls return", calls_return, never},
      {CaseId::leaks_nothing, "leaks nothing", leaks_nothing, never},
      {CaseId::outlives_nothing, "outlives nothing", outlives_nothing, never},
      {CaseId::composition, "composition", composition, never},
  };
  return kTable;
}

}  // namespace heddle::sandbox::conformance

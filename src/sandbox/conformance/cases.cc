#include "cases.h"

#include <poll.h>

#include <array>
#include <nlohmann/json.hpp>
#include <thread>

#include "heddle/core/text.h"
#include "listener.h"

namespace heddle::sandbox::conformance {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds kFarClock = std::chrono::hours(1);  // a limit that cannot be what ends a run in the kit

std::string describe(const SandboxEffect::Reply& reply) {
  if (reply.ok()) return "the value " + core::bound_text(reply.value().value_json, 200);
  if (reply.is_cancelled()) return "a cancellation";
  if (reply.is_untyped()) return "an untyped failure: " + core::bound_text(reply.untyped().message, 500);
  std::string text(channel_name(reply.typed().channel));
  if (reply.typed().limit) return text + " (" + std::string(limit_name(*reply.typed().limit)) + ")";
  return text + ": " + core::bound_text(reply.typed().message, 500);
}

Problem expected(std::string_view what, const SandboxEffect::Reply& reply) {
  return "expected " + std::string(what) + ", got " + describe(reply);
}

bool is_channel(const SandboxEffect::Reply& reply, Channel channel) {
  return reply.is_typed() && reply.typed().channel == channel;
}

bool is_limit(const SandboxEffect::Reply& reply, Limit limit) {
  return is_channel(reply, Channel::limit_exceeded) && reply.typed().limit == limit;
}

json parsed(std::string_view text) { return json::parse(text.begin(), text.end(), nullptr, false); }

Problem echo(World& world) {
  constexpr std::string_view kInput =
      R"({"text":"hello","number":42,"fraction":1.5,"list":[1,2,3],"empty":[[],{},""],"nothing":null,"yes":true})";
  const auto reply = world.run(world.fixtures.echo, std::string(kInput));
  if (!reply.ok() || parsed(reply.value().value_json) != parsed(kInput)) return expected(kInput, reply);
  return std::nullopt;
}

Problem throws(World& world) {
  const auto reply = world.run(world.fixtures.throws);
  if (!is_channel(reply, Channel::script_error)) return expected("scriptError", reply);
  if (reply.typed().message.find(world.fixtures.thrown_message) == std::string::npos) {
    return expected("scriptError with the message: " + world.fixtures.thrown_message, reply);
  }
  return std::nullopt;
}

Problem syntax_error(World& world) {
  const auto reply = world.run(world.fixtures.syntax_error);
  if (!is_channel(reply, Channel::script_error)) return expected("scriptError", reply);
  return std::nullopt;
}

Problem runaway_loop(World& world) {
  const auto reply = world.run(world.fixtures.runaway, "null", world.options.runaway_clock);
  if (!is_limit(reply, Limit::cpu) && !is_limit(reply, Limit::wall_clock)) {
    return expected("limitExceeded (cpu or wallClock)", reply);
  }
  return std::nullopt;
}

Problem cpu_budget(World& world) {
  const auto reply = world.run(world.fixtures.runaway, "null", kFarClock);
  if (!is_limit(reply, Limit::cpu)) return expected("limitExceeded (cpu)", reply);
  return std::nullopt;
}

Problem allocation_bomb(World& world) {
  const auto reply = world.run(world.fixtures.allocation_bomb);
  if (!is_limit(reply, Limit::memory)) return expected("limitExceeded (memory)", reply);
  return std::nullopt;
}

// The backend's own outcome is looked at, before the effect's round trip could repair anything.
Problem rich_value(World& world) {
  constexpr std::string_view kInput =
      R"({"text":"\u00e9\ud83d\ude00\u0000\"\\\n","past31":2147483649,"largest":9007199254740991,"list":[[[{"a":[1]}]]]})";
  const auto reply = world.run(world.fixtures.rich_value, std::string(kInput));
  const json wanted{{"built", parsed(world.fixtures.rich_built)}, {"echoed", parsed(kInput)}};
  const auto outcome = world.recording->last();
  if (!reply.ok() || !outcome || !outcome->value_json) return expected("a value", reply);
  const json given = parsed(*outcome->value_json);
  if (given == wanted) return std::nullopt;
  const json patch = given.is_discarded() ? json("not JSON") : json::diff(wanted, given);
  return "the backend's own outcome is not exactly the value; the difference: " +
         core::bound_text(patch.dump(-1, ' ', true, json::error_handler_t::replace), 500);
}

Problem no_escape(World& world) {
  auto listener = Listener::open();
  if (!listener.ok()) return listener.error().message();
  const std::string input = R"({"host":"127.0.0.1","port":)" + std::to_string(listener.value().port()) + "}";
  for (const Probe& probe : world.fixtures.probes) {
    const auto reply = world.run(probe.script, input);
    if (!reply.ok() || reply.value().value_json != "[]") return "probe " + probe.name + ": " + *expected("[]", reply);
    if (listener.value().was_reached()) return "probe " + probe.name + ": a connection to the host arrived";
  }
  return std::nullopt;
}

Problem fresh_per_run(World& world) {
  const auto look = [](std::string_view when, const SandboxEffect::Reply& reply) -> Problem {
    if (reply.ok() && reply.value().value_json == "false") return std::nullopt;
    return std::string(when) + ": " + *expected("no trace of an earlier run (false)", reply);
  };
  for (int i = 1; i <= 16; ++i) {
    if (auto problem = look("run " + std::to_string(i) + " of 16", world.run(world.fixtures.stateful))) return problem;
  }
  std::array<Problem, 8> problems;
  std::vector<std::thread> threads;
  threads.reserve(problems.size());
  for (Problem& problem : problems) {
    threads.emplace_back([&] { problem = look("one of 8 at once", world.run(world.fixtures.stateful)); });
  }
  for (std::thread& thread : threads) thread.join();
  for (Problem& problem : problems) {
    if (problem) return problem;
  }
  return std::nullopt;
}

Problem already_aborted(World& world) {
  std::stop_source stop;
  stop.request_stop();
  const auto reply = world.run(world.fixtures.throws, "null", std::nullopt, stop.get_token());
  if (!reply.is_cancelled()) return expected("a cancellation", reply);
  return std::nullopt;
}

// Nothing once every handle has ended because of the stop; asked again and again, since a stop need not make a handle
// readable. A limit as the outcome means that the run went on until one was met.
Problem all_settle(std::vector<std::unique_ptr<spi::Evaluation>> handles, core::Deadline deadline) {
  while (!handles.empty()) {
    for (auto it = handles.begin(); it != handles.end();) {
      bool settled = false;
      try {
        const auto outcome = (*it)->take();
        settled = outcome.has_value();
        if (settled && outcome->kind == spi::Outcome::Kind::limit) {
          return "the effect was cancelled, but the backend's own run went on until a limit ended it";
        }
      } catch (...) {
        settled = true;
      }
      it = settled ? handles.erase(it) : it + 1;
    }
    if (!handles.empty() && deadline.passed()) {
      return "the effect was cancelled, but the backend's own run did not end";
    }
    ::poll(nullptr, 0, 5);
  }
  return std::nullopt;
}

Problem aborted_mid_run(World& world) {
  world.recording->keep_abandoned = true;
  std::stop_source stop;
  std::atomic<bool> over{false};
  std::thread stopper([&] {
    while (world.recording->started == 0 && !over) ::poll(nullptr, 0, 1);
    ::poll(nullptr, 0, 50);
    stop.request_stop();
  });
  const auto reply = world.run(world.fixtures.runaway, "null", kFarClock, stop.get_token());
  over = true;
  stopper.join();
  if (!reply.is_cancelled()) return expected("a cancellation", reply);
  return all_settle(world.recording->take_abandoned(), core::Deadline::after(world.options.case_timeout / 2));
}

Problem composition(World& world) {
  const auto reply = world.run(world.fixtures.throws_vast);
  if (!is_channel(reply, Channel::script_error)) return expected("scriptError", reply);
  const std::string& message = reply.typed().message;
  if (core::bound_text(message) != message) {
    return "a message of " + std::to_string(message.size()) + " bytes arrived that is not bounded and storable";
  }
  return std::nullopt;
}

const char* never(const spi::Capabilities& /*declared*/) { return nullptr; }

}  // namespace

SandboxEffect::Reply World::run(const std::string& script, std::string input_json,
                                std::optional<std::chrono::milliseconds> clock, const std::stop_token& stop) const {
  SandboxEvalInput input{scripts->add(script), std::move(input_json), std::nullopt, {}};
  input.limits.wall_clock = clock.value_or(options.script_clock);
  input.limits.memory_bytes = options.memory_bytes;
  if (options.evaluate) return options.evaluate(*effect, input, stop);
  return effect->evaluate(input, stop);
}

const std::vector<CaseRow>& case_table() {
  static const std::vector<CaseRow> kTable{
      {CaseId::echo, "echo", echo, never},
      {CaseId::throws, "throw", throws, never},
      {CaseId::syntax_error, "syntax error", syntax_error, never},
      {CaseId::runaway_loop, "runaway loop", runaway_loop, never},
      {CaseId::cpu_budget, "cpu budget", cpu_budget,
       [](const spi::Capabilities& declared) { return declared.cpu ? nullptr : "cpu is not declared"; }},
      {CaseId::allocation_bomb, "allocation bomb", allocation_bomb,
       [](const spi::Capabilities& declared) { return declared.memory ? nullptr : "memory is not declared"; }},
      {CaseId::rich_value, "rich value", rich_value, never},
      {CaseId::no_escape, "no network, no escape", no_escape,
       [](const spi::Capabilities& declared) {
         return declared.network == spi::Network::none ? nullptr : "network none is not declared";
       }},
      {CaseId::fresh_per_run, "fresh per run", fresh_per_run,
       [](const spi::Capabilities& declared) {
         return declared.fresh_per_run ? nullptr : "fresh per run is not declared";
       }},
      {CaseId::already_aborted, "already aborted", already_aborted, never},
      {CaseId::aborted_mid_run, "aborted mid-run", aborted_mid_run,
       [](const spi::Capabilities& declared) {
         return declared.wall_clock == spi::WallClock::hard ? nullptr : "a hard wall clock is not declared";
       }},
      {CaseId::composition, "composition", composition, never},
  };
  return kTable;
}

}  // namespace heddle::sandbox::conformance

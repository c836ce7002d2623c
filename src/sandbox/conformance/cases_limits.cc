// Cases about limits and stops.
#include <poll.h>

#include <array>
#include <atomic>
#include <thread>

#include "cases.h"
#include "heddle/core/text.h"

namespace heddle::sandbox::conformance {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFarClock = std::chrono::hours(1);  // a limit that cannot be what ends a run in the kit

bool is_limit(const SandboxEffect::Reply& reply, Limit limit) {
  return reply.is_typed() && reply.typed().channel == Channel::limit_exceeded && reply.typed().limit == limit;
}

bool hard(const World& world) { return world.setting->declared.wall_clock == spi::WallClock::hard; }

// Which of several scripts a problem is of.
std::string numbered(const World& world, std::size_t index) {
  if (world.fixtures().runaways.size() == 1) return "";
  return "runaway script " + std::to_string(index + 1) + " of " + std::to_string(world.fixtures().runaways.size()) +
         ": ";
}

// Runs `look` for each runaway script, on a backend of its own each, so that one that was lost costs the others
// nothing.
template <class Look>
Problem each_runaway(const World& world, std::size_t count, Look look) {
  for (std::size_t i = 0; i < count; ++i) {
    auto made = make_world(world.setting);
    if (!made.ok()) return made.error().message();
    auto own = std::move(made).value();
    Problem problem = look(*own, world.fixtures().runaways[i]);
    leave(std::move(own));
    if (problem) return numbered(world, i) + *problem;
  }
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

Problem stop_one(const World& world, const std::string& script) {
  constexpr int kUntilItRuns = 50;
  world.recording->keep_abandoned = true;
  std::stop_source stop;
  std::atomic<bool> over{false};
  std::thread stopper([&] {
    while (world.recording->started == 0 && !over) ::poll(nullptr, 0, 1);
    ::poll(nullptr, 0, kUntilItRuns);
    stop.request_stop();
  });
  const auto reply = world.run({script, "null", kFarClock, {}, stop.get_token()});
  over = true;
  stopper.join();
  if (!reply.is_cancelled()) return expected("a cancellation", reply);
  return all_settle(world.recording->take_abandoned(), core::Deadline::after(world.options().call_timeout));
}

}  // namespace

// A soft clock may be met by a plain loop only, and says so.
Problem runaway_loop(World& world) {
  return each_runaway(world, hard(world) ? world.fixtures().runaways.size() : 1,
                      [](const World& own, const std::string& script) -> Problem {
                        const auto reply = own.run({script, "null", own.options().runaway_clock, {}, {}});
                        if (is_limit(reply, Limit::cpu) || is_limit(reply, Limit::wall_clock)) return std::nullopt;
                        return expected("limitExceeded (cpu or wallClock)", reply);
                      });
}

Problem cpu_budget(World& world) {
  const auto reply = world.run({world.fixtures().runaways.front(), "null", kFarClock, {}, {}});
  if (!is_limit(reply, Limit::cpu)) return expected("limitExceeded (cpu)", reply);
  return std::nullopt;
}

Problem allocation_bomb(World& world) {
  const auto reply = world.run({world.fixtures().allocation_bomb, "null", {}, {}, {}});
  if (!is_limit(reply, Limit::memory)) return expected("limitExceeded (memory)", reply);
  return std::nullopt;
}

// What lies between two limits fits into the one and not into the other; in turn, since the first limit of a backend
// may be the one that stays.
Problem memory_as_asked(World& world) {
  const std::uint64_t large = world.options().memory_bytes;
  const std::uint64_t small = large / 4;
  const std::uint64_t between = large / 2;
  const std::string input = R"({"bytes":)" + std::to_string(between) + "}";
  const std::string what = "a script that holds " + std::to_string(between) + " bytes under a limit of ";
  constexpr int kRounds = 2;
  for (int round = 0; round < kRounds; ++round) {
    const auto over = world.run({world.fixtures().allocate, input, {}, small, {}});
    if (!is_limit(over, Limit::memory)) {
      return what + std::to_string(small) + ": " + expected("limitExceeded (memory)", over);
    }
    const auto within = world.run({world.fixtures().allocate, input, {}, large, {}});
    if (!within.ok() || within.value().value_json != "true") {
      return what + std::to_string(large) + ": " + expected("true", within);
    }
  }
  return std::nullopt;
}

Problem already_aborted(World& world) {
  std::stop_source stop;
  stop.request_stop();
  const auto reply = world.run({world.fixtures().throws, "null", {}, {}, stop.get_token()});
  if (!reply.is_cancelled()) return expected("a cancellation", reply);
  return std::nullopt;
}

// One loop is seldom all the ways in which a script can go on: an engine that polls between two steps of it polls
// nowhere else.
Problem aborted_mid_run(World& world) {
  const std::size_t count = world.fixtures().runaways.size();
  if (count < 2) {
    return "one runaway script does not prove a hard wall clock; give the fixtures one for each way in which a script "
           "can "
           "run on: a loop, a loop that catches what ends it, a built-in that never comes back";
  }
  return each_runaway(world, count, stop_one);
}

}  // namespace heddle::sandbox::conformance

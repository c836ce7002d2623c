// Cases about what one run has of another: answers, state, the end of it.
#include <poll.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "cases.h"
#include "heddle/core/text.h"

namespace heddle::sandbox::conformance {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::size_t kAtOnce = 8;

json json_of(std::string_view text) { return json::parse(text.begin(), text.end(), nullptr, false); }

// Calls `body` in `count` threads at once, with each one's number; the first problem of any.
Problem at_once(std::size_t count, const std::function<Problem(std::size_t)>& body) {
  std::vector<Problem> problems(count);
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] { problems[i] = body(i); });
  }
  for (std::thread& thread : threads) thread.join();
  for (Problem& problem : problems) {
    if (problem) return problem;
  }
  return std::nullopt;
}

// Gives a run up that has not ended by itself in time, so that a case about what comes after it goes on.
void run_and_give_up(const World& world, const std::string& script, milliseconds clock, milliseconds patience) {
  std::stop_source stop;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::thread timer([&] {
    std::unique_lock lock(mutex);
    ended.wait_for(lock, patience, [&] { return done; });
    lock.unlock();
    stop.request_stop();
  });
  [[maybe_unused]] const auto reply = world.run({script, "null", clock, {}, stop.get_token()});
  {
    const std::lock_guard lock(mutex);
    done = true;
  }
  ended.notify_one();
  timer.join();
}

// Asked again for a while: a run that was given up may hold its place until its own clock ends it.
Problem works(const World& world, const std::string& after) {
  const auto deadline = core::Deadline::after(world.options().call_timeout);
  for (;;) {
    const auto reply = world.run({world.fixtures().echo, "[1]", {}, {}, {}});
    if (reply.ok() && json_of(reply.value().value_json) == json::array({1})) return std::nullopt;
    if (deadline.passed()) return "a run after " + after + ": " + expected("the value [1]", reply);
    ::poll(nullptr, 0, 50);
  }
}

}  // namespace

// Each run is asked for something that nobody else is, a value or an error.
Problem own_answers(World& world) {
  constexpr std::size_t kRounds = 8;
  constexpr std::size_t kPadding = 3'000;
  constexpr std::string_view kMark = "run ";
  const Fixtures& fixtures = world.fixtures();
  const auto own = [&](std::size_t thread) -> Problem {
    for (std::size_t round = 0; round < kRounds; ++round) {
      const std::string mine = std::string(kMark) + std::to_string(thread) + "/" + std::to_string(round) + ".";
      const json input{{"name", "Error"}, {"message", mine}, {"padding", std::string(thread * kPadding, 'x')}};
      const std::array<const std::string*, 3> scripts{&fixtures.echo, &fixtures.throws_given, &fixtures.rich_value};
      const std::size_t kind = (thread + round) % scripts.size();
      const auto reply = world.run({*scripts.at(kind), input.dump(), {}, {}, {}});
      std::string got;
      bool right = false;
      if (kind == 1) {
        right = reply.is_typed() && reply.typed().channel == Channel::script_error;
      } else if (reply.ok()) {
        const json given = json_of(reply.value().value_json);
        right = (kind == 2 && given.is_object() ? given.value("echoed", json()) : given) == input;
      }
      if (reply.ok()) got = reply.value().value_json;
      if (reply.is_typed()) got = reply.typed().message;
      if (right && got.find(mine) != std::string::npos) continue;
      const std::size_t other = got.find(kMark);
      if (other != std::string::npos && got.compare(other, mine.size(), mine) != 0) {
        return mine + " was given the answer of " + core::bound_text(got.substr(other, mine.size()), 40);
      }
      return mine + " one of " + std::to_string(kAtOnce) +
             " at once: " + expected(kind == 1 ? "scriptError with its message" : "its own input", reply);
    }
    return std::nullopt;
  };
  return at_once(kAtOnce, own);
}

// In sequence, at once, and in sequence again: a pool may be larger than one batch, and what only load brings in may be
// seen by a run that comes later.
Problem fresh_per_run(World& world) {
  constexpr int kFirst = 16;
  constexpr int kBatches = 3;
  constexpr int kLater = 40;
  const auto look = [&](const std::string& when) -> Problem {
    const auto reply = world.run({world.fixtures().stateful, "null", {}, {}, {}});
    if (reply.ok() && reply.value().value_json == "false") return std::nullopt;
    return when + ": " + expected("no trace of an earlier run (false)", reply);
  };
  for (int i = 1; i <= kFirst; ++i) {
    if (auto problem = look("run " + std::to_string(i) + " of 16")) return problem;
  }
  for (int batch = 0; batch < kBatches; ++batch) {
    if (auto problem = at_once(kAtOnce, [&](std::size_t) { return look("one of 8 at once"); })) return problem;
  }
  for (int i = 1; i <= kLater; ++i) {
    if (auto problem = look("run " + std::to_string(i) + " after runs at once")) return problem;
  }
  return std::nullopt;
}

// How the runs end is looked at elsewhere; here it is what comes after them, many at once so that every worker, thread
// or instance of a pool has ended one.
Problem alive_after(World& world) {
  const Fixtures& fixtures = world.fixtures();
  const milliseconds clock = world.options().runaway_clock;
  const milliseconds patience = clock + std::chrono::seconds(1);
  const auto many = [&](const std::string& after, std::size_t count, const std::function<void()>& body) -> Problem {
    if (auto problem = at_once(count, [&](std::size_t) -> Problem {
          body();
          return std::nullopt;
        })) {
      return problem;
    }
    return works(world, after);
  };
  const auto simply = [&](const std::string& script) {
    return [&world, &script] { [[maybe_unused]] const auto reply = world.run({script, "null", {}, {}, {}}); };
  };
  if (auto problem = many("a throw", kAtOnce, simply(fixtures.throws))) return problem;
  if (auto problem = many("a script that does not parse", kAtOnce, simply(fixtures.syntax_error))) return problem;
  if (auto problem = many("a limit on time", kAtOnce,
                          [&] { run_and_give_up(world, fixtures.runaways.front(), clock, patience); })) {
    return problem;
  }
  if (auto problem = many("a stop", kAtOnce,
                          [&] { run_and_give_up(world, fixtures.runaways.front(), patience, milliseconds(50)); })) {
    return problem;
  }
  if (world.setting->declared.memory) {
    constexpr std::size_t kBombs = 2;  // what they are allowed is what the machine must have
    if (auto problem = many("a limit on memory", kBombs, simply(fixtures.allocation_bomb))) return problem;
  }
  return std::nullopt;
}

}  // namespace heddle::sandbox::conformance

// Cases about what runs leave behind.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "bounded.h"
#include "cases.h"
#include "heddle/core/text.h"

#if defined(HEDDLE_UNDER_ASAN) || defined(HEDDLE_UNDER_TSAN)
#define HEDDLE_KIT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HEDDLE_KIT_SANITIZED 1
#endif
#endif

namespace heddle::sandbox::conformance {
namespace {

using std::chrono::milliseconds;

// What is freed is kept for a while under a sanitizer, so that memory tells nothing there.
#ifdef HEDDLE_KIT_SANITIZED
constexpr bool kMemoryTells = false;
#else
constexpr bool kMemoryTells = true;
#endif

constexpr std::size_t kThreads = 8;
constexpr int kFewestBatches = 3;
constexpr int kMostBatches = 6;  // memory that grows in each of so many is not a cache that fills
constexpr std::size_t kCountStep = 3;
constexpr std::uint64_t kMemoryStep = std::uint64_t{1} << 20;
constexpr std::size_t kInputBytes = std::size_t{256} << 10;

// A run that is stopped after so long, whatever it does.
void run_stopped(const World& world, const World::Run& asked, milliseconds after) {
  std::stop_source stop;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::thread timer([&] {
    std::unique_lock lock(mutex);
    ended.wait_for(lock, after, [&] { return done; });
    lock.unlock();
    stop.request_stop();
  });
  World::Run stopped = asked;
  stopped.stop = stop.get_token();
  [[maybe_unused]] const auto reply = world.run(stopped);
  {
    const std::lock_guard lock(mutex);
    done = true;
  }
  ended.notify_one();
  timer.join();
}

// Runs of every kind, at once. The count of them.
int use(const World& world, int rounds) {
  const Fixtures& fixtures = world.fixtures();
  const std::string large = "\"" + std::string(kInputBytes, 'x') + "\"";
  const milliseconds clock = world.options().runaway_clock;
  const auto one = [&](std::size_t kind) {
    constexpr std::size_t kKinds = 4;
    constexpr milliseconds kSoon{25};
    const std::array<const std::string*, kKinds> scripts{&fixtures.echo, &fixtures.throws, &fixtures.syntax_error,
                                                         &fixtures.runaways.front()};
    const bool runs_on = kind % kKinds == kKinds - 1;
    const World::Run asked{*scripts.at(kind % kKinds), large, runs_on ? clock : world.options().script_clock, {}, {}};
    run_stopped(world, asked, runs_on ? kSoon : world.options().script_clock);
  };
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < rounds; ++round) one(thread + static_cast<std::size_t>(round));
      // And a limit, half of them that on memory where there is one.
      if (world.setting->declared.memory && thread % 2 == 0) {
        run_stopped(world, {fixtures.allocation_bomb, "null", {}, {}, {}}, world.options().script_clock);
      } else {
        run_stopped(world, {fixtures.runaways.front(), "null", clock, {}, {}}, 2 * clock);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<int>(kThreads) * (rounds + 1);
}

enum class Growth { with_each_batch, over_all };

struct Series {
  const char* what;
  std::uint64_t step;
  Growth growth;
  std::vector<std::uint64_t> values;

  // Counts grow with each batch. Memory goes on growing, half a step a batch, over all of them and over the later half:
  // single batches differ, since what was freed before is used again.
  [[nodiscard]] bool grows() const {
    const std::size_t last = values.size() - 1;
    if (last == 0) return false;
    if (growth == Growth::over_all) return grown_since(0) && grown_since(last / 2);
    for (std::size_t i = 1; i <= last; ++i) {
      if (values[i] < values[i - 1] + step) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] bool grown_since(std::size_t from) const {
    const std::size_t last = values.size() - 1;
    return values[last] >= values[from] + step * (last - from) / 2;
  }
};

// What is held once the runs have ended: it stands still, or comes down to what was there before.
Footprint settled(const World& world, const std::optional<Footprint>& before) {
  constexpr int kLooksAlike = 4;
  constexpr int kPause = 25;
  const pid_t process = world.process() != nullptr ? world.process()->pid() : ::getpid();
  const auto deadline = core::Deadline::after(std::min(world.options().call_timeout, milliseconds(2'000)));
  Footprint last;
  for (int alike = 0;;) {
    const Footprint now = Footprint::of(process, *world.setting->adoption);
    const auto within = [&now](const Footprint& other) {
      return now.threads <= other.threads && now.descriptors <= other.descriptors && now.processes <= other.processes;
    };
    if (before && within(*before)) return now;
    alike = within(last) && last.threads <= now.threads && last.descriptors <= now.descriptors ? alike + 1 : 0;
    // Runs that were given up may take their time, so standing still is enough only where there is nothing to come down
    // to.
    if (deadline.passed() || (!before && alike >= kLooksAlike)) return now;
    last = now;
    ::poll(nullptr, 0, kPause);
  }
}

}  // namespace

// A leak grows with every batch; what a backend keeps ready stops growing once it is there.
Problem leaks_nothing(World& world) {
  constexpr int kRounds = 8;
  constexpr int kFewRounds = 4;
  const auto begin = core::Clock::now();
  use(world, kFewRounds);
  // A slow backend has fewer runs, since the case has its time-out.
  const auto once = core::Clock::now() - begin;
  const int rounds =
      once * (kRounds / kFewRounds) * (kMostBatches + 1) < world.options().case_timeout / 2 ? kRounds : kFewRounds;
  use(world, rounds);
  std::array<Series, 4> all{{{"processes", kCountStep, Growth::with_each_batch, {}},
                             {"threads", kCountStep, Growth::with_each_batch, {}},
                             {"descriptors", kCountStep, Growth::with_each_batch, {}},
                             {"bytes of memory", kMemoryStep, Growth::over_all, {}}}};
  std::optional<Footprint> before;
  int runs = 0;
  for (int batch = 0; batch <= kMostBatches; ++batch) {
    if (batch > 0) runs += use(world, rounds);
    const Footprint now = settled(world, before);
    all[0].values.push_back(now.processes);
    all[1].values.push_back(now.threads);
    all[2].values.push_back(now.descriptors);
    all[3].values.push_back(now.memory);
    before = now;
    if (batch == 0) continue;
    const bool some =
        std::any_of(all.begin(), all.begin() + (kMemoryTells ? 4 : 3), [](const Series& one) { return one.grows(); });
    if (!some) return std::nullopt;
    if (batch < kFewestBatches) continue;
    for (const Series& one : all) {
      const bool memory = &one == &all[3];
      if (!one.grows() || (memory && (batch < kMostBatches || !kMemoryTells))) continue;
      return std::to_string(runs) + " runs left " + std::to_string(one.values.back() - one.values.front()) + " " +
             one.what + " behind (from " + std::to_string(one.values.front()) + " to " +
             std::to_string(one.values.back()) + ")";
    }
  }
  return std::nullopt;
}

// A daemon has no parent any more, so the kit is made that of all orphans.
Problem outlives_nothing(World& world) {
  const auto setting = world.setting;
  [[maybe_unused]] const auto echoed = world.run({world.fixtures().echo, "1", {}, {}, {}});
  [[maybe_unused]] const auto thrown = world.run({world.fixtures().throws, "null", {}, {}, {}});
  if (auto* process = world.process()) {
    const auto raw = world.raw;
    [[maybe_unused]] const auto left = bounded("the end of the backend", setting->options.call_timeout, [raw, process] {
      process->close();
      [[maybe_unused]] const auto finished = process->finish();
    });
    process->end();
  } else {
    // calls_return has what becomes of each of these.
    auto inner = std::make_shared<World>(std::move(world));
    world = World{};
    world.setting = setting;
    leave(std::move(inner));
  }
  const auto deadline = core::Deadline::after(setting->options.call_timeout);
  std::vector<Process> left;
  do {
    ::poll(nullptr, 0, 20);
    left = setting->adoption->living();
  } while (!left.empty() && !deadline.passed());
  if (left.empty()) return std::nullopt;
  std::string text = std::to_string(left.size()) + " of its processes go on after it was closed and gone:";
  for (const Process& one : left) ::kill(one.pid, SIGKILL);
  for (const Process& one : left) {
    text += " " + core::printable_line(core::bound_text(one.name, 20)) + " (" + std::to_string(one.pid) + ")";
    if (text.size() > 300) break;
  }
  return text;
}

}  // namespace heddle::sandbox::conformance

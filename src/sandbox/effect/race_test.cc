// The effect against time: the caller's stop, the deadline, and backends that answer late, twice, never or wrongly.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include "fake_backend.h"
#include "heddle/core/fd.h"
#include "heddle/sandbox/effect/sandbox_effect.h"
#include "heddle/sandbox/spi/blocking.h"

namespace heddle::sandbox {
namespace {

using spi::Outcome;
using std::chrono::milliseconds;

struct RaceBench {
  explicit RaceBench(std::shared_ptr<spi::SandboxBackend> backend, milliseconds grace = milliseconds(60'000)) {
    SandboxEffectOptions options;
    options.trust_backend_to_return = true;  // the race itself; without trust a guard is between: guard_test.cc
    options.backend_grace = grace;
    options.wall_clock = milliseconds(1);
    effect = SandboxEffect::create(scripts, std::move(backend), options).value();
  }
  [[nodiscard]] SandboxEffect::Reply run(const std::stop_token& stop = {}) const {
    return effect->evaluate({scripts->add("script"), "null", {}, {}}, stop);
  }
  std::shared_ptr<MemoryScripts> scripts = std::make_shared<MemoryScripts>();
  std::unique_ptr<SandboxEffect> effect;
};

std::size_t entries(const char* path) {
  std::size_t count = 0;
  DIR* folder = ::opendir(path);
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

// What a run must not leave behind.
struct Footprint {
  std::size_t threads = entries("/proc/self/task");
  std::size_t descriptors = entries("/proc/self/fd");
  friend bool operator==(const Footprint&, const Footprint&) = default;
};

// With the first thread a sanitizer's runtime starts one of its own.
Footprint footprint_now() {
  std::thread([] {}).join();
  return {};
}

// The kernel drops a joined thread from /proc a moment after the join.
bool comes_back_to(const Footprint& footprint) {
  for (int i = 0; i < 4000; ++i) {
    if (Footprint() == footprint) return true;
    ::poll(nullptr, 0, 5);
  }
  return false;
}

// A backend that keeps the completions and stop tokens of its runs for the test.
struct Held {
  std::atomic<bool> started{false};
  std::optional<spi::Completion> completion;
  std::stop_token stop;
};
std::shared_ptr<FakeBackend> holding(Held& held) {
  return std::make_shared<FakeBackend>([&held](spi::Request request) {
    spi::Pending pending = spi::pending();
    held.completion = pending.completion;
    held.stop = request.stop;
    held.started = true;
    return std::move(pending.evaluation);
  });
}
void until(const std::atomic<bool>& flag) {
  while (!flag) ::poll(nullptr, 0, 1);
}

constexpr const char* kCancelled = "sandbox: cancelled";

// SBX-8: a stop before anything: nothing is run.
TEST(Race, StoppedBefore) {
  const auto backend = answering(Outcome::ok("1"));
  const RaceBench bench(backend);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(bench.run(stop.get_token()).cancelled().message, kCancelled);
  EXPECT_EQ(backend->runs, 0);
  // Even an input that has a channel of its own is a cancellation then.
  EXPECT_TRUE(bench.effect->evaluate({effect::ContentAddress::of(""), "NaN", {}, {}}, stop.get_token()).is_cancelled());
}

// SBX-8, SBX-9: a stop during a run that says nothing; the backend's own token has fired, and nothing is left.
TEST(Race, StoppedDuring) {
  Held held;
  const RaceBench bench(holding(held));
  const Footprint before = footprint_now();
  std::stop_source stop;
  std::thread stopper([&] {
    until(held.started);
    stop.request_stop();
  });
  EXPECT_EQ(bench.run(stop.get_token()).cancelled().message, kCancelled);
  stopper.join();
  EXPECT_TRUE(held.stop.stop_requested());
  EXPECT_TRUE(held.completion->abandoned());
  EXPECT_FALSE(held.completion->complete(Outcome::ok("1")));
  held.completion.reset();
  EXPECT_TRUE(comes_back_to(before));
}

// SBX-8: a success, a limit and an exception that come after the stop are a cancellation.
TEST(Race, StoppedFirstThenAnswered) {
  for (int kind = 0; kind < 3; ++kind) {
    std::stop_source stop;
    const RaceBench bench(
        std::make_shared<FakeBackend>([&](const spi::Request& request) -> std::unique_ptr<spi::Evaluation> {
          stop.request_stop();
          EXPECT_TRUE(request.stop.stop_requested());  // it reaches a backend that is still inside evaluate()
          if (kind == 0) return spi::ready(Outcome::ok("1"));
          if (kind == 1) return spi::ready(Outcome::limited(spi::LimitKind::cpu));
          throw std::runtime_error("late");
        }));
    EXPECT_EQ(bench.run(stop.get_token()).cancelled().message, kCancelled);
  }
}

// SBX-9: the deadline is wall clock + grace, zero allowed, and is named in the message.
TEST(Race, NeverSettles) {
  for (const int grace : {0, 30}) {
    Held held;
    const RaceBench bench(holding(held), milliseconds(grace));
    const Footprint before = footprint_now();
    const auto reply = bench.run();
    EXPECT_EQ(reply.untyped().message, "sandbox backend did not settle within " + std::to_string(grace + 1) + " ms");
    EXPECT_EQ(reply.untyped().retry, effect::Retry::yes);
    EXPECT_TRUE(held.stop.stop_requested());
    EXPECT_TRUE(held.completion->abandoned());
    held.completion.reset();
    EXPECT_TRUE(comes_back_to(before));
  }
}

// SBX-9: a deadline of the caller's that comes first.
TEST(Race, CallersDeadline) {
  Held held;
  const RaceBench bench(holding(held));
  effect::Call call;
  call.deadline = core::Deadline::after(milliseconds(5));
  const std::string json = "{\"script\":\"" + bench.scripts->add("script").text() + "\"}";
  EXPECT_EQ(bench.effect->execute(json, call).untyped().message, "sandbox: the deadline of the call passed");
  EXPECT_TRUE(held.stop.stop_requested());
}

// SBX-9: an answer that is there when it is looked for counts, though the deadline has passed as well.
TEST(Race, AnsweredWhileNobodyLooked) {
  const RaceBench bench(std::make_shared<FakeBackend>([](const spi::Request&) {
                          ::poll(nullptr, 0, 20);
                          return spi::ready(Outcome::ok("1"));
                        }),
                        milliseconds(0));
  EXPECT_TRUE(bench.run().ok());
}

// SBX-1, SBX-11: an answer from another thread, and a second one that nobody takes.
TEST(Race, AnsweredTwiceFromAnotherThread) {
  Held held;
  const RaceBench bench(holding(held));
  std::thread answerer([&] {
    until(held.started);
    held.completion->complete(Outcome::ok("1"));
    held.completion->complete(Outcome::ok("2"));
  });
  EXPECT_EQ(bench.run().value().value_json, "1");
  answerer.join();
}

// SBX-5: handles that break the interface end as failures of the backend's, not as a wait without an end.
TEST(Race, BrokenHandles) {
  const RaceBench null(std::make_shared<FakeBackend>([](const spi::Request&) { return nullptr; }));
  EXPECT_EQ(null.run().untyped().message, "sandbox backend failed: it gave no handle");
  const int closed = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(closed);
  const RaceBench stale(std::make_shared<FakeBackend>([closed](const spi::Request&) {
    return std::make_unique<FakeEvaluation>(closed, [] { return std::optional<Outcome>(); });
  }));
  EXPECT_EQ(stale.run().untyped().message, "sandbox backend failed: its handle has no open descriptor");
}

// SBX-9: a handle that is always readable and never has an outcome meets its deadline without keeping a core busy.
TEST(Race, AlwaysReadableNeverReady) {
  int looks = 0;
  const core::Fd zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  const RaceBench bench(std::make_shared<FakeBackend>([&](const spi::Request&) {
                          return std::make_unique<FakeEvaluation>(zero.get(), [&] {
                            ++looks;
                            return std::optional<Outcome>();
                          });
                        }),
                        milliseconds(200));
  EXPECT_TRUE(bench.run().is_untyped());
  EXPECT_LT(looks, 64 + 1 + 202);
}

class Stuck final : public spi::BlockingEngine {
 public:
  [[nodiscard]] spi::Capabilities capabilities() const override { return good_capabilities(); }
  [[nodiscard]] Outcome run(const spi::Request& /*request*/) override {
    while (!open) ::poll(nullptr, 0, 1);
    return Outcome::ok("1");
  }
  std::atomic<bool> open{false};
};

// SBX-9: a blocking engine that does not come back keeps exactly its own counted thread.
TEST(Race, StuckEngineKeepsItsThreadAlone) {
  const auto engine = std::make_shared<Stuck>();
  const auto backend = std::make_shared<spi::BlockingBackend>(engine, spi::BlockingOptions{2, milliseconds(5)});
  {
    const RaceBench bench(backend, milliseconds(5));
    const Footprint before = footprint_now();
    const auto with_threads = [&before](std::size_t more) {
      Footprint footprint = before;
      footprint.threads += more;
      return footprint;
    };
    EXPECT_TRUE(bench.run().is_untyped());
    EXPECT_TRUE(comes_back_to(with_threads(1)));
    EXPECT_TRUE(bench.run().is_untyped());
    EXPECT_TRUE(comes_back_to(with_threads(2)));
    EXPECT_EQ(bench.run().untyped().message,
              "sandbox backend failed: sandbox: all 2 engine threads are stuck in runs that were given up");
    EXPECT_TRUE(comes_back_to(with_threads(2)));
    engine->open = true;
    EXPECT_TRUE(comes_back_to(before));
  }
  EXPECT_EQ(backend->statistics().stuck, 0U);
}

// SBX-8, SBX-9: stop against deadline against late success. In each round one of three results, and never another than
// what had already happened for certain demands.
TEST(Race, ThousandRounds) {
  std::mt19937 random(20240611);  // NOLINT(cert-msc51-cpp): the rounds are the same each time
  const Footprint before = footprint_now();
  int seen[3] = {0, 0, 0};
  for (int round = 0; round < 1000; ++round) {
    Held held;
    const RaceBench bench(holding(held), milliseconds(static_cast<int>(random() % 2)));
    std::stop_source stop;
    std::atomic<bool> stopped{false};
    const auto stop_after = random() % 2500;
    const auto answer_after = random() % 2500;
    std::thread stopper([&] {
      until(held.started);
      std::this_thread::sleep_for(std::chrono::microseconds(stop_after));
      stop.request_stop();
      stopped = true;
    });
    std::atomic<bool> stopped_before_answer{false};
    bool accepted = false;
    std::thread answerer([&] {
      until(held.started);
      std::this_thread::sleep_for(std::chrono::microseconds(answer_after));
      stopped_before_answer = stopped.load();
      accepted = held.completion->complete(Outcome::ok("1"));
    });
    const auto reply = bench.run(stop.get_token());
    const bool stop_was_requested = stop.stop_requested();
    stopper.join();
    answerer.join();
    if (reply.ok()) {
      ++seen[0];
      EXPECT_TRUE(accepted);
      EXPECT_FALSE(stopped_before_answer);
    } else if (reply.is_cancelled()) {
      ++seen[1];
      EXPECT_TRUE(stop_was_requested);
      EXPECT_TRUE(accepted || held.stop.stop_requested());  // a run that had ended needs no stop
    } else {
      ++seen[2];
      ASSERT_TRUE(reply.is_untyped());
      EXPECT_EQ(reply.untyped().message.find("sandbox backend did not settle within "), 0U);
      EXPECT_TRUE(held.stop.stop_requested());
    }
    EXPECT_TRUE(held.completion->abandoned());
  }
  EXPECT_TRUE(comes_back_to(before));
  EXPECT_GT(seen[0], 0);
  EXPECT_GT(seen[1], 0);
  EXPECT_GT(seen[2], 0);
}

}  // namespace
}  // namespace heddle::sandbox

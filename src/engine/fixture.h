// What the engine's tests share: an engine with its handlers, and somebody who stops runs that do not end.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string_view>
#include <thread>

#include "heddle/engine/engine.h"

namespace heddle::engine {

inline constexpr int kSoft = SIGUSR1;
inline constexpr int kHard = SIGUSR2;
inline constexpr Limits kLimits{64ULL << 20, 1ULL << 20};

inline void send_stop(pthread_t thread, int signal, std::uint32_t run_id) {
  sigval value{};
  value.sival_int = static_cast<int>(run_id);
  EXPECT_EQ(::pthread_sigqueue(thread, signal, value), 0);
}

inline void PrintTo(Ending ending, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest's name
  constexpr const char* kNames[] = {"ok", "threw", "memory", "output", "input_too_large", "stopped", "fault"};
  *out << kNames[static_cast<std::size_t>(ending)];
}

/// Sends the soft stop (if there is a time for it), then the hard one, to the thread that made it, unless it is
/// destroyed before.
class Watchdog {
 public:
  Watchdog(std::uint32_t run_id, std::optional<std::chrono::microseconds> soft, std::chrono::microseconds hard)
      : thread_([this, run_id, soft, hard, target = ::pthread_self()] {
          if (soft) {
            if (!wait(*soft)) return;
            send_stop(target, kSoft, run_id);
          }
          if (!wait(hard)) return;
          hard_sent_ = true;
          send_stop(target, kHard, run_id);
        }) {}
  ~Watchdog() { finish(); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// True when the hard stop had to be sent.
  bool finish() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
    return hard_sent_;
  }

 private:
  // False when there is nothing left to stop.
  bool wait(std::chrono::microseconds time) {
    std::unique_lock lock(mutex_);
    return !wake_.wait_for(lock, time, [this] { return done_; });
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  bool hard_sent_ = false;
  std::thread thread_;
};

class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto created = Engine::create();
    ASSERT_TRUE(created.ok()) << created.error().message();
    engine_ = std::move(created).value();
    const auto installed = install_stop_signals(*engine_, kSoft, kHard);
    ASSERT_TRUE(installed.ok()) << installed.error().message();
  }

  /// A run that ends by itself or is stopped after `patience_`, softly, and then hard.
  RunResult run(std::string_view script, std::string_view input = "null", const Limits& limits = kLimits) {
    const std::uint32_t id = next_id_++;
    Watchdog watchdog(id, patience_, std::chrono::milliseconds(200));
    RunResult result = engine_->run(id, script, input, limits);
    hard_sent_ = watchdog.finish();
    return result;
  }

  /// Every run before this one left nothing behind.
  void expect_clean() {
    engine_->restore();
    EXPECT_TRUE(engine_->pristine());
    const RunResult result = run("[typeof leak, input, [1,2].map(x => x + 1)]", "7");
    EXPECT_EQ(result.ending, Ending::ok) << result.message;
    EXPECT_EQ(result.value, R"(["undefined",7,[2,3]])");
  }

  std::unique_ptr<Engine> engine_;
  std::uint32_t next_id_ = 1;
  bool hard_sent_ = false;
  std::chrono::milliseconds patience_{20'000};
};

}  // namespace heddle::engine

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <utility>

#include "heddle/core/clock.h"
#include "heddle/core/fd.h"
#include "heddle/engine/engine.h"
#include "heddle/sandbox/quickjs/backend.h"
#include "heddle/sandbox/spi/blocking.h"

namespace heddle::sandbox::quickjs {
namespace {

using spi::Outcome;

constexpr std::uint32_t kRun = 1;  // each engine makes one run

// Sends the soft stop at the wall clock's end, from a thread of its own, which is gone when this is.
class WallClock {
 public:
  WallClock(engine::Engine& engine, std::chrono::milliseconds limit)
      : done_(::eventfd(0, EFD_CLOEXEC)), deadline_(core::Deadline::after(limit)) {
    if (done_.valid()) thread_ = std::thread([this, &engine] { watch(engine); });
  }
  WallClock(const WallClock&) = delete;
  WallClock& operator=(const WallClock&) = delete;
  ~WallClock() {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(done_.get(), &one, sizeof one);
    thread_.join();
  }

  [[nodiscard]] bool runs() const { return thread_.joinable(); }
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  void watch(engine::Engine& engine) {
    for (;;) {
      pollfd entry{done_.get(), POLLIN, 0};
      const int ready = ::poll(&entry, 1, deadline_.poll_ms());
      if (ready > 0) return;
      if (!deadline_.passed()) continue;
      ended_ = true;
      engine.request_stop(kRun);
      return;
    }
  }

  const core::Fd done_;
  const core::Deadline deadline_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

Outcome threw(engine::RunResult result) {
  std::optional<std::string> name;
  if (result.has_name) name = std::move(result.name);
  Outcome outcome = Outcome::threw(std::move(name), std::move(result.message));
  outcome.line = result.line;
  outcome.column = result.column;
  return outcome;
}

class InProcessEngine final : public spi::BlockingEngine {
 public:
  [[nodiscard]] spi::Capabilities capabilities() const override {
    spi::Capabilities capabilities;
    capabilities.language = "javascript";
    capabilities.network = spi::Network::none;
    capabilities.wall_clock = spi::WallClock::soft;
    capabilities.memory = true;
    capabilities.fresh_per_run = true;
    return capabilities;
  }

  [[nodiscard]] Outcome run(const spi::Request& request) override {
    auto made = engine::Engine::create();
    if (!made.ok()) return Outcome::infrastructure(made.error().message());
    engine::Engine& engine = *made.value();
    if (request.limits.memory_bytes <= engine.image_bytes()) {
      return Outcome::infrastructure("a memory limit below the " + std::to_string(engine.image_bytes()) +
                                     " bytes that the engine needs");
    }
    engine::RunResult result;
    bool out_of_time = false;
    {
      const WallClock clock(engine, request.limits.wall_clock);
      if (!clock.runs()) return Outcome::infrastructure("no descriptor left for the wall clock of a run");
      const std::stop_callback on_stop(request.stop, [&engine] { engine.request_stop(kRun); });
      // A result lies in the run's memory, so that is its ceiling; the caller's own is the effect's.
      result = engine.run(kRun, request.script, request.input_json,
                          {request.limits.memory_bytes, request.limits.memory_bytes});
      out_of_time = clock.ended();
    }
    switch (result.ending) {
      case engine::Ending::ok:
        return Outcome::ok(std::move(result.value));
      case engine::Ending::threw:
        return threw(std::move(result));
      case engine::Ending::memory:
      case engine::Ending::output:
        return Outcome::limited(spi::LimitKind::memory);
      case engine::Ending::input_too_large:
        return Outcome::input_too_large();
      case engine::Ending::stopped:
        return out_of_time ? Outcome::limited(spi::LimitKind::wall_clock)
                           : Outcome::infrastructure("the run was stopped");
      case engine::Ending::fault:
        return Outcome::infrastructure("the engine broke: " + result.message);
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<spi::SandboxBackend> make_in_process_backend(InProcessOptions options) {
  spi::BlockingOptions blocking;
  blocking.max_threads = options.max_threads;
  return std::make_unique<spi::BlockingBackend>(std::make_shared<InProcessEngine>(), blocking);
}

}  // namespace heddle::sandbox::quickjs

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

using SpiOutcome = spi::Outcome;

constexpr std::uint32_t kRun = 1;  // each engine makes one run

constexpr std::chrono::milliseconds kHaltAgain{20};

// Ends the run at the wall clock's end, or when it is told to, from a thread of its own, which is gone when this is.
class WallClock {
 public:
  WallClock(engine::Engine& engine, std::chrono::milliseconds limit)
      : done_(::eventfd(0, EFD_CLOEXEC)), now_(::eventfd(0, EFD_CLOEXEC)), deadline_(core::Deadline::after(limit)) {
    if (done_.valid() && now_.valid()) thread_ = std::thread([this, &engine] { watch(engine); });
  }
  WallClock(const WallClock&) = delete;
  WallClock& operator=(const WallClock&) = delete;
  ~WallClock() {
    if (!thread_.joinable()) return;
    raise(done_);
    thread_.join();
  }

  [[nodiscard]] bool runs() const { return thread_.joinable(); }
  [[nodiscard]] bool ended() const { return ended_; }
  /// Ends the run now. Any thread.
  void end_now() const { raise(now_); }

 private:
  static void raise(const core::Fd& event) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event.get(), &one, sizeof one);
  }

  void watch(engine::Engine& engine) {
    for (;;) {
      pollfd entries[] = {{done_.get(), POLLIN, 0}, {now_.get(), POLLIN, 0}};
      (void)::poll(entries, 2, deadline_.poll_ms());
      if (entries[0].revents != 0) return;
      if (entries[1].revents != 0) break;
      if (!deadline_.passed()) continue;
      ended_ = true;
      break;
    }
    for (pollfd done{done_.get(), POLLIN, 0}; done.revents == 0;) {
      engine.halt(kRun);
      (void)::poll(&done, 1, static_cast<int>(kHaltAgain.count()));
    }
  }

  const core::Fd done_;
  const core::Fd now_;
  const core::Deadline deadline_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

SpiOutcome threw(engine::RunResult result) {
  std::optional<std::string> name;
  if (result.has_name) name = std::move(result.name);
  SpiOutcome outcome = SpiOutcome::threw(std::move(name), std::move(result.message));
  outcome.line = result.line;
  outcome.column = result.column;
  return outcome;
}

spi::Capabilities in_process_capabilities() {
  spi::Capabilities capabilities;
  capabilities.language = "javascript";
  capabilities.network = spi::Network::none;
  capabilities.wall_clock = spi::WallClock::soft;
  capabilities.memory = true;
  capabilities.fresh_per_run = true;
  return capabilities;
}

// Keeps the console of a run that nobody else can end.
class KeptConsole final : public engine::ConsoleSink {
 public:
  void line(engine::ConsoleLevel level, std::string_view text, bool cut) noexcept override {
    remarks_.console.push_back({static_cast<spi::ConsoleLevel>(level), std::string(text)});
    remarks_.console_cut = cut;
  }
  [[nodiscard]] spi::Remarks take() { return std::move(remarks_); }

 private:
  spi::Remarks remarks_;
};

// One run and its engine, on a thread of the backend's.
class InProcessRun final : public spi::BlockingEngine {
 public:
  InProcessRun(RunSettings settings, std::shared_ptr<RunFacts> facts) : settings_(settings), facts_(std::move(facts)) {}

  [[nodiscard]] spi::Capabilities capabilities() const override { return in_process_capabilities(); }

  [[nodiscard]] SpiOutcome run(const spi::Request& request) override {
    auto made = engine::Engine::create();
    if (!made.ok()) return SpiOutcome::infrastructure(made.error().message());
    engine::Engine& engine = *made.value();
    const std::uint64_t memory = request.limits.memory_bytes;
    if (memory <= engine.image_bytes()) {
      throw std::invalid_argument("a memory limit below the " + std::to_string(engine.image_bytes()) +
                                  " bytes that the engine needs");
    }
    engine::RunResult result;
    KeptConsole console;
    bool out_of_time = false;
    const core::TimePoint started = core::Clock::now();
    {
      const WallClock clock(engine, request.limits.wall_clock);
      if (!clock.runs()) return SpiOutcome::infrastructure("no descriptor left for the wall clock of a run");
      const std::stop_callback on_stop(request.stop, [&clock] { clock.end_now(); });
      // A result lies in the run's memory, so that is its ceiling where no other is given.
      result = engine.run(kRun, request.script, request.input_json,
                          {memory, settings_.output_bytes != 0 ? settings_.output_bytes : memory}, &console);
      out_of_time = clock.ended();
    }
    if (facts_ != nullptr) {
      facts_->elapsed = std::chrono::duration_cast<std::chrono::microseconds>(core::Clock::now() - started);
      facts_->output_exceeded = !out_of_time && result.ending == engine::Ending::output;
    }
    spi::Remarks remarks = console.take();
    remarks.hint = std::move(result.hint);
    remarks.note = std::move(result.note);
    SpiOutcome outcome = outcome_of(std::move(result), out_of_time);
    outcome.remarks = std::move(remarks);
    return outcome;
  }

 private:
  static SpiOutcome outcome_of(engine::RunResult result, bool out_of_time) {
    // The stop was sent, so the limit is the verdict, as with a worker.
    if (out_of_time && result.ending != engine::Ending::fault) return SpiOutcome::limited(spi::LimitKind::wall_clock);
    switch (result.ending) {
      case engine::Ending::ok:
        return SpiOutcome::ok(std::move(result.value));
      case engine::Ending::threw:
        return threw(std::move(result));
      case engine::Ending::memory:
      case engine::Ending::output:  // see RunFacts::output_exceeded
        return SpiOutcome::limited(spi::LimitKind::memory);
      case engine::Ending::input_too_large:
        return SpiOutcome::input_too_large();
      case engine::Ending::stopped:
        return SpiOutcome::infrastructure("the run was stopped");
      case engine::Ending::fault:
        return SpiOutcome::infrastructure("the engine broke: " + result.message);
    }
    return {};
  }

  const RunSettings settings_;
  const std::shared_ptr<RunFacts> facts_;
};

class InProcessBackend final : public Backend {
 public:
  explicit InProcessBackend(spi::BlockingOptions options)
      : threads_(std::make_shared<InProcessRun>(RunSettings{}, nullptr), options) {}

  [[nodiscard]] spi::Capabilities capabilities() const override { return in_process_capabilities(); }
  [[nodiscard]] std::unique_ptr<spi::Evaluation> evaluate_with(spi::Request request, RunSettings settings,
                                                               std::shared_ptr<RunFacts> facts) override {
    return threads_.evaluate_on(std::make_shared<InProcessRun>(settings, std::move(facts)), std::move(request));
  }
  void close() override { threads_.close(); }

 private:
  spi::BlockingBackend threads_;
};

}  // namespace

std::unique_ptr<Backend> make_in_process_backend(InProcessOptions options) {
  spi::BlockingOptions blocking;
  blocking.max_threads = options.max_threads;
  return std::make_unique<InProcessBackend>(blocking);
}

}  // namespace heddle::sandbox::quickjs

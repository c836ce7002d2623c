// Backends whose calls block, throw or never come back, behind the effect.
#include "guard.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fake_backend.h"
#include "heddle/sandbox/effect/sandbox_effect.h"

namespace heddle::sandbox {
namespace {

using spi::Outcome;
using std::chrono::milliseconds;
using std::chrono::seconds;

// What calls stand before until the test is over. Shared, since the threads of calls outlive what they were made for.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting;
    changed_.wait(lock, [this] { return open_; });
    --waiting;
  }
  std::atomic<int> waiting{0};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

template <class Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 4000; ++i) {
    if (condition()) return true;
    ::poll(nullptr, 0, 5);
  }
  return false;
}

enum class Where {
  nowhere,
  evaluate,
  take,
  ready_fd,
  handle_end,
  stop_callback,
  capabilities,
  warm,
  close,
  backend_end
};

class StuckHandle final : public spi::Evaluation {
 public:
  StuckHandle(Where where, std::shared_ptr<Gate> gate, std::stop_token stop)
      : where_(where), gate_(std::move(gate)), inner_(spi::pending()) {
    const bool unanswered = where == Where::ready_fd || where == Where::stop_callback;
    if (!unanswered) inner_.completion.complete(Outcome::ok("1"));
    if (where == Where::stop_callback) on_stop_.emplace(std::move(stop), Pass{gate_.get()});
  }
  ~StuckHandle() override {
    if (where_ == Where::handle_end) gate_->pass();
  }
  [[nodiscard]] int ready_fd() const noexcept override {
    if (where_ == Where::ready_fd) gate_->pass();
    return inner_.evaluation->ready_fd();
  }
  [[nodiscard]] std::optional<Outcome> take() override {
    if (where_ == Where::take) gate_->pass();
    return inner_.evaluation->take();
  }

 private:
  struct Pass {
    Gate* gate;
    void operator()() const noexcept { gate->pass(); }
  };
  const Where where_;
  const std::shared_ptr<Gate> gate_;
  spi::Pending inner_;
  std::optional<std::stop_callback<Pass>> on_stop_;
};

class StuckBackend final : public spi::SandboxBackend {
 public:
  StuckBackend(Where where, std::shared_ptr<Gate> gate) : where_(where), gate_(std::move(gate)) {}
  ~StuckBackend() override { pass_at(Where::backend_end); }
  [[nodiscard]] spi::Capabilities capabilities() const override {
    pass_at(Where::capabilities);
    return good_capabilities();
  }
  [[nodiscard]] std::unique_ptr<spi::Evaluation> evaluate(spi::Request request) override {
    pass_at(Where::evaluate);
    return std::make_unique<StuckHandle>(where_, gate_, std::move(request.stop));
  }
  void warm() override { pass_at(Where::warm); }
  void close() override { pass_at(Where::close); }

 private:
  void pass_at(Where where) const {
    if (where_ == where) gate_->pass();
  }
  const Where where_;
  const std::shared_ptr<Gate> gate_;
};

struct StuckBench {
  explicit StuckBench(Where where, std::size_t threads = 4) {
    SandboxEffectOptions options;
    options.backend_grace = milliseconds(0);
    options.wall_clock = std::chrono::hours(1);
    options.backend_threads = threads;
    options.backend_call_wait = milliseconds(where == Where::close ? 200 : 60'000);
    effect = SandboxEffect::create(scripts, std::make_shared<StuckBackend>(where, gate), options).value();
  }
  ~StuckBench() {
    gate->open();
    EXPECT_TRUE(eventually([this] { return gate->waiting == 0; }));
  }
  StuckBench(const StuckBench&) = delete;
  StuckBench& operator=(const StuckBench&) = delete;
  [[nodiscard]] SandboxEffect::Reply run(const std::stop_token& stop = {}, milliseconds clock = milliseconds(200)) {
    SandboxEvalInput input{scripts->add("script"), "null", {}, {}};
    input.limits.wall_clock = clock;
    return effect->evaluate(input, stop);
  }
  std::shared_ptr<Gate> gate = std::make_shared<Gate>();
  std::shared_ptr<MemoryScripts> scripts = std::make_shared<MemoryScripts>();
  std::unique_ptr<SandboxEffect> effect;
};

// SBX-24, SBX-9: whichever call of a run does not come back, the deadline does.
TEST(Guard, ADeadlineEndsARunWhoseCallsBlock) {
  EXPECT_TRUE(StuckBench(Where::nowhere).run({}, seconds(60)).ok()) << "the control";
  for (const Where where : {Where::evaluate, Where::take, Where::ready_fd, Where::handle_end, Where::stop_callback}) {
    StuckBench bench(where);
    const auto reply = bench.run();
    ASSERT_TRUE(reply.is_untyped()) << static_cast<int>(where);
    EXPECT_EQ(reply.untyped().message, "sandbox backend did not settle within 200 ms") << static_cast<int>(where);
    EXPECT_EQ(reply.untyped().retry, effect::Retry::yes);
  }
}

// SBX-24, SBX-8: so does a stop, whoever requests it: its thread runs nothing of the backend's.
TEST(Guard, AStopEndsARunWhoseCallsBlock) {
  for (const Where where : {Where::evaluate, Where::take, Where::ready_fd, Where::handle_end, Where::stop_callback}) {
    StuckBench bench(where);
    std::stop_source stop;
    std::thread stopper([&] {
      ::poll(nullptr, 0, 50);
      stop.request_stop();
    });
    // An hour: only the stop can end it.
    EXPECT_TRUE(bench.run(stop.get_token(), std::chrono::hours(1)).is_cancelled()) << static_cast<int>(where);
    stopper.join();
  }
}

// SBX-24: nor does a program with a poll loop of its own wait in start() or take().
TEST(Guard, APolledRunDoesNotWait) {
  StuckBench bench(Where::evaluate);
  SandboxEvalInput input{bench.scripts->add("script"), "null", {}, {}};
  input.limits.wall_clock = milliseconds(200);
  const auto run = bench.effect->start(input);
  EXPECT_FALSE(run->take());
  pollfd entry{run->ready_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, run->deadline().poll_ms()), 0);
  std::optional<SandboxEffect::Reply> reply;
  while (!(reply = run->take())) ::poll(nullptr, 0, 1);
  EXPECT_EQ(reply->untyped().message, "sandbox backend did not settle within 200 ms");
}

// SBX-24: the backend hears of the stop though its evaluate() has not come back.
TEST(Guard, TellsABackendInsideEvaluateOfTheStop) {
  std::atomic<bool> heard{false};
  SandboxEffectOptions options;
  options.backend_grace = milliseconds(0);
  options.wall_clock = milliseconds(100);
  const auto scripts = std::make_shared<MemoryScripts>();
  const auto effect = SandboxEffect::create(scripts, std::make_shared<FakeBackend>([&](const spi::Request& request) {
                                              while (!request.stop.stop_requested()) ::poll(nullptr, 0, 1);
                                              heard = true;
                                              return spi::ready(Outcome::ok("1"));
                                            }),
                                            options)
                          .value();
  EXPECT_TRUE(effect->evaluate({scripts->add("script"), "null", {}, {}}).is_untyped());
  EXPECT_TRUE(eventually([&] { return heard.load(); }));
}

// SBX-24: the calls that belong to no run.
TEST(Guard, CallsBesideRunsDoNotHoldTheHost) {
  {
    const auto gate = std::make_shared<Gate>();
    SandboxEffectOptions options;
    options.backend_call_wait = milliseconds(200);
    const auto created = SandboxEffect::create(std::make_shared<MemoryScripts>(),
                                               std::make_shared<StuckBackend>(Where::capabilities, gate), options);
    EXPECT_NE(created.error().context.find("its capabilities() did not return within 200 ms"), std::string::npos)
        << created.error().message();
    gate->open();
    EXPECT_TRUE(eventually([&] { return gate->waiting == 0; }));
  }
  {
    StuckBench bench(Where::warm);
    bench.effect->warm();
    EXPECT_TRUE(bench.run({}, seconds(60)).ok());
    EXPECT_TRUE(bench.effect->close().ok());
  }
  {
    StuckBench bench(Where::close);
    EXPECT_TRUE(bench.run({}, seconds(60)).ok());
    const auto closed = bench.effect->close();
    EXPECT_EQ(closed.error().code, core::Errc::timed_out);
  }
  {
    StuckBench bench(Where::backend_end);
    EXPECT_TRUE(bench.run({}, seconds(60)).ok());
    bench.effect.reset();
    EXPECT_TRUE(eventually([&] { return bench.gate->waiting == 1; }));
  }
}

// SBX-24, SBX-9: a call that does not come back keeps one counted thread; with all kept, runs are refused at once, and
// when they come back there is room again.
TEST(Guard, CountsTheThreadsThatDoNotComeBack) {
  StuckBench bench(Where::evaluate, 2);
  EXPECT_TRUE(bench.run().is_untyped());
  EXPECT_TRUE(bench.run().is_untyped());
  const auto refused = bench.run({}, std::chrono::hours(1));
  EXPECT_NE(refused.untyped().message.find("all 2 engine threads are stuck"), std::string::npos)
      << refused.untyped().message;
  EXPECT_EQ(bench.gate->waiting, 2);
  bench.gate->open();
  EXPECT_TRUE(eventually([&] { return !bench.run({}, seconds(60)).is_typed() && bench.gate->waiting == 0; }));
}

// SBX-24, SBX-10: what is thrown arrives as without the guard, a text without a class included.
TEST(Guard, CarriesWhatIsThrown) {
  class NoText final : public std::exception {
    [[nodiscard]] const char* what() const noexcept override { return nullptr; }
  };
  const auto scripts = std::make_shared<MemoryScripts>();
  for (const bool trusted : {false, true}) {
    SandboxEffectOptions options;
    options.trust_backend_to_return = trusted;
    const auto run = [&](FakeBackend::Evaluate evaluate) {
      const auto effect =
          SandboxEffect::create(scripts, std::make_shared<FakeBackend>(std::move(evaluate)), options).value();
      return effect->evaluate({scripts->add("script"), "null", {}, {}});
    };
    const auto far =
        run([](const spi::Request&) -> std::unique_ptr<spi::Evaluation> { throw std::out_of_range("far"); });
    EXPECT_EQ(far.untyped().message, "far");
    EXPECT_THROW(std::rethrow_exception(far.untyped().cause), std::out_of_range);
    const auto none = run([](const spi::Request&) { return nullptr; });
    EXPECT_EQ(none.untyped().message, "sandbox backend failed: it gave no handle");
    EXPECT_EQ(none.untyped().retry, effect::Retry::no);
    const auto silent = run([](const spi::Request&) -> std::unique_ptr<spi::Evaluation> { throw NoText(); });
    EXPECT_EQ(silent.untyped().message, "sandbox backend failed: it threw something that has no text");
    const auto words = run([](const spi::Request&) -> std::unique_ptr<spi::Evaluation> { throw "words"; });
    EXPECT_EQ(words.untyped().message, "words");
    const auto text = run([](const spi::Request&) -> std::unique_ptr<spi::Evaluation> { throw std::string("text"); });
    EXPECT_EQ(text.untyped().message, "text");
    const auto number = run([](const spi::Request&) -> std::unique_ptr<spi::Evaluation> { throw 7; });
    EXPECT_EQ(number.untyped().message, "sandbox backend failed: it threw something that has no text");
    EXPECT_NE(number.untyped().cause, nullptr);
  }
}

}  // namespace
}  // namespace heddle::sandbox

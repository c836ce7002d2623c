// SandboxEffect::start(): the same call, driven by the caller's own poll loop.
#include <gtest/gtest.h>
#include <poll.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "fake_backend.h"
#include "heddle/sandbox/effect/sandbox_effect.h"

namespace heddle::sandbox {
namespace {

using spi::Outcome;
using std::chrono::milliseconds;

std::unique_ptr<SandboxRun> start(std::shared_ptr<spi::SandboxBackend> backend, std::string input = "null",
                                  milliseconds grace = milliseconds(60'000)) {
  const auto scripts = std::make_shared<MemoryScripts>();
  SandboxEffectOptions options;
  options.trust_backend_to_return = true;
  options.backend_grace = grace;
  options.wall_clock = milliseconds(1);
  // The effect is gone before the run is looked at: the run needs nothing of it.
  return SandboxEffect::create(scripts, std::move(backend), options)
      .value()
      ->start({scripts->add("script"), std::move(input), std::nullopt, {}});
}

bool readable(int fd, int wait_ms) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, wait_ms) == 1;
}

// SBX-9, SBX-15: every guarantee of evaluate() is in the reply, here that of the round trip; it comes once.
TEST(SandboxRun, GivesItsReplyOnce) {
  const auto run = start(answering(Outcome::ok(" [1.0] ")));
  auto reply = run->take();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->value().value_json, "[1]");
  EXPECT_FALSE(run->take());
  EXPECT_EQ(run->ready_fd(), -1);
}

// SBX-12: what ends before the backend is asked has its reply at once.
TEST(SandboxRun, HasARefusalAtOnce) {
  const auto backend = answering(Outcome::ok("1"));
  const auto run = start(backend, "NaN");
  EXPECT_EQ(run->ready_fd(), -1);
  EXPECT_EQ(run->take()->typed().channel, Channel::input_not_serializable);
  EXPECT_EQ(backend->runs, 0);
}

struct HeldRun {
  std::optional<spi::Completion> completion;
  std::stop_token stop;
};
std::shared_ptr<FakeBackend> holding_run(HeldRun& held) {
  return std::make_shared<FakeBackend>([&held](spi::Request request) {
    spi::Pending pending = spi::pending();
    held.completion = pending.completion;
    held.stop = request.stop;
    return std::move(pending.evaluation);
  });
}

// SBX-1: nothing, then a descriptor that says when.
TEST(SandboxRun, SaysWhenToLook) {
  HeldRun held;
  const auto run = start(holding_run(held));
  EXPECT_FALSE(run->take());
  EXPECT_FALSE(readable(run->ready_fd(), 0));
  held.completion->complete(Outcome::limited(spi::LimitKind::cpu));
  EXPECT_TRUE(readable(run->ready_fd(), 10'000));
  EXPECT_EQ(run->take()->typed().limit, Limit::cpu);
  EXPECT_FALSE(held.stop.stop_requested());
  EXPECT_TRUE(held.completion->abandoned());
}

// SBX-9: a backend that never settles loses; its stop token fires.
TEST(SandboxRun, MissesItsDeadline) {
  HeldRun held;
  const auto run = start(holding_run(held), "null", milliseconds(20));
  EXPECT_FALSE(run->take());
  EXPECT_FALSE(run->deadline().is_never());
  ::poll(nullptr, 0, run->deadline().poll_ms());
  EXPECT_EQ(run->take()->untyped().message, "sandbox backend did not settle within 21 ms");
  EXPECT_TRUE(held.stop.stop_requested());
  EXPECT_TRUE(held.completion->abandoned());
}

// SBX-8: giving up stops the backend and releases the handle.
TEST(SandboxRun, GivesUp) {
  HeldRun held;
  auto run = start(holding_run(held));
  EXPECT_FALSE(run->take());
  EXPECT_FALSE(held.stop.stop_requested());
  run.reset();
  EXPECT_TRUE(held.stop.stop_requested());
  EXPECT_TRUE(held.completion->abandoned());
}

// SBX-10: what a backend throws, at either moment, is an untyped failure with the exception as its cause.
TEST(SandboxRun, CatchesWhatIsThrown) {
  const auto at_start = start(std::make_shared<FakeBackend>(
      [](const spi::Request&) -> std::unique_ptr<spi::Evaluation> { throw std::runtime_error("no"); }));
  EXPECT_EQ(at_start->take()->untyped().message, "no");
  const auto later = start(std::make_shared<FakeBackend>([](const spi::Request&) {
    return std::make_unique<FakeEvaluation>(-1, []() -> std::optional<Outcome> { throw std::runtime_error("late"); });
  }));
  const auto reply = later->take();
  EXPECT_EQ(reply->untyped().message, "late");
  EXPECT_NE(reply->untyped().cause, nullptr);
}

}  // namespace
}  // namespace heddle::sandbox

#include "guard.h"

#include <poll.h>

#include <cerrno>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "heddle/core/clock.h"
#include "race.h"

namespace heddle::sandbox {
namespace {

using spi::BlockingBackend;
using spi::BlockingEngine;
using spi::Evaluation;
using spi::Outcome;
using spi::Request;
using spi::SandboxBackend;

// One call of somebody else's, as an engine that can only block.
class Call final : public BlockingEngine {
 public:
  explicit Call(std::function<void()> body) : body_(std::move(body)) {}
  [[nodiscard]] spi::Capabilities capabilities() const override { return {}; }
  [[nodiscard]] Outcome run(const Request& /*request*/) override {
    body_();
    return Outcome::ok_without_value();
  }

 private:
  const std::function<void()> body_;
};

std::unique_ptr<Evaluation> begin(BlockingBackend& calls, std::function<void()> body) {
  return calls.evaluate_on(std::make_shared<Call>(std::move(body)), {});
}

// The body holds nothing of the caller's by reference: it may outlive the wait.
void finish(BlockingBackend& calls, std::string_view name, std::function<void()> body, std::chrono::milliseconds wait) {
  const auto call = begin(calls, std::move(body));
  const core::Deadline deadline = core::Deadline::after(wait);
  for (;;) {
    if (const auto outcome = call->take()) {
      if (outcome->kind == Outcome::Kind::ok) return;
      throw BackendBroke(outcome->message);
    }
    if (deadline.passed()) {
      throw BackendBroke("its " + std::string(name) + "() did not return within " + std::to_string(wait.count()) +
                         " ms");
    }
    pollfd entry{call->ready_fd(), POLLIN, 0};
    if (::poll(&entry, 1, deadline.poll_ms()) < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "wait for a sandbox backend");
    }
  }
}

// A whole run on one thread: from evaluate() to the end of the handle. Only the stop comes from another one.
class GuardedRun final : public BlockingEngine {
 public:
  GuardedRun(std::shared_ptr<SandboxBackend> backend, std::shared_ptr<BlockingBackend> calls)
      : backend_(std::move(backend)), calls_(std::move(calls)) {}
  [[nodiscard]] spi::Capabilities capabilities() const override { return {}; }

  [[nodiscard]] Outcome run(const Request& request) override {
    // Who requests the stop runs what the backend hung on it: a thread of its own, not the caller's.
    std::stop_source stop;
    std::unique_ptr<Evaluation> telling;
    const auto tell = [&]() noexcept {
      try {
        telling = begin(*calls_, [stop]() mutable { stop.request_stop(); });
      } catch (...) {  // NOLINT(bugprone-empty-catch): no memory; the run goes on with nobody waiting, and is counted
      }
    };
    const std::stop_callback on_stop(request.stop, tell);
    Race race(stop.get_token(), core::Deadline::never());
    race.start(*backend_, request);
    return outcome_of(race.wait());
  }

 private:
  static Outcome outcome_of(Settled settled) {
    if (auto* outcome = std::get_if<Outcome>(&settled)) return std::move(*outcome);
    if (const auto* thrown = std::get_if<std::exception_ptr>(&settled)) std::rethrow_exception(*thrown);
    if (const auto* broken = std::get_if<Broken>(&settled)) throw BackendBroke(broken->what);
    if (const auto* none = std::get_if<NoDescriptor>(&settled)) {
      throw std::system_error(none->sys_errno, std::generic_category(), "wait for a sandbox backend");
    }
    return Outcome::infrastructure("the run was stopped");
  }

  const std::shared_ptr<SandboxBackend> backend_;
  const std::shared_ptr<BlockingBackend> calls_;
};

// The last reference may go on any thread, so what it ends goes to a thread of the set. Where none is left the backend
// stays: better than a host that hangs in somebody else's destructor.
std::shared_ptr<SandboxBackend> with_guarded_end(std::shared_ptr<SandboxBackend> backend,
                                                 std::shared_ptr<BlockingBackend> calls) {
  SandboxBackend* raw = backend.get();
  const auto end = [held = new std::shared_ptr<SandboxBackend>(std::move(backend)),
                    calls = std::move(calls)](SandboxBackend* /*raw*/) noexcept {
    try {
      begin(*calls, [held] { delete held; });
    } catch (...) {  // NOLINT(bugprone-empty-catch): as where no thread is left
    }
  };
  return {raw, end};
}

// Calls beside one stop for each run.
constexpr std::size_t kCallsBesideStops = 8;

std::shared_ptr<BlockingBackend> a_set_of(std::size_t threads) {
  spi::BlockingOptions options;
  options.max_threads = threads;
  return std::make_shared<BlockingBackend>(std::make_shared<Call>([] {}), options);
}

}  // namespace

GuardedBackend::GuardedBackend(std::shared_ptr<SandboxBackend> backend, std::size_t threads,
                               std::chrono::milliseconds call_wait)
    : call_wait_(call_wait),
      runs_(a_set_of(threads)),
      calls_(a_set_of(threads + kCallsBesideStops)),
      backend_(with_guarded_end(std::move(backend), calls_)) {}

GuardedBackend::~GuardedBackend() = default;

spi::Capabilities GuardedBackend::capabilities() const {
  const auto answer = std::make_shared<spi::Capabilities>();
  finish(
      *calls_, "capabilities", [answer, backend = backend_] { *answer = backend->capabilities(); }, call_wait_);
  return *answer;
}

std::unique_ptr<Evaluation> GuardedBackend::evaluate(Request request) {
  return runs_->evaluate_on(std::make_shared<GuardedRun>(backend_, calls_), std::move(request));
}

void GuardedBackend::warm() {
  begin(*calls_, [backend = backend_] { backend->warm(); });
}

void GuardedBackend::close() {
  finish(
      *calls_, "close", [backend = backend_] { backend->close(); }, call_wait_);
}

}  // namespace heddle::sandbox

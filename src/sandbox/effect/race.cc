#include "race.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "heddle/core/fd.h"

namespace heddle::sandbox {
namespace {

// Hands the caller's stop on to the backend from whatever thread requests it, and wakes the thread that polls.
class StopRelay {
 public:
  explicit StopRelay(const std::stop_token& stop) : stop_(stop), callback_(stop, Relay{this}) {}

  [[nodiscard]] std::stop_token token() const { return combined_.get_token(); }
  [[nodiscard]] bool stopped() const { return stopped_.load(); }
  void fire() { combined_.request_stop(); }

  // A descriptor that is readable once the stop was requested; -1 where it cannot be. The flag is set before the
  // descriptor is looked for, and the descriptor stands before the flag is looked at, so one of the two sees the other.
  [[nodiscard]] int wake_fd() {
    if (!stop_.stop_possible() || wake_.valid()) return wake_.get();
    wake_ = core::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_.valid()) failure_ = errno;
    raw_wake_.store(wake_.get());
    return wake_.get();
  }
  [[nodiscard]] int failure() const { return failure_; }  // errno where wake_fd() could not be had

 private:
  struct Relay {
    StopRelay* relay;
    void operator()() const noexcept { relay->on_stop(); }
  };

  void on_stop() noexcept {
    stopped_.store(true);
    combined_.request_stop();
    const int raw = raw_wake_.load();
    const std::uint64_t one = 1;
    if (raw >= 0) {
      [[maybe_unused]] const auto written = ::write(raw, &one, sizeof one);
    }
  }

  const std::stop_token stop_;
  std::stop_source combined_;
  std::atomic<bool> stopped_{false};
  std::atomic<int> raw_wake_{-1};
  core::Fd wake_;
  int failure_ = 0;
  std::stop_callback<Relay> callback_;  // last: it is gone, and not running, before anything that it uses
};

// A handle that is readable without an outcome, again and again, gets this many looks before each costs a millisecond.
constexpr int kFreeLooks = 64;

Settled wait(spi::Evaluation& evaluation, StopRelay& relay, core::Deadline deadline) {
  std::optional<spi::Outcome> outcome = evaluation.take();
  for (int looks = 0;; ++looks) {
    if (relay.stopped()) return Stopped{};
    if (outcome) return *std::move(outcome);
    if (deadline.passed()) return MissedDeadline{};

    std::array<pollfd, 2> entries{{{relay.wake_fd(), POLLIN, 0}, {evaluation.ready_fd(), POLLIN, 0}}};
    if (relay.failure() != 0) return NoDescriptor{relay.failure()};
    if (relay.stopped()) continue;
    if (looks > kFreeLooks) {
      [[maybe_unused]] const int woken = ::poll(entries.data(), 1, 1);
    }
    const int ready = ::poll(entries.data(), entries.size(), deadline.poll_ms());
    if (ready < 0 && errno != EINTR) return NoDescriptor{errno};
    if (ready <= 0 || entries[1].revents == 0) continue;
    if ((entries[1].revents & POLLNVAL) != 0) return Broken{"its handle has no open descriptor"};
    outcome = evaluation.take();
  }
}

}  // namespace

Settled run_backend(spi::SandboxBackend& backend, spi::Request request, const std::stop_token& stop,
                    core::Deadline deadline) {
  StopRelay relay(stop);
  request.stop = relay.token();
  Settled settled = Stopped{};
  try {
    const std::unique_ptr<spi::Evaluation> evaluation = backend.evaluate(std::move(request));
    if (evaluation == nullptr) {
      settled = Broken{"it gave no handle"};
    } else {
      settled = wait(*evaluation, relay, deadline);
    }
    if (!std::holds_alternative<spi::Outcome>(settled)) relay.fire();
  } catch (...) {
    settled = std::current_exception();
    relay.fire();
  }
  return settled;
}

}  // namespace heddle::sandbox

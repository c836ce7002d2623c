#include "race.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

namespace heddle::sandbox {

int StopRelay::wake_fd() {
  if (!stop_.stop_possible() || wake_.valid()) return wake_.get();
  wake_ = core::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.valid()) failure_ = errno;
  raw_wake_.store(wake_.get());
  return wake_.get();
}

void StopRelay::on_stop() noexcept {
  stopped_.store(true);
  combined_.request_stop();
  const int raw = raw_wake_.load();
  const std::uint64_t one = 1;
  if (raw >= 0) {
    [[maybe_unused]] const auto written = ::write(raw, &one, sizeof one);
  }
}

Race::~Race() {
  if (evaluation_ != nullptr) relay_.fire();
}

void Race::start(spi::SandboxBackend& backend, spi::Request request) {
  request.stop = relay_.token();
  try {
    evaluation_ = backend.evaluate(std::move(request));
    if (evaluation_ == nullptr) settle(Broken{"it gave no handle"});
  } catch (...) {
    settle(std::current_exception());
  }
}

void Race::settle(Settled settled) {
  if (!std::holds_alternative<spi::Outcome>(settled)) relay_.fire();
  evaluation_.reset();
  settled_ = std::move(settled);
}

std::optional<Settled> Race::look() {
  if (evaluation_ != nullptr) {
    try {
      std::optional<spi::Outcome> outcome;
      if (!relay_.stopped()) outcome = evaluation_->take();
      if (relay_.stopped()) {
        settle(Stopped{});
      } else if (outcome) {
        settle(*std::move(outcome));
      } else if (deadline_.passed()) {
        settle(MissedDeadline{});
      }
    } catch (...) {
      settle(std::current_exception());
    }
  }
  return std::exchange(settled_, std::nullopt);
}

Settled Race::wait() {
  // A handle that is readable without an outcome, again and again, gets this many looks before each costs a
  // millisecond.
  constexpr int kFreeLooks = 64;
  for (int looks = 0;; ++looks) {
    if (auto settled = look()) return *std::move(settled);
    std::array<pollfd, 2> entries{{{relay_.wake_fd(), POLLIN, 0}, {evaluation_->ready_fd(), POLLIN, 0}}};
    if (relay_.failure() != 0) {
      settle(NoDescriptor{relay_.failure()});
      continue;
    }
    if (relay_.stopped()) continue;
    if (looks > kFreeLooks) {
      [[maybe_unused]] const int woken = ::poll(entries.data(), 1, 1);
    }
    const int ready = ::poll(entries.data(), entries.size(), deadline_.poll_ms());
    if (ready < 0 && errno != EINTR) settle(NoDescriptor{errno});
    if (ready > 0 && (entries[1].revents & POLLNVAL) != 0) settle(Broken{"its handle has no open descriptor"});
  }
}

}  // namespace heddle::sandbox

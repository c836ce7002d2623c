// A backend whose every word a test chooses.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "heddle/sandbox/spi/backend.h"
#include "heddle/sandbox/spi/pending.h"

namespace heddle::sandbox {

inline spi::Capabilities good_capabilities() {
  spi::Capabilities capabilities;
  capabilities.language = "test";
  capabilities.network = spi::Network::none;
  capabilities.wall_clock = spi::WallClock::hard;
  capabilities.memory = capabilities.cpu = capabilities.fresh_per_run = true;
  return capabilities;
}

class FakeBackend final : public spi::SandboxBackend {
 public:
  using Evaluate = std::function<std::unique_ptr<spi::Evaluation>(spi::Request)>;
  explicit FakeBackend(Evaluate evaluate, spi::Capabilities capabilities = good_capabilities())
      : evaluate_(std::move(evaluate)), capabilities_(std::move(capabilities)) {}

  [[nodiscard]] spi::Capabilities capabilities() const override {
    ++capability_reads;
    return capabilities_;
  }
  [[nodiscard]] std::unique_ptr<spi::Evaluation> evaluate(spi::Request request) override {
    ++runs;
    return evaluate_(std::move(request));
  }

  void warm() override { ++warmed; }

  spi::Capabilities& edit() { return capabilities_; }

  mutable std::atomic<int> capability_reads{0};
  std::atomic<int> runs{0};
  std::atomic<int> warmed{0};

 private:
  Evaluate evaluate_;
  spi::Capabilities capabilities_;
};

/// A backend that answers every run at once with this.
inline std::shared_ptr<FakeBackend> answering(spi::Outcome outcome) {
  return std::make_shared<FakeBackend>([outcome](const spi::Request&) { return spi::ready(outcome); });
}

/// A handle out of two functions.
class FakeEvaluation final : public spi::Evaluation {
 public:
  FakeEvaluation(int fd, std::function<std::optional<spi::Outcome>()> take) : fd_(fd), take_(std::move(take)) {}
  [[nodiscard]] int ready_fd() const noexcept override { return fd_; }
  [[nodiscard]] std::optional<spi::Outcome> take() override { return take_(); }

 private:
  int fd_;
  std::function<std::optional<spi::Outcome>()> take_;
};

}  // namespace heddle::sandbox

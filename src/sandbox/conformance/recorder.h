// A backend around a backend that remembers what the inner one answered, and can keep a handle that was given up.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/sandbox/spi/backend.h"

namespace heddle::sandbox::conformance {

class Recording {
 public:
  std::atomic<int> started{0};              ///< runs whose handle has been given
  std::atomic<bool> keep_abandoned{false};  ///< a handle that is destroyed before its outcome goes to `abandoned`

  void answered(const spi::Outcome& outcome) {
    const std::lock_guard lock(mutex_);
    outcomes_.push_back(outcome);
  }
  void abandoned(std::unique_ptr<spi::Evaluation> evaluation) {
    const std::lock_guard lock(mutex_);
    abandoned_.push_back(std::move(evaluation));
  }
  [[nodiscard]] std::optional<spi::Outcome> last() const {
    const std::lock_guard lock(mutex_);
    if (outcomes_.empty()) return std::nullopt;
    return outcomes_.back();
  }
  [[nodiscard]] std::vector<std::unique_ptr<spi::Evaluation>> take_abandoned() {
    const std::lock_guard lock(mutex_);
    return std::exchange(abandoned_, {});
  }

 private:
  mutable std::mutex mutex_;
  std::vector<spi::Outcome> outcomes_;
  std::vector<std::unique_ptr<spi::Evaluation>> abandoned_;
};

class RecordingBackend final : public spi::SandboxBackend {
 public:
  RecordingBackend(std::shared_ptr<spi::SandboxBackend> inner, std::shared_ptr<Recording> recording)
      : inner_(std::move(inner)), recording_(std::move(recording)) {}
  [[nodiscard]] spi::Capabilities capabilities() const override { return inner_->capabilities(); }
  [[nodiscard]] std::unique_ptr<spi::Evaluation> evaluate(spi::Request request) override;
  void warm() override { inner_->warm(); }
  void close() override { inner_->close(); }

 private:
  std::shared_ptr<spi::SandboxBackend> inner_;
  std::shared_ptr<Recording> recording_;
};

}  // namespace heddle::sandbox::conformance

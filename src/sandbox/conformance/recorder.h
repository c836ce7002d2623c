// A backend around a backend that remembers what the inner one answered last, and can keep a handle that was given up.
// It declares what the kit read first, so that a declaration that alternates fails one case and not all.
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
  std::atomic<int> started{0};              ///< runs that the backend has been asked for
  std::atomic<bool> keep_abandoned{false};  ///< a handle that is destroyed before its outcome goes to `abandoned`

  void answered(const spi::Outcome& outcome) {
    const std::lock_guard lock(mutex_);
    last_ = outcome;
  }
  void abandoned(std::unique_ptr<spi::Evaluation> evaluation) {
    const std::lock_guard lock(mutex_);
    abandoned_.push_back(std::move(evaluation));
  }
  [[nodiscard]] std::optional<spi::Outcome> last() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  [[nodiscard]] std::vector<std::unique_ptr<spi::Evaluation>> take_abandoned() {
    const std::lock_guard lock(mutex_);
    return std::exchange(abandoned_, {});
  }

 private:
  mutable std::mutex mutex_;
  std::optional<spi::Outcome> last_;
  std::vector<std::unique_ptr<spi::Evaluation>> abandoned_;
};

class RecordingBackend final : public spi::SandboxBackend {
 public:
  RecordingBackend(std::shared_ptr<spi::SandboxBackend> inner, std::shared_ptr<Recording> recording,
                   spi::Capabilities declared)
      : inner_(std::move(inner)), recording_(std::move(recording)), declared_(std::move(declared)) {}
  [[nodiscard]] spi::Capabilities capabilities() const override { return declared_; }
  [[nodiscard]] std::unique_ptr<spi::Evaluation> evaluate(spi::Request request) override;
  void warm() override { inner_->warm(); }
  void close() override { inner_->close(); }

 private:
  std::shared_ptr<spi::SandboxBackend> inner_;
  std::shared_ptr<Recording> recording_;
  const spi::Capabilities declared_;
};

}  // namespace heddle::sandbox::conformance

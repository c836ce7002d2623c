#include "recorder.h"

namespace heddle::sandbox::conformance {
namespace {

class RecordingEvaluation final : public spi::Evaluation {
 public:
  RecordingEvaluation(std::unique_ptr<spi::Evaluation> inner, std::shared_ptr<Recording> recording)
      : inner_(std::move(inner)), recording_(std::move(recording)) {}
  ~RecordingEvaluation() override {
    if (!answered_ && recording_->keep_abandoned) recording_->abandoned(std::move(inner_));
  }
  [[nodiscard]] int ready_fd() const noexcept override { return inner_->ready_fd(); }
  [[nodiscard]] std::optional<spi::Outcome> take() override {
    auto outcome = inner_->take();
    if (outcome) {
      answered_ = true;
      recording_->answered(*outcome);
    }
    return outcome;
  }

 private:
  std::unique_ptr<spi::Evaluation> inner_;
  std::shared_ptr<Recording> recording_;
  bool answered_ = false;
};

}  // namespace

std::unique_ptr<spi::Evaluation> RecordingBackend::evaluate(spi::Request request) {
  ++recording_->started;
  auto inner = inner_->evaluate(std::move(request));
  if (inner == nullptr) return nullptr;
  return std::make_unique<RecordingEvaluation>(std::move(inner), recording_);
}

}  // namespace heddle::sandbox::conformance

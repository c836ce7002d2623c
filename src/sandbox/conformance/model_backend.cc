#include "model_backend.h"

#include <poll.h>

#include <stdexcept>
#include <utility>

#include "heddle/sandbox/spi/pending.h"

namespace heddle::sandbox::conformance {
namespace {

constexpr spi::BlockingOptions kThreads{16, std::chrono::milliseconds(50)};

void hang() {
  while (!released()) ::poll(nullptr, 0, 5);
}

// Waits where it must not, each in its way.
class WaitingEvaluation final : public spi::Evaluation {
 public:
  WaitingEvaluation(std::unique_ptr<spi::Evaluation> inner, Break where) : inner_(std::move(inner)), where_(where) {}
  ~WaitingEvaluation() override {
    while (where_ == Break::drop_blocks && !answered_ && !released()) {
      ::poll(nullptr, 0, 1);
      answered_ = inner_->take().has_value();
    }
  }
  [[nodiscard]] int ready_fd() const noexcept override { return inner_->ready_fd(); }
  [[nodiscard]] std::optional<spi::Outcome> take() override {
    auto outcome = inner_->take();
    while (where_ == Break::take_blocks && !outcome && !released()) {
      ::poll(nullptr, 0, 1);
      outcome = inner_->take();
    }
    answered_ = outcome.has_value();
    return outcome;
  }

 private:
  std::unique_ptr<spi::Evaluation> inner_;
  const Break where_;
  bool answered_ = false;
};

}  // namespace

ModelBackend::ModelBackend(std::shared_ptr<spi::BlockingEngine> engine, ModelOptions options, int instance)
    : options_(std::move(options)), instance_(instance), inner_(std::move(engine), kThreads) {}

ModelBackend::~ModelBackend() {
  if (broken(Break::destructor_blocks)) wait_for_runs();
}

void ModelBackend::wait_for_runs() const {
  while (inner_.statistics().running > 0 && !released()) ::poll(nullptr, 0, 1);
}

spi::Capabilities ModelBackend::capabilities() const {
  spi::Capabilities declared = inner_.capabilities();
  const int read = ++reads_;
  if (broken(Break::capabilities_alternate) && read % 2 == 0) declared.cpu = !declared.cpu;
  if (broken(Break::capabilities_by_instance) && instance_ > 1) declared.cpu = !declared.cpu;
  if (broken(Break::capabilities_block) && read > 2) hang();
  if (broken(Break::capabilities_throw) && read > 2) throw std::runtime_error("not now");
  return declared;
}

std::unique_ptr<spi::Evaluation> ModelBackend::evaluate(spi::Request request) {
  auto inner = inner_.evaluate(std::move(request));
  if (broken(Break::evaluate_blocks)) {
    for (;;) {
      if (auto outcome = inner->take()) return spi::ready(*std::move(outcome));
      if (released()) return spi::ready(spi::Outcome::infrastructure("released"));
      ::poll(nullptr, 0, 1);
    }
  }
  return std::make_unique<WaitingEvaluation>(std::move(inner), options_.broken);
}

void ModelBackend::warm() {
  if (broken(Break::warm_blocks)) hang();
  if (broken(Break::warm_throws)) throw std::runtime_error("cold");
}

void ModelBackend::close() {
  if (broken(Break::close_blocks)) wait_for_runs();
  if (broken(Break::close_throws)) throw std::runtime_error("stuck");
  if (!broken(Break::close_closes_nothing)) inner_.close();
}

}  // namespace heddle::sandbox::conformance

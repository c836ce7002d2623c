#include "heddle/sandbox/spi/pending.h"

#include <mutex>
#include <utility>

#include "event.h"

namespace heddle::sandbox::spi {

class PendingState {
 public:
  bool complete(Outcome outcome) {
    const std::lock_guard lock(mutex_);
    if (answered_ || abandoned_) return false;
    answered_ = true;
    outcome_ = std::move(outcome);
    event_.raise();
    return true;
  }

  std::optional<Outcome> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(outcome_, std::nullopt);
  }

  void abandon() {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    outcome_.reset();
  }

  [[nodiscard]] bool abandoned() const {
    const std::lock_guard lock(mutex_);
    return abandoned_;
  }

  [[nodiscard]] const Event& event() const { return event_; }

 private:
  mutable std::mutex mutex_;
  Event event_;
  std::optional<Outcome> outcome_;
  bool answered_ = false;
  bool abandoned_ = false;
};

namespace {

class PendingEvaluation final : public Evaluation {
 public:
  explicit PendingEvaluation(std::shared_ptr<PendingState> state) : state_(std::move(state)) {}
  ~PendingEvaluation() override { state_->abandon(); }
  [[nodiscard]] int ready_fd() const noexcept override { return state_->event().fd(); }
  [[nodiscard]] std::optional<Outcome> take() override { return state_->take(); }

 private:
  std::shared_ptr<PendingState> state_;
};

class ReadyEvaluation final : public Evaluation {
 public:
  explicit ReadyEvaluation(Outcome outcome) : outcome_(std::move(outcome)) {}
  [[nodiscard]] int ready_fd() const noexcept override {
    if (!event_) event_.emplace(Event::Start::raised);
    return event_->fd();
  }
  [[nodiscard]] std::optional<Outcome> take() override { return std::exchange(outcome_, std::nullopt); }

 private:
  std::optional<Outcome> outcome_;
  mutable std::optional<Event> event_;
};

}  // namespace

Completion::Completion(std::shared_ptr<PendingState> state) : state_(std::move(state)) {}
Completion::Completion(const Completion&) = default;
Completion::Completion(Completion&&) noexcept = default;
Completion& Completion::operator=(const Completion&) = default;
Completion& Completion::operator=(Completion&&) noexcept = default;
Completion::~Completion() = default;

bool Completion::complete(Outcome outcome) const { return state_->complete(std::move(outcome)); }
bool Completion::abandoned() const { return state_->abandoned(); }

Pending pending() {
  auto state = std::make_shared<PendingState>();
  if (!state->event().valid()) {
    state->abandon();
    return {ready(Outcome::infrastructure("sandbox: no descriptor left for an evaluation")), Completion(state)};
  }
  return {std::make_unique<PendingEvaluation>(state), Completion(state)};
}  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): the analyzer loses sight of the unique_ptr in the aggregate

std::unique_ptr<Evaluation> ready(Outcome outcome) { return std::make_unique<ReadyEvaluation>(std::move(outcome)); }

}  // namespace heddle::sandbox::spi

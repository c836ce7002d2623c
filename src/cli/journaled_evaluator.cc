#include "journaled_evaluator.h"

#include <utility>

namespace heddle::cli {
namespace {

using sandbox::quickjs::RunRequest;

RunEnd failed(const core::Error& error) { return RunEnd{effect::untyped(error), {}, {}}; }

class JournaledEvaluation final : public Evaluation {
 public:
  JournaledEvaluation(Evaluator& evaluator, RunJournal& journal, std::uint64_t number, RunRequest request)
      : evaluator_(evaluator),
        journal_(journal),
        number_(number),
        pending_(journal.begin(number, request)),
        request_(std::move(request)),
        explain_(std::exchange(request_.explain, true)) {}
  JournaledEvaluation(const JournaledEvaluation&) = delete;
  JournaledEvaluation& operator=(const JournaledEvaluation&) = delete;
  ~JournaledEvaluation() override {
    if (told_) return;
    running_.reset();  // it is over before it is said to be; it may not even have begun, but its INTENT says so
    (void)journal_.end(number_, report(OutcomeKind::cancelled));
  }

  [[nodiscard]] int fd() const override { return running_ != nullptr ? running_->fd() : pending_->fd(); }
  [[nodiscard]] core::Deadline deadline() const override {
    return running_ != nullptr ? running_->deadline() : core::Deadline::never();
  }

  [[nodiscard]] std::optional<RunEnd> poll() override {
    if (running_ == nullptr) {
      const auto durable = pending_->result();
      if (!durable) return std::nullopt;
      if (!durable->ok()) {
        told_ = true;
        return failed(durable->error());
      }
      if (end_) return std::exchange(end_, std::nullopt);
      auto started = evaluator_.start(std::move(request_));
      if (!started.ok()) return ended(failed(started.error()));
      running_ = std::move(started).value();
    }
    auto end = running_->poll();
    if (!end) return std::nullopt;
    running_.reset();
    return ended(*std::move(end));
  }

 private:
  std::optional<RunEnd> ended(RunEnd end) {
    told_ = true;
    pending_ = journal_.end(number_, report_of(RunEnd(end)));
    if (!explain_) end.facts.explanation.reset();
    end_ = std::move(end);
    return std::nullopt;
  }

  Evaluator& evaluator_;
  RunJournal& journal_;
  const std::uint64_t number_;
  std::shared_ptr<const RunJournal::Pending> pending_;
  RunRequest request_;
  const bool explain_;  // what the user asked for; the journal is always told what was denied
  std::unique_ptr<Evaluation> running_;
  bool told_ = false;          // the journal knows how it ended, or cannot be told
  std::optional<RunEnd> end_;  // told once it is durable
};

class JournaledEvaluator final : public Evaluator {
 public:
  JournaledEvaluator(std::unique_ptr<Evaluator> evaluator, RunJournal& journal)
      : evaluator_(std::move(evaluator)), journal_(journal) {}

  [[nodiscard]] core::Result<std::unique_ptr<Evaluation>> start(RunRequest request) override {
    return std::unique_ptr<Evaluation>(
        std::make_unique<JournaledEvaluation>(*evaluator_, journal_, ++started_, std::move(request)));
  }

 private:
  std::unique_ptr<Evaluator> evaluator_;
  RunJournal& journal_;
  std::uint64_t started_ = 0;
};

}  // namespace

std::unique_ptr<Evaluator> journaled(std::unique_ptr<Evaluator> evaluator, RunJournal& journal) {
  return std::make_unique<JournaledEvaluator>(std::move(evaluator), journal);
}

}  // namespace heddle::cli

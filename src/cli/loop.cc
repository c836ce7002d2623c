#include "loop.h"

#include <poll.h>

#include <cerrno>
#include <deque>
#include <vector>

namespace heddle::cli {
namespace {

using sandbox::quickjs::RunRequest;

struct Slot {
  std::unique_ptr<Evaluation> evaluation;  // while it runs
  core::TimePoint begun;
  Report report;  // afterwards
};

class Loop {
 public:
  Loop(JobSource& source, Evaluator& evaluator, const LoopLimits& limits, Signals& signals, Output& output,
       Progress& progress, const std::function<void(Report)>& give)
      : source_(source),
        evaluator_(evaluator),
        limits_(limits),
        signals_(signals),
        output_(output),
        progress_(progress),
        give_(give) {}

  LoopResult run() {
    for (;;) {
      fill();
      give_finished();
      progress_.update({result_.jobs, result_.ok, source_.bytes_read(), source_.bytes_total()});
      if (output_.state() != Output::State::good) break;
      if (ended_ && window_.empty() && output_.pending() == 0) break;
      if (!wait()) break;
    }
    window_.clear();  // ends what still runs
    return std::move(result_);
  }

 private:
  bool room() const {
    return running_ < limits_.workers && window_.size() < limits_.window_jobs && kept_ < limits_.window_bytes &&
           output_.pending() < limits_.output_bytes;
  }

  void fill() {
    while (!ended_ && !starved_ && room()) {
      auto step = source_.next();
      if (!step.ok()) {
        result_.source_error = std::move(step).error();
        ended_ = true;
      } else if (step.value().state == JobSource::State::end) {
        ended_ = true;
      } else if (step.value().state == JobSource::State::nothing_yet) {
        starved_ = true;
      } else {
        start(std::move(*step.value().job));
      }
    }
  }

  void start(Job job) {
    Slot& slot = window_.emplace_back();
    slot.begun = core::Clock::now();
    if (auto* report = std::get_if<Report>(&job)) return finish(slot, std::move(*report));
    auto evaluation = evaluator_.start(std::move(*std::get_if<RunRequest>(&job)));
    if (!evaluation.ok()) return finish(slot, failed_report(evaluation.error().message()));
    slot.evaluation = std::move(evaluation).value();
    ++running_;
    look_at(slot);
  }

  void look_at(Slot& slot) {
    if (auto end = slot.evaluation->poll()) finish(slot, report_of(std::move(*end)));
  }

  void finish(Slot& slot, Report report) {
    if (slot.evaluation) --running_;
    slot.evaluation.reset();
    slot.report = std::move(report);
    kept_ += slot.report.bytes();
  }

  void give_finished() {
    while (!window_.empty() && !window_.front().evaluation) {
      Report report = std::move(window_.front().report);
      window_.pop_front();
      kept_ -= report.bytes();
      give(std::move(report));
    }
  }

  void give(Report report) {
    ++result_.jobs;
    if (report.kind == OutcomeKind::ok) ++result_.ok;
    give_(std::move(report));
  }

  // False when the loop is over.
  bool wait() {
    fds_.clear();
    slots_.clear();
    fds_.push_back({signals_.fd(), POLLIN, 0});
    // With no event asked for, poll(2) still tells when the last reader of a pipe is gone.
    fds_.push_back({output_.fd(), static_cast<short>(output_.pending() > 0 ? POLLOUT : 0), 0});
    fds_.push_back({!ended_ && starved_ && room() ? source_.fd() : -1, POLLIN, 0});
    core::Deadline due = progress_.due();
    for (Slot& slot : window_) {
      if (!slot.evaluation) continue;
      due = core::Deadline::earlier(due, slot.evaluation->deadline());
      fds_.push_back({slot.evaluation->fd(), POLLIN, 0});
      slots_.push_back(&slot);
    }
    if (::poll(fds_.data(), fds_.size(), due.poll_ms()) < 0) {
      if (errno == EINTR) return true;
      result_.source_error = core::system_error("poll");
      return false;
    }
    if (fds_[0].revents != 0 && signals_.take()) {
      cancel();  // its slots are gone, so what else poll(2) said is left
      return true;
    }
    if ((fds_[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
      output_.reader_gone();
    } else if (fds_[1].revents != 0) {
      progress_.make_way();
      output_.write_ready();
    }
    if (fds_[2].revents != 0) starved_ = false;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = *slots_[i];
      if (!slot.evaluation) continue;
      if (fds_[i + 3].revents != 0 || slot.evaluation->deadline().passed()) look_at(slot);
    }
    return true;
  }

  // What runs and what has been read is cancelled, what has finished keeps its outcome (SBX-8).
  void cancel() {
    result_.cancelled = true;
    ended_ = true;
    for (Slot& slot : window_) {
      if (!slot.evaluation) continue;
      Report cancelled = report(OutcomeKind::cancelled);
      cancelled.elapsed = std::chrono::duration_cast<std::chrono::microseconds>(core::Clock::now() - slot.begun);
      finish(slot, std::move(cancelled));
    }
    give_finished();
    while (source_.take_read()) give(report(OutcomeKind::cancelled));
  }

  JobSource& source_;
  Evaluator& evaluator_;
  const LoopLimits limits_;
  Signals& signals_;
  Output& output_;
  Progress& progress_;
  const std::function<void(Report)>& give_;

  std::deque<Slot> window_;  // in the order of the input; references to its elements hold while it grows
  std::size_t running_ = 0;
  std::size_t kept_ = 0;
  bool ended_ = false;
  bool starved_ = false;
  std::vector<pollfd> fds_;
  std::vector<Slot*> slots_;
  LoopResult result_;
};

}  // namespace

LoopResult run_jobs(JobSource& source, Evaluator& evaluator, const LoopLimits& limits, Signals& signals, Output& output,
                    Progress& progress, const std::function<void(Report)>& give) {
  return Loop(source, evaluator, limits, signals, output, progress, give).run();
}

}  // namespace heddle::cli

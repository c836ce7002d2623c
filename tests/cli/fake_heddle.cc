// The whole command with an evaluator that needs no jail: what is tested is the command, not what evaluates. A script
// is one word of the table below and a number.
#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <charconv>
#include <chrono>

#include "heddle/cli/command.h"
#include "heddle/core/fd.h"

namespace {

using heddle::cli::Evaluation;
using heddle::cli::Evaluator;
using heddle::cli::RunEnd;
using heddle::core::Fd;
using heddle::core::Result;
using heddle::sandbox::Channel;
using heddle::sandbox::Evaluated;
using heddle::sandbox::Limit;
using heddle::sandbox::SandboxFailure;
using heddle::sandbox::quickjs::RunRequest;

class FakeEvaluation final : public Evaluation {
 public:
  FakeEvaluation(Fd timer, RunEnd end) : timer_(std::move(timer)), end_(std::move(end)) {}
  int fd() const override { return timer_.get(); }
  std::optional<RunEnd> poll() override {
    std::uint64_t times = 0;
    if (::read(timer_.get(), &times, sizeof times) != static_cast<ssize_t>(sizeof times)) return std::nullopt;
    return std::move(end_);
  }

 private:
  Fd timer_;
  RunEnd end_;
};

// echo: the input. vary: the input, after a time that differs from run to run. sleep N: null after N ms. big N: N
// bytes. raw: the input, taken for a value unchecked by quoting nothing. throw, cpu, memory, output, ceiling,
// wallclock, toolarge, notjson, shape, lost. denied: the input, after a denial.
class FakeEvaluator final : public Evaluator {
 public:
  Result<std::unique_ptr<Evaluation>> start(RunRequest request) override {
    const auto space = request.script.find_first_of(" \n");
    const auto word = request.script.substr(0, space);
    long number = 0;
    if (space != std::string::npos)
      std::from_chars(request.script.data() + space + 1, request.script.data() + request.script.size(), number);
    long after_us = 1;
    std::string value = request.input_json;
    if (word == "vary") after_us = 1 + static_cast<long>(++started_ * 7919 % 5) * 20;
    if (word == "sleep") {
      after_us = number * 1000;
      value = "null";
    }
    if (word == "big") value = '"' + std::string(static_cast<std::size_t>(number), 'x') + '"';
    if (word == "control") {
      value =
          "\"a\x7F\xC2\x9B"
          "31mb\"";
    }
    if (word == "limits") {
      value = "[" + std::to_string(request.limits.wall_clock.count()) + "," +
              std::to_string(request.limits.cpu.count()) + "," + std::to_string(request.limits.memory_bytes) + "," +
              std::to_string(request.limits.output_bytes) + "]";
    }
    RunEnd end{Evaluated{std::move(value), std::nullopt}, {}};
    end.facts.elapsed = std::chrono::microseconds(1234);
    SandboxFailure failure;
    if (word == "throw") {
      failure.name = "TypeError";
      failure.message = "no \x1B[31mcolour\nhere";
      failure.line = 3;
      failure.column = 7;
      end.reply = failure;
    }
    if (word == "cpu" || word == "memory" || word == "output" || word == "ceiling" || word == "wallclock") {
      failure.channel = Channel::limit_exceeded;
      failure.limit = word == "cpu"         ? Limit::cpu
                      : word == "output"    ? Limit::output
                      : word == "wallclock" ? Limit::wall_clock
                                            : Limit::memory;
      end.facts.output_exceeded = word == "ceiling";
      end.reply = failure;
    }
    if (word == "toolarge" || word == "notjson" || word == "shape") {
      failure.channel = word == "toolarge"  ? Channel::input_too_large
                        : word == "notjson" ? Channel::input_not_serializable
                                            : Channel::shape_mismatch;
      failure.message = "because";
      end.reply = failure;
    }
    if (word == "denied" && request.explain) {
      end.facts.explanation = heddle::sandbox::quickjs::Explanation{
          {"Landlock"},
          {{"openat", "/etc/passwd", "openat /etc/passwd (observed): no files", "no files", "none"}},
          false,
          0};
    }
    if (word == "lost") end.reply = heddle::effect::untyped("start the worker: it said nothing");
    if (word == "refuse") return heddle::core::make_error(heddle::core::Errc::invalid_argument, "start a run", "never");
    Fd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!timer.valid()) return heddle::core::system_error("timerfd_create");
    itimerspec when{{0, 0}, {after_us / 1'000'000, (after_us % 1'000'000) * 1000}};
    if (::timerfd_settime(timer.get(), 0, &when, nullptr) != 0) return heddle::core::system_error("timerfd_settime");
    return std::unique_ptr<Evaluation>(std::make_unique<FakeEvaluation>(std::move(timer), std::move(end)));
  }

 private:
  std::uint64_t started_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return heddle::cli::run_program(argc, argv,
                                  [](const heddle::cli::EvaluatorNeeds&) -> Result<std::unique_ptr<Evaluator>> {
                                    if (::getenv("FAKE_HEDDLE_NO_POOL") != nullptr) {
                                      return heddle::core::make_error(heddle::core::Errc::untrusted_program,
                                                                      "check heddle-supervisor", "not there");
                                    }
                                    return std::unique_ptr<Evaluator>(std::make_unique<FakeEvaluator>());
                                  });
}

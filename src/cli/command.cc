#include "heddle/cli/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include "args.h"
#include "complain.h"
#include "doctor_command.h"
#include "heddle/core/text.h"
#include "heddle/sandbox/effect/script_reader.h"
#include "interrupt.h"
#include "journaled_evaluator.h"
#include "json.h"
#include "line_jobs.h"
#include "log_command.h"
#include "loop.h"
#include "stdio.h"

namespace heddle::cli {
namespace {

using sandbox::quickjs::RunRequest;

class OneJob final : public JobSource {
 public:
  explicit OneJob(RunRequest request) : job_(std::move(request)) {}
  core::Result<Step> next() override {
    if (!job_) return Step{State::end, std::nullopt};
    return Step{State::job, std::exchange(job_, std::nullopt)};
  }
  int fd() const override { return -1; }
  bool take_read() override { return std::exchange(job_, std::nullopt).has_value(); }

 private:
  std::optional<Job> job_;
};

// A text, or what there is to report in place of a run.
using Loaded = std::variant<std::string, Report>;

std::string without_mark(std::string text) {
  if (text.compare(0, 3, "\xEF\xBB\xBF") == 0) text.erase(0, 3);  // as some editors write it
  return text;
}

std::optional<std::string> encoding_fault(std::string_view text) {
  const auto at = core::invalid_utf8_at(text);
  if (at == std::string_view::npos) return std::nullopt;
  const bool utf16 = text.substr(0, 2) == "\xFF\xFE" || text.substr(0, 2) == "\xFE\xFF";
  return fmt::format("byte {} is not valid UTF-8{}; save it as UTF-8", at, utf16 ? " (it looks like UTF-16)" : "");
}

bool is_folder(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

class Command {
 public:
  Command(Options options, Stdin stdin_state, const EvaluatorFactory& evaluators, Signals& signals, Output& output)
      : options_(std::move(options)),
        stdin_(stdin_state),
        evaluators_(evaluators),
        signals_(signals),
        output_(output) {}

  int run() {
    if (options_.mode == Mode::single) return single();
    return lines();
  }

 private:
  Loaded load_script() {
    if (options_.script_address && is_folder(options_.script)) return load_kept_script(*options_.script_address);
    auto source = Source::open("SCRIPT", options_.script, stdin_);
    if (!source.ok()) return failed_report(source.error().message());
    script_name_ = options_.script == "-" ? "standard input" : options_.script;
    auto content = read_content(source.value(), options_.max_script, signals_);
    if (!content.ok()) return failed_report(content.error().message());
    if (content.value().state == Content::State::cancelled) return report(OutcomeKind::cancelled);
    if (content.value().state == Content::State::too_large) {
      return failed_report(fmt::format("SCRIPT {} has more than {}; shorten it, or raise --max-script",
                                       source.value().name(), core::size_text(options_.max_script)));
    }
    return checked_script(source.value().name(), std::move(content.value().text));
  }

  // A folder of scripts that are named by their address, as sandbox::FolderScripts keeps them.
  Loaded load_kept_script(const effect::ContentAddress& address) {
    script_name_ = options_.script + "/" + address.hex();
    auto script = sandbox::FolderScripts(options_.script).read(address, options_.max_script, {});
    if (script.ok()) return checked_script(script_name_, std::move(script).value());
    if (script.error().code == core::Errc::not_found) {
      return failed_report(
          fmt::format("SCRIPT {}: this folder has no script with the address {}", options_.script, address.text()));
    }
    if (script.error().code == core::Errc::too_large) {
      return failed_report(fmt::format("SCRIPT {} has more than {}; raise --max-script", script_name_,
                                       core::size_text(options_.max_script)));
    }
    return failed_report(script.error().message());
  }

  Loaded checked_script(std::string_view name, std::string text) const {
    if (options_.script_address) {
      const auto found = effect::ContentAddress::of(text);
      if (found != *options_.script_address) {
        return failed_report(
            fmt::format("SCRIPT {} has the address {} and not --script-address {}: it is another script", name,
                        found.text(), options_.script_address->text()));
      }
    }
    if (const auto fault = encoding_fault(text)) return failed_report(fmt::format("SCRIPT {}: {}", name, *fault));
    return without_mark(std::move(text));
  }

  Loaded load_input() {
    if (options_.source.empty() && !options_.input_json) return std::string("null");
    std::string text = options_.input_json.value_or("");
    std::string name = "--input-json";
    if (!options_.input_json) {
      auto source = Source::open("--input", options_.source, stdin_);
      if (!source.ok()) return failed_report(source.error().message());
      name = "input " + source.value().name();
      auto content = read_content(source.value(), options_.max_input, signals_);
      if (!content.ok()) return failed_report(content.error().message());
      if (content.value().state == Content::State::cancelled) return report(OutcomeKind::cancelled);
      if (content.value().state == Content::State::too_large) return too_large(name);
      text = std::move(content.value().text);
    } else if (text.size() > options_.max_input) {
      return too_large(name);
    }
    if (const auto fault = encoding_fault(text)) return failed_report(fmt::format("{}: {}", name, *fault));
    text = without_mark(std::move(text));
    if (const auto fault = check_json(text))
      return failed_report(fmt::format("{}: {}", name, fault_text(text, *fault)));
    return text;
  }

  Report too_large(std::string_view name) const {
    return report(OutcomeKind::input_too_large,
                  fmt::format("{} has more than {}", name, core::size_text(options_.max_input)));
  }

  int single() {
    Loaded script = load_script();
    if (auto* instead = std::get_if<Report>(&script)) return conclude(*instead);
    Loaded input = load_input();
    if (auto* instead = std::get_if<Report>(&input)) return conclude(*instead);
    return conclude(evaluate({std::move(std::get<std::string>(script)), std::move(std::get<std::string>(input)),
                              options_.limits, options_.explain}));
  }

  // A line of a batch may ask for as much as an option may.
  EvaluatorNeeds needs() const {
    const bool batch = options_.mode == Mode::batch;
    return {options_.engine,
            options_.workers,
            options_.limits.cpu,
            batch ? kMemoryRange.highest : options_.limits.memory_bytes,
            options_.max_script,
            options_.max_input,
            batch ? kTextRange.highest : options_.limits.output_bytes};
  }

  // The evaluator is gone, and its processes with it, before anybody is told of the outcome.
  Report evaluate(RunRequest request) {
    auto evaluator = make_evaluator();
    if (!evaluator.ok() && evaluator.error().code == core::Errc::cancelled) {
      return report(OutcomeKind::cancelled, evaluator.error().message());
    }
    if (!evaluator.ok()) return failed_report(evaluator.error().message());
    OneJob job(std::move(request));
    Report outcome = report(OutcomeKind::cancelled);
    Progress progress(Progress::Shown::no, false);
    LoopLimits limits;
    const auto result = run_jobs(job, *evaluator.value(), limits, signals_, output_, progress,
                                 [&](Report given) { outcome = std::move(given); });
    if (result.source_error) outcome = failed_report(result.source_error->message());
    evaluator.value().reset();
    if (journal_ != nullptr) {
      const auto kept = journal_->finish(outcome.kind);
      if (!kept.ok()) return failed_report(kept.error().message());
    }
    return outcome;
  }

  // The loop that hears signals is not there yet, and somebody else may hold the journal for long.
  core::Result<void> open_journal(Runs runs) {
    HEDDLE_ASSIGN(const std::unique_ptr<Interrupt> interrupt, Interrupt::start(signals_));
    auto journal = RunJournal::open(options_.journal, options_.mode == Mode::batch ? options_.source : script_name_,
                                    runs, interrupt->token());
    if (interrupt->end() == Interrupt::Cause::none) {
      HEDDLE_ASSIGN(journal_, std::move(journal));
      return {};
    }
    std::string what = "nothing was run";
    if (journal.ok()) {
      (void)journal.value()->finish(OutcomeKind::cancelled);  // it had just begun
    } else {
      what = journal.error().context + "; " + what;
    }
    return core::make_error(core::Errc::cancelled, "stopped while waiting for the journal", what);
  }

  core::Result<std::unique_ptr<Evaluator>> make_evaluator() {
    if (options_.journal.empty()) return evaluators_(needs());
    const bool single = options_.mode == Mode::single;
    HEDDLE_TRY(open_journal(single ? Runs::one : Runs::many));
    HEDDLE_ASSIGN(auto evaluator, evaluators_(needs()));
    return journaled(std::move(evaluator), *journal_);
  }

  // The one outcome of a single run, and its exit code.
  int conclude(const Report& outcome) {
    if (output_.state() != Output::State::good) return finish_output(kExitBrokenPipe);  // the reader left meanwhile
    bool told = true;
    if (options_.format == Format::text) told = complain_as_is(remarks_text(outcome));
    if (options_.format == Format::json) {
      write_line(to_json(outcome));
    } else if (outcome.kind == OutcomeKind::ok) {
      write_line(outcome.value);
    } else {
      told = complain_as_is(to_text(outcome, script_name_) + "\n") && told;
    }
    const int code = finish_output(row_of(outcome.kind).exit_code);
    if (options_.format == Format::text && outcome.explanation)
      told = complain_as_is(explanation_text(*outcome.explanation)) && told;
    return code == 0 && !told ? kExitOutput : code;
  }

  int lines() {
    RunRequest defaults;
    defaults.limits = options_.limits;
    defaults.explain = options_.explain;
    if (options_.mode == Mode::each) {
      Loaded script = load_script();
      if (auto* instead = std::get_if<Report>(&script)) {
        complain_as_is(to_text(*instead, script_name_) + "\n");
        return row_of(instead->kind).exit_code;
      }
      defaults.script = std::move(std::get<std::string>(script));
    }
    const bool each = options_.mode == Mode::each;
    auto source = Source::open(each ? "--each" : "--batch", options_.source, stdin_);
    if (!source.ok()) return failed(source.error());
    auto evaluator = make_evaluator();
    if (!evaluator.ok()) return failed(evaluator.error());
    const Ceilings ceilings{options_.max_script, options_.max_input};
    LineJobs jobs(std::move(source).value(), each ? ceilings.input : batch_line_ceiling(ceilings),
                  [&](const Line& line) {
                    return each ? each_job(line, defaults, ceilings) : batch_job(line, defaults, ceilings);
                  });
    const bool terminal = ::isatty(STDERR_FILENO) == 1;
    Progress progress(terminal ? Progress::Shown::yes : Progress::Shown::no, output_.is_terminal());
    LoopLimits limits;
    limits.workers = options_.workers;
    const auto result = run_jobs(jobs, *evaluator.value(), limits, signals_, output_, progress,
                                 [&](const Report& given) { write_line(to_json(given)); });
    progress.erase();
    int code = result.ok == result.jobs ? 0 : kExitSomeNotOk;
    if (result.source_error) code = failed(*result.source_error);
    if (result.cancelled) code = row_of(OutcomeKind::cancelled).exit_code;
    evaluator.value().reset();
    if (journal_ != nullptr) {
      const auto kept = journal_->finish(result.cancelled ? OutcomeKind::cancelled : OutcomeKind::ok,
                                         fmt::format(R"({{"runs":{},"ok":{}}})", result.jobs, result.ok));
      if (!kept.ok()) code = failed(kept.error());
    }
    if (terminal)
      complain_as_is(fmt::format("{} runs, {} ok, {} not ok\n", result.jobs, result.ok, result.jobs - result.ok));
    return finish_output(code);
  }

  static int failed(const core::Error& error) {
    complain(error);
    return row_of(error.code == core::Errc::cancelled ? OutcomeKind::cancelled : OutcomeKind::failed).exit_code;
  }

  void write_line(const std::string& line) {
    output_.add_json(line);
    output_.add("\n");
  }

  int finish_output(int code) {
    signals_.release();  // no run is left; a reader that does not read is left by the first Ctrl-C
    return finish(output_, code);
  }

  const Options options_;
  const Stdin stdin_;
  const EvaluatorFactory& evaluators_;
  Signals& signals_;
  Output& output_;
  std::unique_ptr<RunJournal> journal_;  // of --journal
  std::string script_name_ = "SCRIPT";
};

int print(Output& output, std::string_view text) {
  output.add(text);
  return finish(output, 0);
}

}  // namespace

int run_program(int argc, char** argv, const EvaluatorFactory& evaluators) {
  const auto fail = [](const core::Error& error, int code) {
    complain(error);
    return code;
  };
  const auto input = complete_stdio();
  if (!input.ok()) return fail(input.error(), row_of(OutcomeKind::failed).exit_code);
  const auto args = argc > 0 ? std::vector<std::string>(argv + 1, argv + argc) : std::vector<std::string>();
  if (!args.empty() && args.front() == "doctor") return run_doctor(args, [] { return jail::probe_machine(); });
  if (!args.empty() && (args.front() == "log" || args.front() == "replay" || args.front() == "resolve")) {
    return run_log(args);
  }
  auto options = parse_args(args, std::thread::hardware_concurrency());
  if (!options.ok()) {
    const core::Error& error = options.error();
    complain(error.step + (error.context.empty() ? "" : ": " + error.context) + " (heddle --help lists all)");
    return kExitUsage;
  }
  auto signals = Signals::install();
  if (!signals.ok()) return fail(signals.error(), row_of(OutcomeKind::failed).exit_code);
  if (options.value().mode == Mode::exec) return run_exec(options.value().exec, signals.value());
  auto output = Output::open(STDOUT_FILENO);
  if (!output.ok()) return fail(output.error(), kExitOutput);
  if (options.value().mode == Mode::help) return print(output.value(), help_text());
  if (options.value().mode == Mode::version) return print(output.value(), "heddle " HEDDLE_VERSION "\n");
  return Command(std::move(options).value(), input.value(), evaluators, signals.value(), output.value()).run();
}

}  // namespace heddle::cli

#include "args.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <utility>

#include "complain.h"
#include "heddle/core/text.h"

namespace heddle::cli {
namespace {

using Text = std::optional<std::string>;

// What was typed, before anything is made of it.
struct Raw {
  bool help = false;
  bool version = false;
  bool run = false;
  bool json = false;
  bool explain = false;
  Text script, input, input_json, each, batch;
  Text wall_clock, cpu, memory, max_input, max_output, max_script, workers, journal, engine, script_address;
};

struct Name {
  const char* name;
  Text Raw::*to;
};
constexpr std::array<Name, 15> kNames{{{"SCRIPT", &Raw::script},
                                       {"--input", &Raw::input},
                                       {"--input-json", &Raw::input_json},
                                       {"--each", &Raw::each},
                                       {"--batch", &Raw::batch},
                                       {"--wall-clock", &Raw::wall_clock},
                                       {"--cpu", &Raw::cpu},
                                       {"--memory", &Raw::memory},
                                       {"--max-input", &Raw::max_input},
                                       {"--max-output", &Raw::max_output},
                                       {"--max-script", &Raw::max_script},
                                       {"--workers", &Raw::workers},
                                       {"--journal", &Raw::journal},
                                       {"--engine", &Raw::engine},
                                       {"--script-address", &Raw::script_address}}};

// CLI11 throws for every mistake; the exception ends here.
core::Result<Raw> read(std::vector<std::string> args) {
  Raw raw;
  std::reverse(args.begin(), args.end());  // the order that CLI11 takes a vector in
  try {
    CLI::App app;
    app.set_help_flag();
    app.allow_extras();
    app.add_flag("-h,--help", raw.help);
    app.add_flag("--version", raw.version);
    CLI::App* run = app.add_subcommand("run");
    run->set_help_flag();
    run->allow_extras();
    run->add_flag("-h,--help", raw.help);
    run->add_flag("--json", raw.json);
    run->add_flag("--explain", raw.explain);
    for (const Name& name : kNames) run->add_option(name.name);
    app.parse(args);
    for (const std::string& left : app.remaining(true)) {
      if (left != "--") return usage(fmt::format("{} is not expected here", left));  // it ends the options
    }
    raw.run = run->parsed();
    for (const Name& name : kNames) {
      const auto& results = run->get_option(name.name)->results();
      if (!results.empty()) raw.*name.to = results.front();
    }
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string_view what = error.what();  // "--input: 1 required …"
    const bool missing = what.find("missing") != std::string_view::npos;
    return usage(fmt::format("{} {}", what.substr(0, what.find(':')), missing ? "needs a value" : "is given twice"));
  } catch (const CLI::Error& error) {
    return usage(error.what());
  }
  return raw;
}

core::Result<void> read_limits(const Raw& raw, Options& options) {
  const auto duration = [](const char* name, const Text& text, std::chrono::milliseconds& to) -> core::Result<void> {
    if (!text) return {};
    HEDDLE_ASSIGN(to, core::parse_duration(name, *text, kTimeRange));
    return {};
  };
  const auto size = [](const char* name, const Text& text, core::SizeRange range,
                       std::uint64_t& to) -> core::Result<void> {
    if (!text) return {};
    HEDDLE_ASSIGN(to, core::parse_size(name, *text, range));
    return {};
  };
  HEDDLE_TRY(duration("--wall-clock", raw.wall_clock, options.limits.wall_clock));
  HEDDLE_TRY(duration("--cpu", raw.cpu, options.limits.cpu));
  HEDDLE_TRY(size("--memory", raw.memory, kMemoryRange, options.limits.memory_bytes));
  HEDDLE_TRY(size("--max-input", raw.max_input, kTextRange, options.max_input));
  HEDDLE_TRY(size("--max-output", raw.max_output, kTextRange, options.limits.output_bytes));
  HEDDLE_TRY(size("--max-script", raw.max_script, kTextRange, options.max_script));
  return {};
}

core::Result<void> read_engine(const Raw& raw, Options& options) {
  if (raw.engine && *raw.engine != "worker" && *raw.engine != "in-process") {
    return usage(fmt::format("--engine {}: give worker or in-process", *raw.engine));
  }
  if (raw.engine == "in-process") options.engine = EngineKind::in_process;
  if (options.engine == EngineKind::in_process && raw.cpu) {
    return usage("--cpu needs --engine worker: in this process the CPU time of a run cannot be limited");
  }
  if (!raw.script_address) return {};
  if (options.mode == Mode::batch) return usage("--script-address goes with SCRIPT: a batch brings its scripts");
  const auto address = effect::ContentAddress::parse(*raw.script_address);
  if (!address.ok()) {
    return usage(fmt::format("--script-address {}: give sha256: and 64 digits 0-9a-f, as of sha256sum",
                             core::bound_text(*raw.script_address, 100)));
  }
  options.script_address = address.value();
  return {};
}

// The one way of running that the arguments ask for, or why they ask for none.
core::Result<Mode> mode_of(const Raw& raw) {
  if (raw.batch) {
    if (raw.script)
      return usage(fmt::format("SCRIPT ({}) and --batch exclude each other: a batch brings its scripts", *raw.script));
    if (raw.input || raw.input_json || raw.each)
      return usage("--batch goes with no other input: each of its lines brings one");
    if (raw.batch->empty()) return usage("--batch needs a file, or - for standard input");
    return Mode::batch;
  }
  if (!raw.script || raw.script->empty()) return usage("SCRIPT is missing: name a file, or - for standard input");
  if (raw.input.has_value() + raw.input_json.has_value() + raw.each.has_value() > 1)
    return usage("--input, --input-json and --each exclude each other");
  for (const auto& [name, text] : {std::pair("--input", &raw.input), std::pair("--each", &raw.each)}) {
    if (*text && (*text)->empty()) return usage(fmt::format("{} needs a file, or - for standard input", name));
    if (*text && **text == "-" && *raw.script == "-")
      return usage(fmt::format("SCRIPT and {} cannot both be standard input", name));
  }
  return raw.each ? Mode::each : Mode::single;
}

// exec [--policy FILE] [--explain] [--] PROGRAM ARG…: what follows PROGRAM is the program's, whatever it looks like.
core::Result<Options> parse_exec(const std::vector<std::string>& args) {
  Options options;
  options.mode = Mode::exec;
  std::size_t at = 1;
  for (; at < args.size() && args[at].size() > 1 && args[at].front() == '-'; ++at) {
    const std::string& word = args[at];
    if (word == "--") {
      ++at;
      break;
    }
    if (word == "-h" || word == "--help") {
      options.mode = Mode::help;
      return options;
    }
    if (word == "--explain") {
      options.exec.explain = Explain::yes;
    } else if (word == "--policy" && at + 1 < args.size()) {
      options.exec.policy = args[++at];
    } else if (word.compare(0, 9, "--policy=") == 0) {
      options.exec.policy = word.substr(9);
    } else {
      return usage(word == "--policy" ? "--policy needs a file" : fmt::format("{} is not expected here", word));
    }
  }
  options.exec.command.assign(args.begin() + static_cast<std::ptrdiff_t>(at), args.end());
  if (options.exec.policy.empty()) return usage("--policy FILE is missing: heddle exec --policy FILE -- PROGRAM");
  if (options.exec.command.empty() || options.exec.command.front().empty()) return usage("PROGRAM is missing");
  return options;
}

}  // namespace

core::Result<Options> parse_args(std::vector<std::string> args, unsigned cores) {
  if (!args.empty() && args.front() == "exec") return parse_exec(args);
  HEDDLE_ASSIGN(const Raw raw, read(std::move(args)));
  Options options;
  if (raw.help || raw.version) {
    options.mode = raw.help ? Mode::help : Mode::version;
    return options;
  }
  if (!raw.run) return usage("a command is missing: heddle run SCRIPT");
  HEDDLE_ASSIGN(options.mode, mode_of(raw));
  HEDDLE_TRY(read_limits(raw, options));
  HEDDLE_TRY(read_engine(raw, options));
  options.script = raw.script.value_or("");
  for (const Text* source : {&raw.input, &raw.each, &raw.batch}) {
    if (*source) options.source = **source;
  }
  options.input_json = raw.input_json;
  options.explain = raw.explain;
  options.journal = raw.journal.value_or("");
  if (raw.journal && raw.journal->empty()) return usage("--journal needs a file, or postgresql://HOST/DATABASE");
  if (raw.journal && options.limits.output_bytes > kMaxJournaled)
    return usage("--journal keeps results of at most 64MiB; lower --max-output");
  options.format = raw.json || options.mode != Mode::single ? Format::json : Format::text;
  if (options.mode != Mode::single) options.workers = std::clamp(cores, 1U, 4U);
  if (raw.workers) {
    HEDDLE_ASSIGN(options.workers, core::parse_count("--workers", *raw.workers, kWorkerRange));
  }
  return options;
}

std::string help_text() {
  return R"(heddle runs JavaScript that nobody should trust, behind a boundary that holds.

Usage:
  heddle run SCRIPT [--input FILE | --input-json TEXT | --each FILE] [OPTIONS]
  heddle run --batch FILE [OPTIONS]
  heddle exec --policy FILE [--explain] [--] PROGRAM [ARG...]
  heddle log JOURNAL | heddle log verify JOURNAL | heddle replay JOURNAL FLOW
  heddle resolve JOURNAL FLOW KEY
                             what happened, from a journal (heddle log --help)
  heddle doctor [--json]     what this machine lets Heddle enforce, and why not
  heddle conformance         prove that a sandbox backend keeps its promises
  heddle plugin              begin a backend of your own, hold one to the rules
  heddle --version | --help

SCRIPT sees the global `input`; its completion value is the result. A FILE or
SCRIPT of - is standard input.

  --input FILE        the input, one JSON value (without any: null)
  --input-json TEXT   the same, given here
  --each FILE         run SCRIPT once, fresh, for every line of newline-
                      separated JSON; one outcome object a line, in order
  --batch FILE        lines of {"script":…,"input":…,"limits":{"wallClockMs":…,
                      "memoryBytes":…,"outputBytes":…}}, outcomes as above

Options:
  --wall-clock TIME   time for one run, 1ms to 1h                  (2s)
  --cpu TIME          CPU time for one run, 1ms to 1h              (no limit)
  --memory SIZE       memory of the engine, 2MiB to 2GiB           (64MiB)
  --max-input SIZE    largest input                                (1MiB)
  --max-output SIZE   largest result                               (1MiB)
  --max-script SIZE   largest script                               (1MiB)
  --workers N         processes that run at a time, 1 to 64
                      (1; with --each and --batch one a core, at most 4)
  --journal JOURNAL   keep each run as facts in a file, or a database
                      (postgresql://…); heddle log shows them
  --engine E          worker: behind the kernel's boundary; or in-process: in
                      this process, with no kill and no --cpu      (worker)
  --script-address A  sha256:HEX that the script's bytes must have; of a folder
                      SCRIPT the file HEX is read
  --json              an outcome object in place of the bare result
  --explain           also what confined the run and what it was denied, on
                      standard error or as "explain" in the outcome object

exec runs PROGRAM under a policy (docs/guide/policy.md); --explain says on
standard error what was applied. Exit code: PROGRAM's, 128 + N for signal N,
123 over max_output, 124 over wall_clock, 125 not started, 126 not executable,
127 not found, 130 cancelled.

Exit codes of run: 0 ok, 1 some lines of --each or --batch not ok,
10 scriptError, 11 limitExceeded, 12 inputTooLarge, 13 inputNotSerializable,
14 shapeMismatch, 15 failed, 64 usage, 74 output not written, 130 cancelled,
141 broken pipe.

Examples:
  heddle run sum.js --input-json '[1,2,3]'
  curl -s https://example.org/data.json | heddle run job.js --input -
  heddle run clean.js --each rows.ndjson --wall-clock 500ms > outcomes.ndjson
)";
}

}  // namespace heddle::cli

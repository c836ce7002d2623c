#include "heddle/cli/kit_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <climits>
#include <optional>
#include <stdexcept>

#include "complain.h"
#include "heddle/cli/effect_evaluator.h"
#include "heddle/core/text.h"
#include "heddle/core/units.h"
#include "heddle/sandbox/conformance/plugin_check.h"
#include "heddle/sandbox/conformance/scaffold.h"
#include "heddle/sandbox/plugin/serve.h"
#include "heddle/sandbox/quickjs/backend.h"
#include "report.h"
#include "stdio.h"

namespace heddle::cli {
namespace {

namespace conformance = sandbox::conformance;
namespace plugin = sandbox::plugin;
using std::chrono::milliseconds;

constexpr std::size_t kMaxFixtureBytes = std::size_t{16} << 20;
constexpr int kExitFailed = 15;

// What the arguments ask for.
struct Kit {
  enum class Action { conformance, serve, new_sandbox, check, help };
  Action action = Action::help;
  std::string backend = "quickjs";
  std::string fixtures;  // a path, or empty
  std::string record;
  std::string name;
  std::string path;
  std::string timeout;
  std::vector<std::string> cases;
  bool json = false;
};

constexpr std::string_view kKitHelp = R"(Prove a sandbox backend, or begin one.

Usage:
  heddle conformance [--backend quickjs | quickjs-in-process | PATH.so]
                     [--fixtures FILE] [--case NAME]… [--case-timeout TIME]
                     [--record FILE] [--json]
  heddle plugin new sandbox NAME
  heddle plugin check PATH

  --backend B          what to prove; PATH.so runs in a process of its own,
                       a new one for each case                       (quickjs)
  --fixtures FILE      the kit's scripts in the backend's language
                       (its own are JavaScript)
  --case NAME          this case alone, or several; leaves no record
  --record FILE        a copy of the record, to look at. What a host believes
                       lies in your own state folder ($XDG_STATE_HOME/heddle
                       or ~/.local/state/heddle) and is of PATH.so alone
  --case-timeout TIME  a case that takes longer has failed           (120s)
  --json               the report as one JSON object

`plugin new sandbox` writes a package that builds into ./NAME. `plugin check`
holds a backend, or a folder with one, to the rules for packages.

Exit codes: 0 all passed, 1 a case failed or a rule is broken, 15 it could not
be run, 64 usage.
)";

int fail(const core::Error& error, int code = kExitFailed) {
  complain(error);
  return code;
}

enum class As { text, json };
int finish(std::string_view text, int code, As as = As::text) {
  auto output = Output::open(STDOUT_FILENO);
  if (!output.ok()) return fail(output.error(), kExitOutput);
  if (as == As::json) {
    output.value().add_json(text);
  } else {
    output.value().add(text);
  }
  return finish(output.value(), code);
}

core::Result<Kit> parse(std::vector<std::string> args) {
  Kit kit;
  std::reverse(args.begin(), args.end());  // the order that CLI11 takes a vector in
  CLI::App app;
  bool help = false;
  bool serve = false;
  app.set_help_flag();
  app.add_flag("-h,--help", help);
  CLI::App* run = app.add_subcommand("conformance");
  CLI::App* packages = app.add_subcommand("plugin");
  CLI::App* make = packages->add_subcommand("new")->add_subcommand("sandbox");
  CLI::App* check = packages->add_subcommand("check");
  for (CLI::App* one : {run, packages, make, check, packages->get_subcommand("new")}) {
    one->set_help_flag();
    one->add_flag("-h,--help", help);
  }
  run->add_option("--backend", kit.backend);
  run->add_option("--fixtures", kit.fixtures);
  run->add_option("--record", kit.record);
  run->add_option("--case-timeout", kit.timeout);
  run->add_flag("--json", kit.json);
  run->add_option("--case", kit.cases)->allow_extra_args(false);
  run->add_flag("--serve", serve)->group("");  // our own call of ourselves: the far side of a backend's process
  make->add_option("NAME", kit.name);
  check->add_option("PATH", kit.path);
  try {
    app.parse(args);
  } catch (const CLI::Error& error) {
    return core::make_error(core::Errc::invalid_argument, core::printable_line(core::bound_text(error.what(), 300)));
  }
  const auto usage = [](std::string_view what) { return core::make_error(core::Errc::invalid_argument, what); };
  if (help) return kit;
  if (run->parsed()) {
    kit.action = serve ? Kit::Action::serve : Kit::Action::conformance;
  } else if (make->parsed()) {
    if (kit.name.empty()) return usage("NAME is missing: heddle plugin new sandbox NAME");
    kit.action = Kit::Action::new_sandbox;
  } else if (check->parsed()) {
    if (kit.path.empty()) return usage("PATH is missing: heddle plugin check PATH");
    kit.action = Kit::Action::check;
  } else {
    return usage("what to do is missing: plugin new sandbox NAME, or plugin check PATH");
  }
  return kit;
}

core::Result<std::string> own_program() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0 || static_cast<std::size_t>(length) == path.size()) {
    return core::system_error("find the program of this process");
  }
  return std::string(path.data(), static_cast<std::size_t>(length));
}

core::Result<std::optional<conformance::Fixtures>> read_fixtures(const std::string& path) {
  if (path.empty()) return std::optional<conformance::Fixtures>();
  const core::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.valid()) return core::system_error("read conformance fixtures", path);
  HEDDLE_ASSIGN(const std::string text, core::read_all(file, kMaxFixtureBytes));
  HEDDLE_ASSIGN(auto fixtures, conformance::parse_fixtures(text));
  return std::optional(std::move(fixtures));
}

core::Result<conformance::Options> options_of(const Kit& kit) {
  conformance::Options options;
  if (!kit.timeout.empty()) {
    HEDDLE_ASSIGN(options.case_timeout,
                  core::parse_duration("--case-timeout", kit.timeout, {milliseconds(100), std::chrono::hours(1)}));
  }
  for (const std::string& name : kit.cases) {
    const auto known = conformance::case_named(name);
    if (!known) {
      std::string names;
      for (std::size_t i = 0; i < conformance::kCaseCount; ++i) {
        names +=
            (i == 0 ? "'" : ", '") + std::string(conformance::case_name(static_cast<conformance::CaseId>(i))) + "'";
      }
      return core::make_error(core::Errc::invalid_argument, "--case",
                              core::printable_line(core::bound_text(name, 60)) + " is none of " + names);
    }
    options.only.push_back(*known);
  }
  return options;
}

// The worker's budget of CPU time, so that the case for it is run too.
constexpr milliseconds kKitCpu{1'500};

core::Result<conformance::BackendFactory> built_in(const std::string& name) {
  if (name == "quickjs-in-process") {
    return conformance::BackendFactory(
        []() -> std::shared_ptr<sandbox::spi::SandboxBackend> { return sandbox::quickjs::make_in_process_backend(); });
  }
  sandbox::quickjs::WorkerBackendOptions options;
  const std::string folder = helper_folder();
  options.pool.supervisor_path = folder + "/heddle-supervisor";
  options.pool.worker_path = folder + "/heddle-sandbox-worker";
  options.pool.workers = 2;
  options.cpu = kKitCpu;
  // Made once here, so that a wrong installation is an error with its reason.
  HEDDLE_TRY([&]() -> core::Result<void> {
    HEDDLE_ASSIGN(const auto first, sandbox::quickjs::make_worker_backend(options));
    first->close();
    return {};
  }());
  return conformance::BackendFactory([options]() -> std::shared_ptr<sandbox::spi::SandboxBackend> {
    auto backend = sandbox::quickjs::make_worker_backend(options);
    return backend.ok() ? std::move(backend).value() : nullptr;
  });
}

core::Result<plugin::ServerCommand> serve_command() {
  HEDDLE_ASSIGN(std::string program, own_program());
  return plugin::ServerCommand{std::move(program), {"conformance", "--serve"}};
}

// Each backend that the kit asks for is a new process with the file's code; this one never loads it.
conformance::BackendFactory apart(const plugin::ServerCommand& command,
                                  const std::shared_ptr<const plugin::BackendFile>& file,
                                  const conformance::Options& options) {
  plugin::ProcessOptions process;
  process.start_timeout = process.call_timeout = options.case_timeout;
  return [command, file, process]() -> std::shared_ptr<sandbox::spi::SandboxBackend> {
    auto backend = conformance::start_backend(command, *file, conformance::Proof::waived, process);
    if (!backend.ok()) throw std::runtime_error(backend.error().message());
    return std::move(backend).value();
  };
}

core::Result<void> write_copy(const std::string& path, const conformance::Record& record) {
  const core::Fd out(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!out.valid()) return core::system_error("write the record of the run", path);
  return core::write_all(out, conformance::record_json(record));
}

core::Result<conformance::Report> prove(const Kit& kit, const conformance::Options& options) {
  HEDDLE_ASSIGN(const auto fixtures, read_fixtures(kit.fixtures));
  const conformance::Fixtures& scripts = fixtures ? *fixtures : conformance::javascript_fixtures();
  const auto run = [&](const conformance::BackendFactory& factory) {
    return conformance::run_sandbox_backend_conformance(factory, fixtures ? &*fixtures : nullptr, options);
  };
  const auto record_of = [&](const plugin::BackendFile& file, const conformance::Report& report) {
    return conformance::Record{std::string(conformance::kKitVersion), file.address(),
                               conformance::fixtures_json(scripts), report};
  };
  const bool shared_object = kit.backend != "quickjs" && kit.backend != "quickjs-in-process";
  const bool whole = options.only.empty();
  if (!shared_object) {
    HEDDLE_ASSIGN(const auto factory, built_in(kit.backend));
    HEDDLE_ASSIGN(auto report, run(factory));
    if (whole && !kit.record.empty()) {
      HEDDLE_ASSIGN(const std::string program, own_program());
      HEDDLE_ASSIGN(const auto file, plugin::BackendFile::open(program));
      HEDDLE_TRY(write_copy(kit.record, record_of(file, report)));
    }
    return report;
  }
  HEDDLE_ASSIGN(auto opened, plugin::BackendFile::open(kit.backend));
  const auto file = std::make_shared<const plugin::BackendFile>(std::move(opened));
  HEDDLE_ASSIGN(const auto command, serve_command());
  // Looked at before, so that minutes are not spent on a run whose record has no place.
  HEDDLE_TRY([&]() -> core::Result<void> {
    if (!whole) return {};
    HEDDLE_ASSIGN([[maybe_unused]] const auto store, conformance::RecordStore::open());
    return {};
  }());
  HEDDLE_ASSIGN(auto report, run(apart(command, file, options)));
  if (!whole) return report;
  // Every process of the backend's is gone by now; what one of them wrote for its own binary is replaced.
  HEDDLE_ASSIGN(const auto store, conformance::RecordStore::open());
  const conformance::Record record = record_of(*file, report);
  HEDDLE_TRY(store.keep(record));
  if (!kit.record.empty()) HEDDLE_TRY(write_copy(kit.record, record));
  return report;
}

int run_conformance(const Kit& kit) {
  auto options = options_of(kit);
  if (!options.ok()) return fail(options.error(), kExitUsage);
  const bool shared_object = kit.backend != "quickjs" && kit.backend != "quickjs-in-process";
  if (shared_object && ::access(kit.backend.c_str(), R_OK) != 0) {
    return fail(core::system_error("read the backend", kit.backend + "; --backend is quickjs, quickjs-in-process or "
                                                                     "the path of a shared object"));
  }
  const auto report = prove(kit, options.value());
  if (!report.ok()) return fail(report.error());
  const int code = report.value().passed() ? 0 : kExitSomeNotOk;
  if (kit.json) return finish(conformance::report_json(report.value()) + "\n", code, As::json);
  return finish(conformance::to_text(report.value()), code);
}

int run_new(const Kit& kit) {
  const auto written = conformance::write_scaffold(kit.name, kit.name);
  if (!written.ok()) return fail(written.error());
  return finish(fmt::format("{0} is written. Next:\n  cmake -S {0} -B {0}/build && cmake --build {0}/build && "
                            "ctest --test-dir {0}/build\n",
                            kit.name),
                0);
}

int run_check(const Kit& kit) {
  const auto command = serve_command();
  if (!command.ok()) return fail(command.error());
  const auto rules = conformance::check_plugin(kit.path, command.value());
  if (!rules.ok()) return fail(rules.error());
  std::string text;
  bool all = true;
  for (const conformance::RuleResult& rule : rules.value()) {
    text += fmt::format("{:<30} {:<7} {}\n", rule.rule, rule.kept ? "kept" : "BROKEN", core::printable_line(rule.what));
    all = all && rule.kept;
  }
  return finish(text, all ? 0 : kExitSomeNotOk);
}

}  // namespace

std::optional<int> run_kit_command(int argc, char** argv) {
  if (argc < 2) return std::nullopt;
  const std::string_view first = argv[1];
  if (first != "conformance" && first != "plugin") return std::nullopt;
  const auto stdio = complete_stdio();
  if (!stdio.ok()) return fail(stdio.error());
  const auto kit = parse(std::vector<std::string>(argv + 1, argv + argc));
  if (!kit.ok()) return fail(kit.error(), kExitUsage);
  switch (kit.value().action) {
    case Kit::Action::conformance:
      return run_conformance(kit.value());
    case Kit::Action::serve:
      ::_exit(plugin::serve_backend());
    case Kit::Action::new_sandbox:
      return run_new(kit.value());
    case Kit::Action::check:
      return run_check(kit.value());
    case Kit::Action::help:
      return finish(kKitHelp, 0);
  }
  return std::nullopt;
}

}  // namespace heddle::cli

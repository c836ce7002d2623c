#include "heddle/cli/kit_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <climits>
#include <optional>

#include "complain.h"
#include "heddle/cli/effect_evaluator.h"
#include "heddle/core/text.h"
#include "heddle/core/units.h"
#include "heddle/sandbox/conformance/plugin_file.h"
#include "heddle/sandbox/conformance/record.h"
#include "heddle/sandbox/conformance/scaffold.h"
#include "heddle/sandbox/quickjs/backend.h"
#include "report.h"
#include "stdio.h"

namespace heddle::cli {
namespace {

namespace conformance = sandbox::conformance;
using std::chrono::milliseconds;

constexpr std::size_t kMaxFixtureBytes = std::size_t{16} << 20;
constexpr int kExitFailed = 15;

// What the arguments ask for.
struct Kit {
  enum class Action { conformance, child_kit, child_declare, new_sandbox, check, help };
  Action action = Action::help;
  std::string backend = "quickjs";
  std::string fixtures;  // a path, or empty
  std::string record;
  std::string name;
  std::string path;
  std::string timeout;
  bool json = false;
};

constexpr std::string_view kKitHelp = R"(Prove a sandbox backend, or begin one.

Usage:
  heddle conformance [--backend quickjs | quickjs-in-process | PATH.so]
                     [--fixtures FILE] [--record FILE] [--case-timeout TIME]
                     [--json]
  heddle plugin new sandbox NAME
  heddle plugin check PATH

  --backend B          what to prove; PATH.so is loaded in a child   (quickjs)
  --fixtures FILE      the kit's scripts in the backend's language
                       (its own are JavaScript)
  --record FILE        where the record of the run goes
                       (PATH.so.conformance.json; none for quickjs)
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
  std::string child;
  app.set_help_flag();
  app.add_flag("-h,--help", help);
  CLI::App* run = app.add_subcommand("conformance");
  CLI::App* plugin = app.add_subcommand("plugin");
  CLI::App* make = plugin->add_subcommand("new")->add_subcommand("sandbox");
  CLI::App* check = plugin->add_subcommand("check");
  for (CLI::App* one : {run, plugin, make, check, plugin->get_subcommand("new")}) {
    one->set_help_flag();
    one->add_flag("-h,--help", help);
  }
  run->add_option("--backend", kit.backend);
  run->add_option("--fixtures", kit.fixtures);
  run->add_option("--record", kit.record);
  run->add_option("--case-timeout", kit.timeout);
  run->add_flag("--json", kit.json);
  run->add_option("--child", child)->group("");  // our own call of ourselves: kit or declare, then PATH
  run->add_option("PATH", kit.path)->group("");
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
    if (child == "kit") {
      kit.action = Kit::Action::child_kit;
    } else if (child == "declare") {
      kit.action = Kit::Action::child_declare;
    } else if (!child.empty() || !kit.path.empty()) {
      return usage("conformance takes no argument; name the backend with --backend");
    } else {
      kit.action = Kit::Action::conformance;
    }
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

core::Result<void> write_record(const std::string& path, const std::string& binary, const conformance::Report& report) {
  const core::Fd file(::open(binary.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return core::system_error("read the backend for its record", binary);
  HEDDLE_ASSIGN(const std::string bytes, core::read_all(file, std::size_t{256} << 20));
  const conformance::Record record{std::string(conformance::kKitVersion), effect::ContentAddress::of(bytes), report};
  const core::Fd out(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!out.valid()) return core::system_error("write the record of the run", path);
  return core::write_all(out, conformance::record_json(record));
}

core::Result<conformance::Report> prove(const Kit& kit, const conformance::Options& options, bool shared_object) {
  if (!shared_object) {
    HEDDLE_ASSIGN(const auto fixtures, read_fixtures(kit.fixtures));
    HEDDLE_ASSIGN(const auto factory, built_in(kit.backend));
    return conformance::run_sandbox_backend_conformance(factory, fixtures ? &*fixtures : nullptr, options);
  }
  HEDDLE_ASSIGN(std::string program, own_program());
  conformance::ChildCommand command{std::move(program), {"conformance", "--child", "kit"}};
  for (const auto& [option, value] :
       {std::pair("--fixtures", &kit.fixtures), std::pair("--case-timeout", &kit.timeout)}) {
    if (!value->empty()) {
      command.arguments.emplace_back(option);
      command.arguments.push_back(*value);
    }
  }
  command.arguments.emplace_back("--");
  // Each case has its time-out; a backend may also hang where it is made or closed.
  const auto cases = static_cast<int>(conformance::CaseId::composition) + 1;
  return conformance::run_kit_in_child(command, kit.backend, options.case_timeout * (2 * cases));
}

int run_conformance(const Kit& kit) {
  auto options = options_of(kit);
  if (!options.ok()) return fail(options.error(), kExitUsage);
  const bool shared_object = kit.backend != "quickjs" && kit.backend != "quickjs-in-process";
  if (shared_object && ::access(kit.backend.c_str(), R_OK) != 0) {
    return fail(core::system_error("read the backend", kit.backend + "; --backend is quickjs, quickjs-in-process or "
                                                                     "the path of a shared object"));
  }
  const auto report = prove(kit, options.value(), shared_object);
  if (!report.ok()) return fail(report.error());
  if (shared_object || !kit.record.empty()) {
    auto binary = shared_object ? core::Result<std::string>(kit.backend) : own_program();
    if (!binary.ok()) return fail(binary.error());
    const std::string path = kit.record.empty() ? conformance::record_path(kit.backend) : kit.record;
    const auto written = write_record(path, binary.value(), report.value());
    if (!written.ok()) return fail(written.error());
  }
  const int code = report.value().passed() ? 0 : kExitSomeNotOk;
  if (kit.json) return finish(conformance::report_json(report.value()) + "\n", code, As::json);
  return finish(conformance::to_text(report.value()), code);
}

int run_child(const Kit& kit) {
  const auto options = options_of(kit);
  const auto fixtures = read_fixtures(kit.fixtures);
  if (!options.ok()) return fail(options.error());
  if (!fixtures.ok()) return fail(fixtures.error());
  const auto task =
      kit.action == Kit::Action::child_kit ? conformance::ChildTask::run_kit : conformance::ChildTask::declare;
  return conformance::serve_child(task, kit.path, fixtures.value() ? &*fixtures.value() : nullptr, options.value());
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
  auto program = own_program();
  if (!program.ok()) return fail(program.error());
  const auto rules =
      conformance::check_plugin(kit.path, {std::move(program).value(), {"conformance", "--child", "declare", "--"}});
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
    case Kit::Action::child_kit:
    case Kit::Action::child_declare:
      return run_child(kit.value());
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

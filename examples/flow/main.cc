// heddle_flow_example FOLDER [--pause MS] [--data FILE]        runs the flow, or goes on with it
// heddle_flow_example FOLDER --resolve KEY done|failed|again   says what became of an effect in doubt
//
// FOLDER gets the journal, the report and the ledger. Kill it whenever you like and give the same command again.
// Status: 0 the flow has ended, 1 it could not run, 2 wrong use, 3 an effect is in doubt, 4 it was stopped.
#include <fmt/format.h>
#include <signal.h>

#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <thread>

#include "effects.h"
#include "heddle/core/json.h"
#include "heddle/effect/runtime/policy.h"
#include "heddle/journal/sqlite/sqlite.h"
#include "heddle/sandbox/eval/sandbox_eval.h"
#include "report_flow.h"

namespace heddle::example {
namespace {

constexpr const char* kFlow = "countries-1";
constexpr const char* kData = "/usr/share/iso-codes/json/iso_3166-1.json";

struct Arguments {
  std::string folder;
  std::string data = kData;
  std::chrono::milliseconds pause{0};
  std::string key;
  effect::Verdict verdict;
};

std::optional<Arguments> read_arguments(std::span<char* const> words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const std::size_t left = words.size() - i - 1;
    if (word == "--pause" && left >= 1) {
      int pause = 0;
      const std::string_view text = words[++i];
      if (std::from_chars(text.data(), text.data() + text.size(), pause).ec != std::errc() || pause < 0) return {};
      arguments.pause = std::chrono::milliseconds(pause);
    } else if (word == "--data" && left >= 1) {
      arguments.data = words[++i];
    } else if (word == "--resolve" && left >= 2) {
      arguments.key = words[++i];
      const std::string_view verdict = words[++i];
      arguments.verdict = {effect::Verdict::Kind::run_again, "the one at the terminal", "looked at the folder", "true"};
      if (verdict == "done") arguments.verdict.kind = effect::Verdict::Kind::done;
      if (verdict == "failed") arguments.verdict.kind = effect::Verdict::Kind::failed;
      if (verdict != "done" && verdict != "failed" && verdict != "again") return {};
    } else if (arguments.folder.empty() && !word.empty() && word.front() != '-') {
      arguments.folder = word;
    } else {
      return {};
    }
  }
  if (arguments.folder.empty()) return {};
  return arguments;
}

core::Result<void> print_facts(journal::Store& store) {
  journal::Query query;
  query.flow = kFlow;
  query.bodies = journal::Bodies::digests_only;
  HEDDLE_ASSIGN(const journal::Page page, store.read(query, {}));
  fmt::print("\nThe journal:\n");
  for (const journal::Fact& fact : page.facts) {
    std::string what;
    for (const char* name : {"effect", "status", "channel", "rule", "resolution"}) {
      const auto word = core::json_word(fact.payload, name);
      if (word) what += " " + std::string(*word);
    }
    fmt::print("{:>4}  {:<6} {:<14}{}\n", fact.sequence, fact.effect, fact.kind_text, what);
  }
  return {};
}

core::Result<std::unique_ptr<effect::EffectRuntime>> make_runtime(const Arguments& arguments,
                                                                  std::shared_ptr<journal::Store> store,
                                                                  std::shared_ptr<sandbox::MemoryScripts> scripts) {
  HEDDLE_ASSIGN(effect::Policy policy, effect::load_policy(HEDDLE_EXAMPLE_DIR "/policy.toml"));
  HEDDLE_ASSIGN(auto scheduler, effect::Scheduler::create(policy.schedule));
  HEDDLE_ASSIGN(auto runtime,
                effect::EffectRuntime::create(
                    {std::make_shared<effect::RuleAuthorizer>(std::move(policy.rules)), std::move(scheduler),
                     std::make_shared<effect::Meter>(policy.budget, policy.prices), std::move(store)}));
  const auto announcer = std::make_shared<Announcer>(arguments.pause);
  HEDDLE_TRY(add_effects(*runtime, arguments.folder, announcer));
  sandbox::SandboxEvalOptions options;
  options.workers.pool.supervisor_path = HEDDLE_LIBEXEC_DIR "/heddle-supervisor";
  options.workers.pool.worker_path = HEDDLE_LIBEXEC_DIR "/heddle-sandbox-worker";
  options.workers.pool.workers = 2;
  options.effect.wall_clock = std::chrono::seconds(10);
  HEDDLE_ASSIGN(std::shared_ptr<const effect::Effect> sandbox,
                sandbox::make_sandbox_eval(std::move(scripts), std::move(options)));
  HEDDLE_TRY(runtime->add(std::move(sandbox), announcer));
  return runtime;
}

core::Result<int> run(const Arguments& arguments, const std::stop_token& stop) {
  HEDDLE_ASSIGN(std::shared_ptr<journal::Store> store, journal::open_sqlite(arguments.folder + "/journal"));
  if (!arguments.key.empty()) {
    HEDDLE_TRY(effect::resolve(*store, kFlow, arguments.key, arguments.verdict));
    return 0;
  }
  const auto scripts = std::make_shared<sandbox::MemoryScripts>();
  HEDDLE_ASSIGN(auto code, report_flow(*scripts));
  HEDDLE_ASSIGN(const auto runtime, make_runtime(arguments, store, scripts));
  const effect::FlowSpec spec{kFlow, "countries", nlohmann::json(arguments.data).dump(), std::move(code)};
  HEDDLE_ASSIGN(const effect::FlowRun run, effect::run_flow(*runtime, spec, stop));

  HEDDLE_TRY(print_facts(*store));
  fmt::print("\n{} out of the journal, {} run.\n", run.replayed, run.ran);
  if (run.reply.ok()) fmt::print("The flow has ended: {}\n", run.reply.value());
  if (run.reply.is_typed()) fmt::print("{}: {}\n", run.reply.typed().channel, run.reply.typed().message);
  if (run.reply.is_cancelled()) fmt::print("{}\n", run.reply.cancelled().message);
  if (run.reply.is_untyped()) fmt::print("The flow gave up: {}\n", run.reply.untyped().message);
  if (run.state == effect::FlowState::in_doubt) {
    fmt::print("Look at {}/ledger.txt, then: --resolve KEY done, failed or again\n", arguments.folder);
    return 3;
  }
  if (run.state == effect::FlowState::cancelled) return 4;
  return run.reply.ok() ? 0 : 1;
}

int run_example(int argc, char** argv) {
  const auto arguments =
      read_arguments(std::span<char* const>(argv + 1, argc > 0 ? static_cast<std::size_t>(argc - 1) : 0));
  if (!arguments) {
    fmt::print(stderr, "usage: {} FOLDER [--pause MS] [--data FILE] | FOLDER --resolve KEY done|failed|again\n",
               argc > 0 ? argv[0] : "heddle_flow_example");
    return 2;
  }
  // Control-C stops the flow and records that; a thread waits for it, so that no handler runs code.
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigaddset(&interrupt, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &interrupt, nullptr);
  std::stop_source stop;
  std::thread([interrupt, stop]() mutable {
    int signal = 0;
    if (sigwait(&interrupt, &signal) == 0) stop.request_stop();
  }).detach();

  const auto status = run(*arguments, stop.get_token());
  if (!status.ok()) {
    fmt::print(stderr, "heddle_flow_example: {}\n", status.error().message());
    return 1;
  }
  return status.value();
}

}  // namespace
}  // namespace heddle::example

int main(int argc, char** argv) {
  try {
    return heddle::example::run_example(argc, argv);
  } catch (const std::exception& thrown) {
    (void)std::fputs(thrown.what(), stderr);
    return 1;
  }
}

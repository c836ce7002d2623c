// QuickJS in both of its modes: the kit, and the stated cases through the effect with the same results.
#include <gtest/gtest.h>
#include <poll.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "heddle/sandbox/conformance/conformance.h"
#include "heddle/sandbox/effect/sandbox_effect.h"
#include "heddle/sandbox/eval/sandbox_eval.h"
#include "heddle/sandbox/quickjs/backend.h"

namespace heddle::sandbox {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

quickjs::PoolOptions pool_options() {
  const std::string libexec = HEDDLE_LIBEXEC_DIR;
  quickjs::PoolOptions options;
  options.supervisor_path = libexec + "/heddle-supervisor";
  options.worker_path = libexec + "/heddle-sandbox-worker";
  options.workers = 2;
  return options;
}

std::shared_ptr<spi::SandboxBackend> workers(milliseconds cpu = milliseconds(0)) {
  quickjs::WorkerBackendOptions options;
  options.pool = pool_options();
  options.cpu = cpu;
  auto backend = quickjs::make_worker_backend(options);
  EXPECT_TRUE(backend.ok()) << backend.error().message();
  return std::move(backend).value();
}

std::shared_ptr<spi::SandboxBackend> in_process() { return quickjs::make_in_process_backend(); }

std::string skipped(const conformance::Report& report) {
  std::string names;
  for (const auto& result : report.cases) {
    if (result.status == conformance::CaseStatus::skipped) names += std::string(case_name(result.id)) + ";";
  }
  return names;
}

// SBX-19, CNF-1: worker mode, everything declared but a budget of CPU time that it was not given.
TEST(QuickJsConformance, Workers) {
  const auto report = conformance::run_sandbox_backend_conformance([] { return workers(); }).value();
  EXPECT_TRUE(report.passed()) << to_text(report);
  EXPECT_EQ(skipped(report), "cpu budget;");
}

// SBX-19, CNF-3: with one, nothing is skipped.
TEST(QuickJsConformance, WorkersWithACpuBudget) {
  const auto report = conformance::run_sandbox_backend_conformance([] { return workers(milliseconds(1500)); }).value();
  EXPECT_TRUE(report.passed()) << to_text(report);
  EXPECT_EQ(skipped(report), "");
}

// SBX-19: in process the clock is soft and says so.
TEST(QuickJsConformance, InProcess) {
  const auto report = conformance::run_sandbox_backend_conformance([] { return in_process(); }).value();
  EXPECT_TRUE(report.passed()) << to_text(report);
  EXPECT_EQ(skipped(report), "cpu budget;aborted mid-run;");
}

// SBX-19, SBX-10: a worker that cannot be had keeps its own error type, all the way through the effect.
TEST(QuickJsBackend, StartUpFailureKeepsItsType) {
  quickjs::WorkerBackendOptions options;
  options.pool = pool_options();
  options.pool.worker_path = std::string(HEDDLE_ROGUES_DIR) + "/heddle-rogue-exits";
  auto backend = quickjs::make_worker_backend(options);
  ASSERT_TRUE(backend.ok()) << backend.error().message();
  const auto scripts = std::make_shared<MemoryScripts>();
  const auto effect = SandboxEffect::create(scripts, std::move(backend).value()).value();
  const auto reply = effect->evaluate({scripts->add("1"), "null", {}, {}});
  ASSERT_TRUE(reply.is_untyped());
  ASSERT_NE(reply.untyped().cause, nullptr) << reply.untyped().message;
  try {
    std::rethrow_exception(reply.untyped().cause);
  } catch (const quickjs::WorkerStartUpError& error) {
    EXPECT_EQ(reply.untyped().message, error.error().message());
  }
}

// SBX-9
TEST(QuickJsBackend, GraceCoversThePool) {
  quickjs::PoolOptions options;
  EXPECT_EQ(quickjs::backend_grace(options), milliseconds(60'000));
  options.cold_start = milliseconds(100'000);
  EXPECT_EQ(quickjs::backend_grace(options),
            milliseconds(100'000) + 4 * options.liveness_wait + options.soft_grace + options.hard_grace);
  options.workers = 8;
  EXPECT_EQ(quickjs::backend_grace(options),
            milliseconds(100'000) + 11 * options.liveness_wait + options.soft_grace + options.hard_grace);
}

// SBX-4, SBX-14: an output over the effect's ceiling is the effect's verdict, in both modes.
TEST(QuickJsBackend, OutputBombIsTheEffectsVerdict) {
  for (const auto& backend : {workers(), in_process()}) {
    const auto scripts = std::make_shared<MemoryScripts>();
    SandboxEffectOptions options;
    options.wall_clock = std::chrono::seconds(60);
    const auto effect = SandboxEffect::create(scripts, backend, options).value();
    const sandbox::SandboxEvalInput input{scripts->add("'x'.repeat(6 * 1024 * 1024)"), "null", {}, {}};
    const auto reply = effect->evaluate(input);
    ASSERT_TRUE(reply.is_typed());
    EXPECT_EQ(reply.typed().limit, Limit::output);
  }
}

// SBX-14: a ceiling on the output that the engine holds itself, so that a result over it is never made, and what else a
// run tells, in both modes.
TEST(QuickJsBackend, TellsMoreOfARun) {
  quickjs::WorkerBackendOptions options;
  options.pool = pool_options();
  options.transfers = quickjs::Transfers::as_the_pool_says;
  std::shared_ptr<quickjs::Backend> jailed = quickjs::make_worker_backend(options).value();
  std::shared_ptr<quickjs::Backend> here = quickjs::make_in_process_backend();
  for (const auto& backend : {jailed, here}) {
    for (const int length : {98, 99}) {
      const auto facts = std::make_shared<quickjs::RunFacts>();
      spi::Request request;
      request.script = "'x'.repeat(" + std::to_string(length) + ")";
      request.input_json = "null";
      request.limits.wall_clock = milliseconds(20'000);
      const auto run = backend->evaluate_with(std::move(request), {100, true}, facts);
      auto outcome = run->take();
      while (!outcome) {
        pollfd entry{run->ready_fd(), POLLIN, 0};
        ASSERT_EQ(::poll(&entry, 1, 30'000), 1);
        outcome = run->take();
      }
      EXPECT_EQ(outcome->kind, length == 98 ? spi::Outcome::Kind::ok : spi::Outcome::Kind::limit);
      EXPECT_EQ(facts->output_exceeded, length != 98);
      EXPECT_GT(facts->elapsed.count(), 0);
      EXPECT_EQ(facts->explanation.has_value(), backend == jailed);
    }
  }
}

// SBX-4: where a script went wrong, for people.
TEST(QuickJsBackend, SaysWhereAScriptThrew) {
  for (const auto& backend : {workers(), in_process()}) {
    const auto scripts = std::make_shared<MemoryScripts>();
    const auto effect = SandboxEffect::create(scripts, backend).value();
    const auto reply = effect->evaluate({scripts->add("1;\n  throw new TypeError('no')"), "null", {}, {}});
    ASSERT_TRUE(reply.is_typed());
    EXPECT_EQ(reply.typed().name, "TypeError");
    EXPECT_EQ(reply.typed().line, 2U);
  }
}

class Registrar final : public effect::EffectRegistrar {
 public:
  [[nodiscard]] core::Result<void> add(std::shared_ptr<const effect::Effect> effect) override {
    added = std::move(effect);
    return {};
  }
  std::shared_ptr<const effect::Effect> added;
};

// SBX-22, SBX-13: one call, and a runtime has the effect with its defaults.
TEST(SandboxEval, RegistersWithOneCall) {
  const auto scripts = std::make_shared<MemoryScripts>();
  SandboxEvalOptions options;
  options.workers.pool = pool_options();
  Registrar registrar;
  ASSERT_TRUE(register_sandbox_eval(registrar, scripts, options).ok());
  EXPECT_EQ(registrar.added->kind(), "sandboxEval");
  EXPECT_EQ(registrar.added->idempotency(), effect::Idempotency::idempotent);
  const std::string json = "{\"script\":\"" + scripts->add("input + 1").text() + "\",\"input\":41}";
  EXPECT_EQ(registrar.added->execute(json, {}).value(), "42");
}

// What a case's outcome looks like in the words of the cases.
Json outcome_of(const SandboxEffect::Reply& reply) {
  if (reply.ok()) return {{"outcome", "ok"}, {"value", Json::parse(reply.value().value_json)}};
  if (!reply.is_typed()) return {{"outcome", "failed"}, {"message", reply.is_untyped() ? reply.untyped().message : ""}};
  Json outcome = {{"outcome", channel_name(reply.typed().channel)}, {"message", reply.typed().message}};
  if (reply.typed().limit) outcome["kind"] = limit_name(*reply.typed().limit);
  if (reply.typed().name) outcome["name"] = *reply.typed().name;
  return outcome;
}

class Cases {
 public:
  explicit Cases(std::shared_ptr<spi::SandboxBackend> backend) {
    std::ifstream file(std::string(HEDDLE_CASES_DIR) + "/javascript.json");
    document = Json::parse(file);
    SandboxEffectOptions options;
    options.backend_grace = milliseconds(30'000);
    const Json& limits = document.at("limits");
    options.wall_clock = milliseconds(limits.at("wall_clock_ms").get<int>());
    options.memory_bytes = limits.at("memory_bytes").get<std::uint64_t>();
    options.output_bytes = limits.at("output_bytes").get<std::uint64_t>();
    effect_ = SandboxEffect::create(scripts_, std::move(backend), options).value();
  }
  [[nodiscard]] Json run(const std::string& script, const Json& input) const {
    return outcome_of(effect_->evaluate({scripts_->add(script), input.dump(), {}, {}}));
  }
  Json document;

 private:
  std::shared_ptr<MemoryScripts> scripts_ = std::make_shared<MemoryScripts>();
  std::unique_ptr<SandboxEffect> effect_;
};

// SBX-3, SBX-19: each case whose outcome is one certain one gives it in both modes, and the run after it is clean. All
// cases, those that may end in several ways and those about time too, go through the command in tests/sandbox.
TEST(QuickJsCases, AreTheSameInBothModes) {
  const Cases by_workers(workers());
  const Cases in_this_process(in_process());
  int compared = 0;
  for (const Json& one : by_workers.document.at("cases")) {
    const Json& expected = one.at("expect");
    if (!one.contains("script") || expected.contains("any_of") ||
        one.at("id").get<std::string>().rfind("time-", 0) == 0)
      continue;
    SCOPED_TRACE(one.at("id").get<std::string>());
    const std::string script = one.at("script").get<std::string>();
    const Json input = one.value("input", Json());
    const Json hard = by_workers.run(script, input);
    const Json soft = in_this_process.run(script, input);
    ++compared;
    if (expected.contains("ok")) {
      EXPECT_EQ(hard.value("value", Json("none: " + hard.dump())), expected.at("ok"));
      EXPECT_EQ(soft.value("value", Json("none: " + soft.dump())), expected.at("ok"));
    } else {
      EXPECT_EQ(hard.at("outcome"), soft.at("outcome")) << hard << soft;
      EXPECT_EQ(hard.value("name", ""), soft.value("name", ""));
      EXPECT_EQ(hard.value("kind", ""), soft.value("kind", ""));
    }
    EXPECT_EQ(in_this_process.run("[typeof leak, ({}).polluted === undefined]", nullptr).at("value"),
              Json::parse(R"(["undefined",true])"));
  }
  EXPECT_GT(compared, 20);
}

}  // namespace
}  // namespace heddle::sandbox

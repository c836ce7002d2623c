// Scripts in jailed workers as effects of flows.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <thread>

#include "heddle/core/json.h"
#include "heddle/effect/runtime/flow.h"
#include "heddle/effect/runtime/policy.h"
#include "heddle/journal/core/replay.h"
#include "heddle/journal/memory/memory.h"
#include "heddle/sandbox/eval/flow.h"
#include "heddle/sandbox/eval/sandbox_eval.h"
#include "tests/support/processes.h"

namespace heddle::effect {
namespace {

using namespace std::chrono_literals;
using Text = Reply<std::string>;

class SandboxFlow : public ::testing::Test {
 protected:
  SandboxFlow() : store_(journal::open_memory()), scripts_(std::make_shared<sandbox::MemoryScripts>()) {}

  void make(std::shared_ptr<const Authorizer> authorizer,
            const std::string& worker = HEDDLE_LIBEXEC_DIR "/heddle-sandbox-worker",
            sandbox::Start worker_start = sandbox::Start::warm) {
    runtime_ =
        EffectRuntime::create({std::move(authorizer), Scheduler::create().value(), std::make_shared<Meter>(), store_})
            .value();
    sandbox::SandboxEvalOptions options;
    options.workers.pool.supervisor_path = HEDDLE_LIBEXEC_DIR "/heddle-supervisor";
    options.workers.pool.worker_path = worker;
    options.workers.pool.workers = 2;
    options.effect.wall_clock = 30s;
    options.start = worker_start;
    const auto added = sandbox::register_sandbox_eval(*runtime_, scripts_, std::move(options));
    ASSERT_TRUE(added.ok()) << added.error().message();
  }
  void make() { make(anybody()); }
  static std::shared_ptr<const Authorizer> anybody() {
    return std::make_shared<CallbackAuthorizer>([](const Request&) { return Decision::allow(); });
  }

  std::string script(std::string_view text, const std::string& rest = R"("input":[3,4])") {
    return "{\"script\":\"" + scripts_->add(text).text() + "\"," + rest + "}";
  }

  FlowRun run(const std::string& id, std::function<Text(Flow&)> code, const std::stop_token& stop = {}) {
    auto run = run_flow(*runtime_, {id, "test", "null", std::move(code)}, stop);
    EXPECT_TRUE(run.ok()) << run.error().message();
    return std::move(run).value();
  }

  journal::EffectState state(const std::string& flow, const std::string& key) {
    return journal::replay(*store_, flow, journal::From::start).value().flows.at(flow).effects.at(key);
  }

  std::shared_ptr<journal::Store> store_;
  std::shared_ptr<sandbox::MemoryScripts> scripts_;
  std::unique_ptr<EffectRuntime> runtime_;
};

// EFF-1, SBX-12: values and typed failures of scripts go through the rings into the journal; the script's address
// stands in the INTENT.
TEST_F(SandboxFlow, RunsScripts) {
  make();
  const FlowRun ended = run("f", [&](Flow& flow) -> Text {
    const Text sum = flow.ask("sandboxEval", script("input.reduce((a, b) => a + b)"));
    const Text threw = flow.ask("sandboxEval", script("throw new RangeError('no')"));
    EXPECT_EQ(threw.typed().channel, "scriptError");
    EXPECT_EQ(threw.typed().detail_json, R"({"name":"RangeError","message":"no"})");
    const Text large = flow.ask("sandboxEval", script("'x'.repeat(100)", R"("limits":{"outputBytes":10})"));
    EXPECT_EQ(large.typed().channel, "limitExceeded");
    return sum;
  });
  EXPECT_EQ(ended.reply.value(), "7");
  EXPECT_EQ(state("f", "2").phase, journal::EffectPhase::failed);
  EXPECT_TRUE(state("f", "1").repeatable);
  journal::Query query;
  query.kinds = {journal::Kind::intent};
  query.limit = 1;
  const auto intent = store_->read(query, {}).value().facts.at(0);
  const auto annotations = core::json_member(intent.payload, "annotations");
  ASSERT_TRUE(annotations.has_value());
  EXPECT_EQ(core::json_word(*annotations, "script"), ContentAddress::of("input.reduce((a, b) => a + b)").text());
}

// SBX-22: a flow asks without JSON by hand, and reads failures back; an input that is not JSON has its channel, and a
// replay is the same.
TEST_F(SandboxFlow, AsksByTheTypedHelper) {
  make();
  const auto code = [&](Flow& flow) -> Text {
    sandbox::SandboxEvalInput input{scripts_->add("input.a + 1"), R"({"a":41})", R"({"type":"number"})", {}};
    const Text sum = sandbox::sandbox_eval(flow, input);
    input.shape_json = R"({"type":"string"})";
    EXPECT_EQ(sandbox::from_typed(sandbox::sandbox_eval(flow, input).typed())->channel,
              sandbox::Channel::shape_mismatch);
    input.shape_json.reset();
    input.limits.output_bytes = 1;
    EXPECT_EQ(sandbox::from_typed(sandbox::sandbox_eval(flow, input).typed())->limit, sandbox::Limit::output);
    for (const std::string& bad : {std::string("NaN"), std::string("1e999"), std::string("{\"a\":")}) {
      input.input_json = bad;
      EXPECT_EQ(sandbox::sandbox_eval(flow, input).typed().channel, "inputNotSerializable") << bad;
    }
    for (const std::size_t depth : {std::size_t{1001}, std::size_t{100'000}}) {
      input.input_json = std::string(depth, '[') + std::string(depth, ']');
      EXPECT_EQ(sandbox::sandbox_eval(flow, input).typed().channel, "inputTooLarge") << depth;
    }
    return sum;
  };
  const FlowRun first = run("f", [&](Flow& flow) -> Text {
    EXPECT_EQ(code(flow).value(), "42");
    return untyped("not yet", Retry::yes);
  });
  EXPECT_EQ(first.ran, 4U);
  const FlowRun again = run("f", code);
  EXPECT_EQ(again.reply.value(), "42");
  EXPECT_EQ(again.replayed, 4U);
}

// SBX-9: the ready-made effect waits for as long as its pool may need: cold start, a liveness wait for each worker that
// may be asked, and a hard kill.
TEST_F(SandboxFlow, HasTheGraceOfItsPool) {
  sandbox::SandboxEvalOptions options;
  options.workers.pool.supervisor_path = HEDDLE_LIBEXEC_DIR "/heddle-supervisor";
  options.workers.pool.worker_path = HEDDLE_LIBEXEC_DIR "/heddle-sandbox-worker";
  options.workers.pool.workers = 2;
  options.start = sandbox::Start::cold;
  const auto left = [&] {
    const auto effect = sandbox::make_sandbox_eval(scripts_, options).value();
    return effect->start({scripts_->add("1"), "null", {}, {}})->deadline().when() - core::Clock::now();
  };
  EXPECT_LE(left(), 63s) << "the control: a minute, and the wall clock";
  options.workers.pool.cold_start = 1h;
  EXPECT_GT(left(), 1h);
  options.workers.pool.cold_start = 1s;
  options.workers.pool.liveness_wait = 10min;
  EXPECT_GT(left(), 40min) << "two workers, and as many new ones as are tried";
}

// SBX-1: the ready-made effect starts its workers before the first run, unless told not to.
TEST_F(SandboxFlow, IsWarm) {
  const std::string worker = "heddle-sandbox-";
  make(anybody(), HEDDLE_LIBEXEC_DIR "/heddle-sandbox-worker", sandbox::Start::cold);
  EXPECT_TRUE(test::descendants_named(worker).empty()) << "the control";
  make();
  const auto end = core::Deadline::after(60s);
  while (test::descendants_named(worker).size() < 2 && !end.passed()) std::this_thread::sleep_for(5ms);
  EXPECT_EQ(test::descendants_named(worker).size(), 2U);
}

// SBX-29: what a pool can never do is a mistake of the host's, and is not tried again.
TEST_F(SandboxFlow, DoesNotRetryALimitBelowTheEngines) {
  make();
  AskOptions options;
  options.attempts = 5;
  const FlowRun ended = run("f", [&](Flow& flow) -> Text {
    EXPECT_TRUE(flow.ask("sandboxEval", script("1")).ok()) << "the control";
    return flow.ask("sandboxEval", script("1", R"("limits":{"memoryBytes":1000})"), options);
  });
  EXPECT_NE(ended.reply.untyped().message.find("a memory limit below"), std::string::npos);
  EXPECT_EQ(ended.reply.untyped().retry, Retry::no);
  EXPECT_EQ(state("f", "2").attempts, 1U);
}

// EFF-3: a policy that knows scripts lets no other one run.
TEST_F(SandboxFlow, AllowsKnownScriptsAlone) {
  const std::string known = "input.length";
  const auto policy = parse_policy(
                          "[[rule]]\nname = \"known\"\neffect = \"sandboxEval\"\nverdict = \"allow\"\n"
                          "annotations = { script = \"" +
                              ContentAddress::of(known).text() + "\" }\n",
                          "test")
                          .value();
  make(std::make_shared<RuleAuthorizer>(policy.rules));
  const FlowRun ended = run("f", [&](Flow& flow) -> Text {
    EXPECT_EQ(flow.ask("sandboxEval", script(known + " ")).typed().channel, kEffectDenied);
    return flow.ask("sandboxEval", script(known));
  });
  EXPECT_EQ(ended.reply.value(), "2");
  EXPECT_EQ(state("f", "1").phase, journal::EffectPhase::denied);
}

// EFF-7: at the boundary a stop needs nobody's cooperation: a script that never ends is ended, and so is one that is
// inside a built-in; the flow goes on later, in a fresh worker.
TEST_F(SandboxFlow, EndsScriptsThatDoNotStop) {
  make();
  const std::map<std::string, std::string> loops{{"loop", "for (;;) {}"},
                                                 {"builtin", "'a'.repeat(1 << 20).replace(/(a*)*b/, '')"}};
  for (const auto& entry : loops) {
    const std::string& id = entry.first;
    const std::string& loop = entry.second;
    std::stop_source stop;
    const auto code = [&, first = script(loop, R"("input":null)")](Flow& flow) -> Text {
      return flow.ask("sandboxEval", first);
    };
    std::thread stopper([&] {
      journal::Query query;
      query.flow = id;
      query.kinds = {journal::Kind::intent};
      EXPECT_FALSE(store_->follow(query, {{}, core::Deadline::after(30s)}).value().facts.empty());
      std::this_thread::sleep_for(50ms);
      stop.request_stop();
    });
    const FlowRun stopped = run(id, code, stop.get_token());
    stopper.join();
    EXPECT_EQ(stopped.state, FlowState::cancelled);
    EXPECT_EQ(state(id, "1").phase, journal::EffectPhase::cancelled);
  }
  EXPECT_EQ(run("after", [&](Flow& flow) { return flow.ask("sandboxEval", script("1 + 1")); }).reply.value(), "2");
}

// JRN-8, JAIL-13, JAIL-14: what the kernel refused a worker that was taken over is in the journal with the run, named;
// one that was ended for it is a typed failure, which is not tried again. The control: a script as scripts are is
// refused nothing.
TEST_F(SandboxFlow, RecordsWhatTheKernelRefused) {
  const auto count = [&](const std::string& flow, journal::Kind kind) {
    journal::Query query;
    query.flow = flow;
    query.kinds = {kind};
    return store_->read(query, {}).value().facts;
  };
  make();
  EXPECT_TRUE(run("control", [&](Flow& flow) { return flow.ask("sandboxEval", script("1")); }).reply.ok());
  EXPECT_TRUE(count("control", journal::Kind::access_denied).empty());
  ASSERT_EQ(count("control", journal::Kind::jail_applied).size(), 1U);
  EXPECT_NE(count("control", journal::Kind::jail_applied)[0].body->text.find("andlock"), std::string::npos);

  make(anybody(), HEDDLE_ROGUES_DIR "/heddle-rogue-none", sandbox::Start::cold);
  AskOptions options;
  options.attempts = 3;
  const FlowRun tried = run("rogue", [&](Flow& flow) -> Text {
    EXPECT_EQ(flow.ask("sandboxEval", script("tries"), options).typed().channel, "limitExceeded");
    return flow.ask("sandboxEval", script("tries for ever"), options);
  });
  const auto denied = count("rogue", journal::Kind::access_denied);
  ASSERT_GT(denied.size(), 1U);
  EXPECT_EQ(denied[0].effect, "1");
  EXPECT_EQ(core::json_word(denied[0].payload, "syscall"), "openat");
  EXPECT_EQ(core::json_word(denied[0].payload, "object"), "/etc/shadow");
  EXPECT_EQ(core::json_word(denied[0].payload, "rule"), "seccomp: a script has no files");
  EXPECT_EQ(tried.reply.typed().channel, kAccessDenied);
  EXPECT_EQ(tried.reply.typed().detail_json,
            R"({"syscall":"openat","object":"/etc/shadow","rule":"seccomp: a script has no files"})");
  EXPECT_EQ(state("rogue", "1").denials.access, 1U);
  EXPECT_EQ(state("rogue", "2").denials.access, 63U) << "one of the worker's 64 went to the first script";
  EXPECT_EQ(state("rogue", "2").attempts, 1U);
  EXPECT_EQ(state("rogue", "2").phase, journal::EffectPhase::failed);
}

// EFF-6: replayed, a script's value comes back and no worker is asked.
TEST_F(SandboxFlow, ReplaysWithoutAWorker) {
  make();
  const std::string first = script("input.map((x) => x * x)");
  const auto fails = [&](Flow& flow) -> Text {
    EXPECT_TRUE(flow.ask("sandboxEval", first).ok());
    return untyped("not yet", Retry::yes);
  };
  EXPECT_TRUE(run("f", fails).reply.is_untyped());
  runtime_ = EffectRuntime::create({std::make_shared<CallbackAuthorizer>(nullptr), Scheduler::create().value(),
                                    std::make_shared<Meter>(), store_})
                 .value();  // knows no effect, and allows none
  const FlowRun again = run("f", [&](Flow& flow) { return flow.ask("sandboxEval", first); });
  EXPECT_EQ(again.reply.value(), "[9,16]");
  EXPECT_EQ(again.replayed, 1U);
  EXPECT_EQ(again.ran, 0U);
}

}  // namespace
}  // namespace heddle::effect

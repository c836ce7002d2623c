// One attempt through the rings: their order, what each refuses, and which facts that leaves.
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "bench_for_test.h"
#include "heddle/journal/memory/memory.h"

namespace heddle::effect::testing {
namespace {

using core::Deadline;
using core::Errc;

struct RingsBench : RuntimeBench {
  explicit RingsBench(const Options& options = {}, std::shared_ptr<journal::Store> with = journal::open_memory())
      : RuntimeBench(options, std::move(with)) {}
};

FunctionEffect function(std::string kind, std::function<Text(std::string_view, const Call&)> run) {
  FunctionEffect made;
  made.kind = std::move(kind);
  made.run = std::move(run);
  return made;
}

std::string word(const journal::Fact& fact, std::string_view name) {
  return std::string(core::json_word(fact.payload, name).value_or(""));
}

// EFF-1, EFF-2: with every ring about to refuse, the first one does; mended one after the other, the next. Nothing but
// the effect itself is behind them.
TEST(Rings, RefuseInTheirOrder) {
  bool allowed = false;
  Options options;
  options.authorizer = std::make_shared<CallbackAuthorizer>([&](const Request& request) {
    EXPECT_EQ(request.flow, "f");
    EXPECT_EQ(request.effect, "one");
    EXPECT_EQ(request.input_json, "\"bad\"");
    return allowed ? Decision::allow() : Decision::deny("shut", "not yet");
  });
  options.schedule.effects["one"] = 1;
  options.budget.calls = 1;
  RingsBench bench(options);
  FunctionEffect one = function("one", [](std::string_view, const Call&) { return Text("\"out\""); });
  one.input_schema = R"({"type":"number"})";
  bench.add(one);

  const auto at = [&](std::string_view key, Deadline deadline = Deadline::never()) {
    return bench.execute("one", "\"bad\"", key, {}, deadline);
  };
  auto slot = bench.scheduler->acquire("other", "one", {}, Deadline::never());
  EXPECT_EQ(at("1").typed().channel, kEffectDenied);
  allowed = true;
  const Text waited = at("2", Deadline::after(20ms));
  EXPECT_EQ(waited.untyped().error.value().code, Errc::timed_out);
  slot.value().release();
  EXPECT_EQ(bench.meter->usage("f"), Usage{}) << "what did not get so far was not counted";
  EXPECT_EQ(at("3").typed().channel, kInvalidInput);
  EXPECT_EQ(bench.meter->usage("f").calls, 1U);
  EXPECT_EQ(at("4").typed().channel, kBudgetExceeded) << "the meter comes before the schema";
  EXPECT_EQ(bench.ran("one"), 0);
  EXPECT_EQ(bench.kinds(), "INTENT EFFECT_DENIED INTENT OUTCOME INTENT OUTCOME INTENT OUTCOME");
  EXPECT_EQ(bench.scheduler->statistics().running, 0U) << "a refusal kept its place";
}

// EFF-1, JRN-5: the intent is durable before the effect begins, the outcome before the reply is given.
TEST(Rings, RecordBeforeAndAfter) {
  const auto disk = std::make_shared<FailingStore>(journal::open_memory());
  RingsBench bench({}, disk);
  bench.add(function("one", [&](std::string_view, const Call& call) {
    EXPECT_EQ(bench.kinds(), "INTENT");
    EXPECT_EQ(call.idempotency_key, "f/1");
    return Text("2");
  }));
  EXPECT_EQ(bench.execute("one", "{ \"a\":1.0 }").value(), "2");
  const auto facts = bench.facts();
  ASSERT_EQ(facts.size(), 2U);
  EXPECT_EQ(facts[0].body->text, "{ \"a\":1.0 }");
  EXPECT_EQ(facts[1].body->text, "2");
  EXPECT_EQ(facts[1].effect, "1");
  disk->left = 0;
  EXPECT_EQ(bench.execute("one", "1", "2").untyped().error.value().code, Errc::exhausted);
  EXPECT_EQ(bench.ran("one"), 1) << "it ran without an intent";
}

// EFF-2: what the journal does not take after the effect has run is not given either.
TEST(Rings, GiveNothingThatIsNotRecorded) {
  const auto disk = std::make_shared<FailingStore>(journal::open_memory());
  RingsBench bench({}, disk);
  bench.add(function("one", [&](std::string_view, const Call&) {
    disk->left = 0;
    return Text("2");
  }));
  const Text reply = bench.execute("one", "1");
  EXPECT_EQ(reply.untyped().error.value().code, Errc::exhausted);
  EXPECT_EQ(bench.ran("one"), 1);
  EXPECT_EQ(bench.kinds(), "INTENT");
}

// EFF-3: the denial is a durable fact with rule and reason, and the fold knows it.
TEST(Rings, DenyDurably) {
  Options options;
  options.authorizer = std::make_shared<RuleAuthorizer>(
      std::vector<Rule>{{"no mail", "mail", "*", {}, Rule::Verdict::deny, "mail is for people"},
                        {"rest", "*", "*", {}, Rule::Verdict::allow, ""}});
  RingsBench bench(options);
  bench.add_echo("mail");
  bench.add_echo("file");
  EXPECT_TRUE(bench.execute("file", "1", "2").ok()) << "the control";
  const Text reply = bench.execute("mail", R"("to whom")");
  EXPECT_EQ(reply.typed().channel, kEffectDenied);
  EXPECT_EQ(reply.typed().detail_json, R"({"rule":"no mail","reason":"mail is for people"})");
  const auto facts = bench.facts();
  EXPECT_EQ(facts.back().kind, journal::Kind::effect_denied);
  EXPECT_EQ(word(facts.back(), "rule"), "no mail");
  EXPECT_EQ(bench.state().phase, journal::EffectPhase::denied);
  EXPECT_EQ(bench.state().denials.effect, 1U);
  EXPECT_EQ(bench.ran("mail"), 0);
}

// EFF-3: an authorizer that throws denies.
TEST(Rings, DenyWhenTheAuthorizerFails) {
  Options options;
  options.authorizer =
      std::make_shared<CallbackAuthorizer>([](const Request&) -> Decision { throw std::runtime_error("no answer"); });
  RingsBench bench(options);
  bench.add_echo("a");
  const Text reply = bench.execute("a", "1");
  EXPECT_EQ(reply.typed().channel, kEffectDenied);
  EXPECT_NE(reply.typed().message.find("no answer"), std::string::npos);
  EXPECT_EQ(bench.ran("a"), 0);
}

// SBX-23, EFF-4: neither side's check outlasts stop, deadline or the flow's budget of time.
TEST(Rings, ChecksHeedStopAndDeadline) {
  constexpr std::string_view kTwiceALevel =
      R"({"type":["array","number"],"items":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]},"maximum":1})";
  const std::string hostile = std::string(300, '[') + "2" + std::string(300, ']');
  Options options;
  options.budget.time = std::chrono::hours(1);
  RingsBench bench(options);
  FunctionEffect in = function("in", [](std::string_view, const Call&) { return Text("1"); });
  in.input_schema = kTwiceALevel;
  bench.add(in);
  FunctionEffect out = function("out", [&](std::string_view, const Call&) { return Text(hostile); });
  out.output_schema = kTwiceALevel;
  bench.add(out);
  EXPECT_TRUE(bench.execute("in", "[1]", "0").ok()) << "the control";
  int key = 0;
  for (const std::string_view effect : {"in", "out"}) {
    const auto run = [&](const std::stop_token& stop, core::Deadline deadline) {
      return bench.execute(effect, hostile, std::to_string(++key), stop, deadline);
    };
    const Text late = run({}, core::Deadline::after(200ms));
    EXPECT_NE(late.untyped().message.find("the deadline passed while its " + std::string(effect) + "put was checked"),
              std::string::npos)
        << late.untyped().message;
    std::stop_source stop;
    std::thread stopper([&] {
      std::this_thread::sleep_for(50ms);
      stop.request_stop();
    });
    EXPECT_TRUE(run(stop.get_token(), core::Deadline::never()).is_cancelled());
    stopper.join();
  }
  Options poor;
  poor.budget.time = 200ms;
  RingsBench short_of_time(poor);
  short_of_time.add(out);
  EXPECT_EQ(short_of_time.execute("out", "1").typed().channel, kBudgetExceeded);
}

// EFF-4: both sides, and what fits goes through.
TEST(Rings, ValidateBothSides) {
  RingsBench bench;
  FunctionEffect half = function("half", [](std::string_view input, const Call&) {
    return input == "3" ? Text("1.5") : Text(std::to_string(std::stoi(std::string(input)) / 2));
  });
  half.input_schema = R"({"type":"integer"})";
  half.output_schema = R"({"type":"integer"})";
  bench.add(half);
  EXPECT_EQ(bench.execute("half", "4", "1").value(), "2");
  const Text in = bench.execute("half", "\"4\"", "2");
  EXPECT_EQ(in.typed().channel, kInvalidInput);
  EXPECT_NE(in.typed().message.find("input"), std::string::npos);
  EXPECT_EQ(bench.ran("half"), 1);
  EXPECT_EQ(bench.execute("half", "3", "3").typed().channel, kInvalidOutput);
  EXPECT_EQ(bench.ran("half"), 2);
  for (const auto& [key, phase] : {std::pair("2", journal::EffectPhase::failed), {"3", journal::EffectPhase::failed}}) {
    EXPECT_EQ(bench.state(key).phase, phase);
  }
  bench.add(function("junk", [](std::string_view, const Call&) { return Text("{"); }));
  EXPECT_EQ(bench.execute("junk", "1", "4").typed().channel, kInvalidOutput);
  bench.add(function(
      "deep", [](std::string_view, const Call&) { return Text(std::string(1100, '[') + std::string(1100, ']')); }));
  EXPECT_EQ(bench.execute("deep", "1", "5").typed().channel, kInvalidOutput) << "what cannot be stored is not given";
  EXPECT_EQ(bench.execute("half", "{", "6").untyped().error.value().code, Errc::malformed);
  FunctionEffect wrong = function("wrong", nullptr);
  wrong.output_schema = R"({"type":"nonsense"})";
  EXPECT_EQ(bench.runtime->add(make_effect(wrong)).error().code, Errc::malformed);
}

// EFF-4: failures keep to the effect's closed list.
TEST(Rings, HoldEffectsToTheirChannels) {
  RingsBench bench;
  FunctionEffect fails = function("fails", [](std::string_view input, const Call&) -> Text {
    return TypedFailure{std::string(input.substr(1, input.size() - 2)), R"({"n":1})", std::string(5000, 'm')};
  });
  fails.channels = {"known"};
  bench.add(fails);
  const Text known = bench.execute("fails", "\"known\"", "1");
  EXPECT_EQ(known.typed().detail_json, R"({"n":1})");
  EXPECT_EQ(known.typed().message.size(), 2048U);
  EXPECT_TRUE(bench.execute("fails", "\"other\"", "2").is_untyped());
  EXPECT_TRUE(bench.execute("fails", "\"inDoubt\"", "3").is_untyped()) << "an effect spoke for the runtime";
  fails.kind = "greedy";
  fails.channels = {"inDoubt"};
  EXPECT_EQ(bench.runtime->add(make_effect(fails)).error().code, Errc::invalid_argument);
  fails.kind = "not a name";
  fails.channels = {};
  EXPECT_EQ(bench.runtime->add(make_effect(fails)).error().code, Errc::invalid_argument);
  fails.kind = "fails";
  EXPECT_EQ(bench.runtime->add(make_effect(fails)).error().code, Errc::invalid_argument) << "twice";
  EXPECT_EQ(bench.runtime->add(nullptr).error().code, Errc::invalid_argument);
  EXPECT_EQ(bench.execute("nobody", "1", "4").untyped().error.value().code, Errc::not_found);
}

// EFF-2: what user code throws ends at the seam, its type kept.
TEST(Rings, CatchAtTheSeam) {
  RingsBench bench;
  bench.add(function("throws", [](std::string_view, const Call&) -> Text { throw std::out_of_range("far"); }));
  const Text reply = bench.execute("throws", "1");
  EXPECT_NE(reply.untyped().message.find("far"), std::string::npos);
  EXPECT_THROW(std::rethrow_exception(reply.untyped().cause), std::out_of_range);
  EXPECT_EQ(bench.kinds(), "INTENT OUTCOME");
}

// EFF-5: each resource has its end, and says which.
TEST(Rings, KeepToTheBudget) {
  const auto refused = [](const Budget& budget, const Prices& prices, int calls) {
    Options options;
    options.budget = budget;
    options.prices = prices;
    RingsBench bench(options);
    bench.add(function("slow", [](std::string_view input, const Call&) {
      std::this_thread::sleep_for(3ms);
      return Text(std::string(input));
    }));
    for (int i = 1; i < calls; ++i) {
      const Text reply = bench.execute("slow", "\"12345678\"", std::to_string(i));
      EXPECT_TRUE(reply.ok()) << i;
    }
    const Text last = bench.execute("slow", "\"12345678\"", "last");
    EXPECT_EQ(last.typed().channel, kBudgetExceeded);
    EXPECT_EQ(bench.state("last").phase, journal::EffectPhase::failed);
    return last.typed().detail_json;
  };
  EXPECT_EQ(refused({2, {}, {}, {}}, {}, 3), R"({"resource":"calls","limit":2})");
  EXPECT_EQ(refused({{}, 1ms, {}, {}}, {}, 2), R"({"resource":"time","limit":1000})");
  EXPECT_EQ(refused({{}, {}, 25, {}}, {}, 2), R"({"resource":"bytes","limit":25})");
  EXPECT_EQ(refused({{}, {}, {}, 9}, {{"slow", Price{5, 0, 0}}}, 2), R"({"resource":"cost","limit":9})");
}

// EFF-5: a call gets what is left of the time as its deadline, and what it takes beyond is the budget's failure, not
// its own; an output over the bytes left is not given, and neither stored.
TEST(Rings, CutWhatGoesOver) {
  Options options;
  options.budget.time = 20ms;
  options.budget.bytes = 100;
  RingsBench bench(options);
  bench.add(function("waits", [](std::string_view, const Call& call) -> Text {
    EXPECT_FALSE(call.deadline.is_never());
    while (!call.deadline.passed()) std::this_thread::sleep_for(1ms);
    return untyped("too late", Retry::yes);
  }));
  bench.add(function("large", [](std::string_view, const Call&) { return Text('"' + std::string(200, 'x') + '"'); }));
  EXPECT_EQ(bench.execute("large", "1", "1").typed().detail_json, R"({"resource":"bytes","limit":100})");
  EXPECT_EQ(bench.facts().back().body->text.find('x'), std::string::npos);
  EXPECT_EQ(bench.execute("waits", "1", "2").typed().detail_json, R"({"resource":"time","limit":20000})");
  EXPECT_GE(bench.meter->usage("f").time, 20ms);
}

// EFF-5: a thousand calls side by side do not get past the number of calls.
TEST(Rings, KeepToTheBudgetSideBySide) {
  Options options;
  options.budget.calls = 50;
  RingsBench bench(options);
  bench.add_echo("a");
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) static_cast<void>(bench.execute("a", "1", std::to_string(t * 100 + i)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(bench.ran("a"), 50);
  EXPECT_EQ(bench.facts().size(), 400U);
}

class Elsewhere final : public Executor {
 public:
  std::atomic<int> calls{0};
  [[nodiscard]] Text execute(const Effect& effect, std::string_view input, const Call& call) override {
    ++calls;
    EXPECT_EQ(effect.kind(), "bound");
    if (call.witness != nullptr) call.witness->jail_applied(R"({"layers":["landlock"]})");
    return Text("\"elsewhere " + std::string(input) + "\"");
  }
};

// SBX-25, EFF-5: what a guest wrote to its console is a fact before the outcome, and counts against the flow's bytes.
TEST(Rings, KeepTheConsoleAndCountIt) {
  Options options;
  options.budget.bytes = 60;
  RingsBench bench(options);
  bench.add(function("guest", [](std::string_view input, const Call& call) -> Text {
    call.witness->console(input == "1" ? R"([{"level":"log","text":"x"}])" : "not json", input == "1");
    return input == "1" ? Text("1") : Text(untyped("gone", Retry::no));
  }));
  EXPECT_EQ(bench.execute("guest", "1", "1").value(), "1");
  EXPECT_EQ(bench.kinds(), "INTENT CONSOLE OUTCOME");
  auto facts = bench.facts();
  EXPECT_EQ(facts[1].payload, R"({"effect":"guest","attempt":1,"bytes":28,"cut":true})");
  EXPECT_EQ(bench.meter->usage("f").bytes, 1U + 28 + 1);
  EXPECT_TRUE(bench.execute("guest", "2", "2").is_untyped());
  EXPECT_EQ(bench.meter->usage("f").bytes, 30U + 1 + 2);
  EXPECT_EQ(bench.execute("guest", "1", "3").typed().channel, kBudgetExceeded);
}

// EFF-2, EFF-8: once bound, an effect is called through its executor in every way that there is, and validated after
// it.
TEST(Rings, CannotGetRoundAnExecutor) {
  RingsBench bench;
  const auto elsewhere = std::make_shared<Elsewhere>();
  FunctionEffect bound = function("bound", [](std::string_view, const Call&) -> Text {
    ADD_FAILURE() << "called past its executor";
    return Text("1");
  });
  bound.idempotency = Idempotency::idempotent;
  bound.output_schema = R"({"maxLength":12})";
  ASSERT_TRUE(bench.runtime->add(make_effect(bound), elsewhere).ok());
  EXPECT_EQ(bench.runtime->add(make_effect(bound)).error().code, Errc::invalid_argument) << "it was taken off again";
  EXPECT_EQ(bench.execute("bound", "1").value(), "\"elsewhere 1\"");
  EXPECT_EQ(bench.execute("bound", "1234567", "2").typed().channel, kInvalidOutput);
  const auto run = run_flow(*bench.runtime, {"g", "test", "null", [](Flow& flow) { return flow.ask("bound", "2"); }});
  EXPECT_EQ(run.value().reply.value(), "\"elsewhere 2\"");
  EXPECT_EQ(elsewhere->calls, 3);
  FunctionEffect other = function("other", nullptr);
  EXPECT_EQ(bench.runtime->add(make_effect(other), nullptr).error().code, Errc::invalid_argument);
}

// JRN-8, JAIL-14: what the kernel refused comes before the outcome, in one append with it, bounded; what ended the
// guest is a typed failure that a flow may act on.
TEST(Rings, RecordWhatTheKernelRefused) {
  Options options;
  options.runtime.max_denials = 3;
  RingsBench bench(options);
  bench.add(function("guest", [](std::string_view input, const Call& call) -> Text {
    call.witness->jail_applied("not json \xFF");
    for (int i = 0; i < 5; ++i) {
      call.witness->access_denied({"openat",
                                   "/etc/sh\xFF"
                                   "adow",
                                   "landlock: read", AfterDenial::went_on});
    }
    if (input == "1") {
      for (int i = 0; i < 100; ++i) call.witness->jail_applied("1");
      return Text("\"went on\"");
    }
    call.witness->access_denied({"socket", "", "seccomp: no sockets", AfterDenial::ended});
    return untyped("the worker is gone", Retry::yes);
  }));
  EXPECT_EQ(bench.execute("guest", "1", "1").value(), "\"went on\"");
  EXPECT_EQ(bench.kinds(),
            "INTENT JAIL_APPLIED ACCESS_DENIED ACCESS_DENIED ACCESS_DENIED JAIL_APPLIED JAIL_APPLIED JAIL_APPLIED "
            "JAIL_APPLIED JAIL_APPLIED JAIL_APPLIED JAIL_APPLIED OUTCOME");
  auto facts = bench.facts();
  EXPECT_EQ(word(facts[2], "syscall"), "openat");
  EXPECT_EQ(word(facts[2], "object"),
            "/etc/sh\xEF\xBF\xBD"
            "adow");
  EXPECT_EQ(word(facts[4], "rule"), "landlock: read (and 2 more)");
  EXPECT_EQ(bench.state("1").denials.access, 3U);
  EXPECT_EQ(bench.state("1").phase, journal::EffectPhase::succeeded);
  const Text ended = bench.execute("guest", "2", "2");
  EXPECT_EQ(ended.typed().channel, kAccessDenied);
  EXPECT_EQ(ended.typed().detail_json, R"({"syscall":"socket","object":"","rule":"seccomp: no sockets"})");
  EXPECT_EQ(bench.state("2").phase, journal::EffectPhase::failed);
}

// ISO-7, JRN-8
TEST(Rings, RecordRefusedConnections) {
  RingsBench bench;
  bench.add(function("fetch", [](std::string_view, const Call& call) -> Text {
    call.witness->egress_denied({"evil.test", 443, "203.0.113.7", "allow-list", "not on it"});
    return Text("null");
  }));
  EXPECT_TRUE(bench.execute("fetch", "1").ok());
  EXPECT_EQ(bench.kinds(), "INTENT EGRESS_DENIED OUTCOME");
  EXPECT_EQ(word(bench.facts()[1], "host"), "evil.test");
  EXPECT_EQ(bench.state().denials.egress, 1U);
}

// EFF-7: a stop that is there already leaves no trace; one that comes is passed on; one that came too late does not
// take back what happened.
TEST(Rings, StopCooperatively) {
  RingsBench bench;
  std::stop_source stop;
  bench.add(function("stops", [&](std::string_view input, const Call& call) -> Text {
    stop.request_stop();
    EXPECT_TRUE(call.stop.stop_requested());
    if (input == "1") return Cancelled{"stopped"};
    return Text("\"done\"");
  }));
  EXPECT_TRUE(bench.execute("stops", "1", "1", stop.get_token()).is_cancelled());
  EXPECT_EQ(bench.state("1").phase, journal::EffectPhase::cancelled);
  EXPECT_TRUE(bench.execute("stops", "1", "2", stop.get_token()).is_cancelled());
  EXPECT_EQ(bench.kinds(), "INTENT OUTCOME");
  stop = std::stop_source();
  EXPECT_EQ(bench.execute("stops", "2", "3", stop.get_token()).value(), "\"done\"");
  bench.add(function("sulks", [](std::string_view, const Call&) -> Text { return Cancelled{"no reason"}; }));
  EXPECT_TRUE(bench.execute("sulks", "1", "4").is_untyped()) << "nobody asked it to stop";
}

// EFF-1
TEST(Rings, MustAllBeThere) {
  const auto scheduler = Scheduler::create().value();
  const auto meter = std::make_shared<Meter>();
  const std::shared_ptr<journal::Store> store = journal::open_memory();
  EXPECT_FALSE(EffectRuntime::create({nullptr, scheduler, meter, store}).ok());
  EXPECT_FALSE(EffectRuntime::create({allow_all(), nullptr, meter, store}).ok());
  EXPECT_FALSE(EffectRuntime::create({allow_all(), scheduler, nullptr, store}).ok());
  EXPECT_FALSE(EffectRuntime::create({allow_all(), scheduler, meter, nullptr}).ok());
  EXPECT_FALSE(EffectRuntime::create({allow_all(), scheduler, meter, store}, {0ms, 1}).ok());
  EXPECT_TRUE(EffectRuntime::create({allow_all(), scheduler, meter, store}).ok());
}

}  // namespace
}  // namespace heddle::effect::testing

#include "heddle/effect/runtime/flow.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "bench_for_test.h"
#include "heddle/journal/core/facts.h"
#include "heddle/journal/memory/memory.h"

namespace heddle::effect::testing {
namespace {

using core::Errc;

struct Bench : RuntimeBench {
  explicit Bench(const Options& options = {}, std::shared_ptr<journal::Store> with = journal::open_memory())
      : RuntimeBench(options, std::move(with)) {}
};

// A bench whose journal can be made to fail, as it does for a process that dies at that append.
struct Mortal : Bench {
  Mortal() : Mortal(std::make_shared<FailingStore>(journal::open_memory())) {}
  explicit Mortal(const std::shared_ptr<FailingStore>& failing) : Bench({}, failing), disk(failing) {}
  std::shared_ptr<FailingStore> disk;

  /// Runs until `appends` more have gone through, then lets the journal take facts again.
  core::Result<FlowRun> run_for(int appends, std::function<Text(Flow&)> code) {
    disk->left = appends;
    auto run = Bench::run(std::move(code));
    disk->left = 1'000'000;
    return run;
  }
};

Text two_steps(Flow& flow) {
  const Text first = flow.ask("a", "1");
  if (!first.ok()) return first;
  const Text second = flow.ask("b", first.value());
  if (!second.ok()) return second;
  return Text("{\"end\":" + second.value() + "}");
}

// EFF-6: a flow that has ended gives what it gave, and nothing runs again, not even its code.
TEST(Flow, EndsOnce) {
  Bench bench;
  bench.add_echo("a");
  bench.add_echo("b");
  const FlowRun first = bench.run(two_steps).value();
  EXPECT_EQ(first.state, FlowState::ended);
  EXPECT_EQ(first.reply.value(), R"({"end":[[1]]})");
  EXPECT_EQ(first.ran, 2U);
  const std::size_t facts = bench.facts().size();
  const FlowRun second = bench.run([](Flow&) -> Text { return Cancelled{"must not run"}; }).value();
  EXPECT_EQ(second.reply.value(), R"({"end":[[1]]})");
  EXPECT_EQ(second.ran + second.replayed, 0U);
  EXPECT_EQ(bench.ran("a") + bench.ran("b"), 2);
  EXPECT_EQ(bench.facts().size(), facts);
}

// EFF-6, JRN-5: wherever the journal stops taking facts, what was recorded as done is not done again and comes back
// byte for byte; what was begun and is idempotent is done again.
TEST(Flow, GoesOnWhereItDied) {
  for (int appends = 0; appends <= 6; ++appends) {
    Mortal bench;
    bench.add_echo("a", Idempotency::idempotent);
    bench.add_echo("b", Idempotency::idempotent);
    const auto died = bench.run_for(appends, two_steps);
    ASSERT_EQ(died.ok(), appends == 6) << appends;  // started, 2 x (intent, outcome), ended
    if (!died.ok()) {
      EXPECT_EQ(died.error().code, Errc::exhausted);
    }
    const auto run = bench.run(two_steps);
    ASSERT_TRUE(run.ok()) << run.error().message();
    EXPECT_EQ(run.value().reply.value(), R"({"end":[[1]]})");
    EXPECT_EQ(run.value().replayed, appends < 3 ? 0U : appends < 5 ? 1U : appends == 5 ? 2U : 0U) << appends;
    EXPECT_EQ(bench.ran("a"), appends == 2 ? 2 : 1) << appends;
    EXPECT_EQ(bench.ran("b"), appends == 4 ? 2 : 1) << appends;
    EXPECT_EQ(bench.state("1").attempts, appends == 2 ? 2U : 1U) << appends;
  }
}

// EFF-6: an effect that is not idempotent, with an intent and no outcome, stops the flow until an operator has spoken.
TEST(Flow, StopsInDoubt) {
  Mortal bench;
  bench.add_echo("a");
  bench.add_echo("b");
  ASSERT_FALSE(bench.run_for(4, two_steps).ok());  // b has run; its outcome was lost
  for (int i = 0; i < 2; ++i) {
    const FlowRun run = bench
                            .run([](Flow& flow) {
                              const Text reply = two_steps(flow);
                              EXPECT_EQ(reply.typed().channel, kInDoubt);
                              EXPECT_TRUE(flow.ask("a", "7").is_cancelled()) << "the flow went on";
                              return Text("1");
                            })
                            .value();
    EXPECT_EQ(run.state, FlowState::in_doubt);
    EXPECT_EQ(run.reply.typed().channel, kInDoubt);
    EXPECT_EQ(run.reply.typed().detail_json, R"({"effect":"b","key":"2","attempt":1,"intent":4})");
    EXPECT_EQ(run.ran, 0U);
    EXPECT_EQ(bench.ran("b"), 1);
  }
  EXPECT_EQ(bench.state("2").phase, journal::EffectPhase::begun);
}

// EFF-6: what was begun as not idempotent stays in doubt, whatever today's code says of its effect; and the other way
// round. Only what was and is idempotent runs again.
TEST(Flow, BothThenAndNowMustSayThatItMayRunAgain) {
  const auto one_step = [](Flow& flow) { return flow.ask("a", "1"); };
  for (const Idempotency then : {Idempotency::idempotent, Idempotency::not_idempotent}) {
    for (const Idempotency now : {Idempotency::idempotent, Idempotency::not_idempotent}) {
      const std::shared_ptr<journal::Store> store = journal::open_memory();
      {
        Mortal bench(std::make_shared<FailingStore>(store));
        bench.add_echo("a", then);
        ASSERT_FALSE(bench.run_for(2, one_step).ok());  // its outcome was lost
        ASSERT_EQ(bench.ran("a"), 1);
      }
      Bench bench({}, store);
      bench.add_echo("a", now);
      const FlowRun run = bench.run(one_step).value();
      const bool again = then == Idempotency::idempotent && now == Idempotency::idempotent;
      EXPECT_EQ(run.state, again ? FlowState::ended : FlowState::in_doubt);
      EXPECT_EQ(bench.ran("a"), again ? 1 : 0);
    }
  }
}

// An effect whose annotations say which shape its inputs and outputs have.
class Shaped final : public Effect {
 public:
  explicit Shaped(std::string shape) : shape_(std::move(shape)) {}
  [[nodiscard]] std::string_view kind() const override { return "a"; }
  [[nodiscard]] std::span<const std::string_view> channels() const override { return {}; }
  [[nodiscard]] Idempotency idempotency() const override { return Idempotency::idempotent; }
  [[nodiscard]] Annotations annotations(std::string_view /*input_json*/) const override { return {{"shape", shape_}}; }
  [[nodiscard]] Text execute(std::string_view input_json, const Call& /*call*/) const override {
    return Text(std::string(input_json));
  }

 private:
  std::string shape_;
};

// EFF-6: the same input under another shape is another question: the flow stops before anything runs, and both are
// named.
TEST(Flow, NoticesThatTheShapeChanged) {
  const std::shared_ptr<journal::Store> store = journal::open_memory();
  const auto code = [](Flow& flow) { return flow.ask("a", "1"); };
  {
    Mortal bench(std::make_shared<FailingStore>(store));
    ASSERT_TRUE(bench.runtime->add(std::make_shared<Shaped>("sha256:aa")).ok());
    ASSERT_FALSE(bench.run_for(3, code).ok());  // it has ended, the flow has not
  }
  for (const char* const shape : {"sha256:bb", "sha256:aa"}) {
    Bench bench({}, store);
    ASSERT_TRUE(bench.runtime->add(std::make_shared<Shaped>(shape)).ok());
    const auto run = bench.run(code);
    ASSERT_EQ(run.ok(), shape == std::string("sha256:aa"));
    if (run.ok()) continue;
    EXPECT_EQ(run.error().code, Errc::invalid_argument);
    for (const char* const word : {"sha256:aa", "sha256:bb"}) {
      EXPECT_NE(run.error().message().find(word), std::string::npos) << run.error().message();
    }
  }
}

// A store whose facts have lost what they said, as a pruned journal's have.
class PrunedStore final : public journal::Store {
 public:
  explicit PrunedStore(std::shared_ptr<journal::Store> store) : store_(std::move(store)) {}
  core::Result<journal::Receipt> append(std::span<const journal::Draft> drafts, const journal::Wait& wait) override {
    return store_->append(drafts, wait);
  }
  core::Result<journal::Page> read(const journal::Query& query, const journal::Wait& wait) override {
    auto page = store_->read(query, wait);
    if (!page.ok()) return page;
    for (journal::Fact& fact : page.value().facts) {
      fact.pruned = true;
      fact.payload = "{}";
      fact.body.reset();
    }
    return page;
  }
  core::Result<journal::Page> follow(const journal::Query& query, const journal::Wait& wait) override {
    return read(query, wait);
  }
  core::Result<journal::Head> head(const journal::Wait& wait) override { return store_->head(wait); }
  core::Result<void> check_storage(const journal::Wait& wait) override { return store_->check_storage(wait); }

 private:
  std::shared_ptr<journal::Store> store_;
};

// EFF-6, JRN-11: what a flow did is not known any more once it is pruned, so it does not begin anew under its id.
TEST(Flow, DoesNotRunAgainWhenItWasPruned) {
  const std::shared_ptr<journal::Store> store = journal::open_memory();
  {
    Bench bench({}, store);
    bench.add_echo("a");
    bench.add_echo("b");
    ASSERT_TRUE(bench.run(two_steps).ok());
  }
  Bench bench({}, std::make_shared<PrunedStore>(store));
  bench.add_echo("a");
  bench.add_echo("b");
  const auto run = bench.run(two_steps);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, Errc::invalid_argument);
  EXPECT_NE(run.error().message().find("was pruned from the journal"), std::string::npos) << run.error().message();
  EXPECT_EQ(bench.ran("a") + bench.ran("b"), 0);
}

// EFF-6: each of the operator's verdicts.
TEST(Flow, GoesOnWhenItIsResolved) {
  const auto in_doubt = [](Mortal& bench) {
    bench.add_echo("a");
    bench.add_echo("b");
    ASSERT_FALSE(bench.run_for(4, two_steps).ok());
    ASSERT_EQ(bench.run(two_steps).value().state, FlowState::in_doubt);
  };
  {
    Mortal bench;
    in_doubt(bench);
    ASSERT_TRUE(resolve(*bench.store, "f", "2", {Verdict::Kind::done, "ops", "seen in the log", "\"mine\""}).ok());
    EXPECT_EQ(bench.run(two_steps).value().reply.value(), R"({"end":"mine"})");
    EXPECT_EQ(bench.ran("b"), 1);
  }
  {
    Mortal bench;
    in_doubt(bench);
    ASSERT_TRUE(resolve(*bench.store, "f", "2", {Verdict::Kind::failed, "ops", "it is not there", {}}).ok());
    const FlowRun run = bench.run(two_steps).value();
    EXPECT_EQ(run.reply.typed().channel, kResolvedAsFailed);
    EXPECT_EQ(run.reply.typed().detail_json, R"({"by":"ops","reason":"it is not there"})");
    EXPECT_EQ(bench.ran("b"), 1);
  }
  {
    Mortal bench;
    in_doubt(bench);
    ASSERT_TRUE(resolve(*bench.store, "f", "2", {Verdict::Kind::run_again, "ops", "it was not done", {}}).ok());
    EXPECT_EQ(bench.run(two_steps).value().reply.value(), R"({"end":[[1]]})");
    EXPECT_EQ(bench.ran("b"), 2);
    EXPECT_EQ(bench.state("2").attempts, 2U);
  }
  Mortal bench;
  in_doubt(bench);
  EXPECT_EQ(resolve(*bench.store, "f", "1", {}).error().code, Errc::invalid_argument);
  EXPECT_EQ(resolve(*bench.store, "f", "9", {}).error().code, Errc::not_found);
}

// EFF-6: whatever else the journal has, every reply is what it was: denied, failed, with its message and details.
TEST(Flow, GivesEveryKindOfReplyAgain) {
  Options options;
  options.authorizer = std::make_shared<RuleAuthorizer>(
      std::vector<Rule>{{"no mail", "mail", "*", {}, Rule::Verdict::deny, "it \"must\" not"},
                        {"rest", "*", "*", {}, Rule::Verdict::allow, ""}});
  const auto disk = std::make_shared<FailingStore>(journal::open_memory());
  Bench bench(options, disk);
  bench.add_echo("mail");
  bench.add_echo("last");
  FunctionEffect fails;
  fails.kind = "fails";
  fails.channels = {"tooBad"};
  fails.run = [](std::string_view, const Call&) -> Text {
    return TypedFailure{"tooBad", R"({ "how":"\u0000" })", "line\none \"\xE2\x82\xAC\""};
  };
  bench.add(fails);
  bench.add("breaks", Idempotency::not_idempotent,
            [](std::string_view) -> Text { return untyped("broken\\", Retry::no); });
  std::vector<Text> first;
  std::vector<Text> second;
  const auto code = [](std::vector<Text>& replies) {
    return [&replies](Flow& flow) {
      replies.clear();
      for (const char* kind : {"mail", "fails", "breaks"}) replies.push_back(flow.ask(kind, "1"));
      return flow.ask("last", "2");
    };
  };
  disk->left = 6;  // dies before `last` has an intent
  ASSERT_FALSE(bench.run(code(first)).ok());
  disk->left = 1'000'000;
  ASSERT_TRUE(bench.run(code(second)).ok());
  ASSERT_EQ(first.size(), 3U);
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_EQ(first[i].typed().channel, second[i].typed().channel);
    EXPECT_EQ(first[i].typed().detail_json, second[i].typed().detail_json);
    EXPECT_EQ(first[i].typed().message, second[i].typed().message);
  }
  EXPECT_EQ(first[0].typed().detail_json, R"({"rule":"no mail","reason":"it \"must\" not"})");
  EXPECT_EQ(first[2].untyped().message, second[2].untyped().message);
  EXPECT_EQ(bench.ran("mail"), 0);
  EXPECT_EQ(bench.ran("fails"), 1);
  EXPECT_EQ(bench.ran("breaks"), 1);
}

// EFF-6: code that does not ask what the journal has is stopped before it does anything, and both are named.
TEST(Flow, NamesBothSidesWhenTheCodeChanged) {
  Mortal bench;
  for (const char* kind : {"a", "b", "c"}) bench.add_echo(kind);
  ASSERT_FALSE(bench.run_for(5, two_steps).ok());
  struct Case {
    const char* what;
    std::function<Text(Flow&)> code;
    std::vector<std::string> named;
  };
  const std::vector<Case> cases{
      {"another effect",
       [](Flow& flow) { return flow.ask("c", "1"); },
       {"effect 1", "a with the input 1 (fact 2)", "asks for c with the input 1"}},
      {"another input",
       [](Flow& flow) { return flow.ask("a", "[2]"); },
       {"effect 1", "a with the input 1", "asks for a with the input [2]"}},
      {"one step less",
       [](Flow& flow) { return flow.ask("a", "1"); },
       {"effect 2", "b with the input [1] (fact 4)", "ends without asking for it"}},
      {"side by side",
       [](Flow& flow) {
         return flow.ask_together(std::vector<Ask>{{"a", "1", {}}, {"c", "1", {}}}).front();
       },
       {"effect 1", "a with the input 1", "2 branches side by side"}},
  };
  for (const Case& one : cases) {
    const auto run = bench.run(one.code);
    ASSERT_FALSE(run.ok()) << one.what;
    EXPECT_EQ(run.error().code, Errc::invalid_argument);
    const std::string message = run.error().message();
    for (const std::string& name : one.named)
      EXPECT_NE(message.find(name), std::string::npos) << one.what << ": " << message;
  }
  EXPECT_EQ(bench.ran("c"), 0);
  const auto other = run_flow(*bench.runtime, {"f", "test", "[]", two_steps});
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message().find("the input null"), std::string::npos) << other.error().message();
  EXPECT_NE(other.error().message().find("the input []"), std::string::npos) << other.error().message();
  EXPECT_TRUE(bench.run(two_steps).ok()) << "the code that began it still goes on";
}

// An effect whose word on itself a test chooses, as code that was changed between two runs has another one.
class Edited final : public Effect {
 public:
  struct Word {
    Idempotency idempotency = Idempotency::not_idempotent;
    std::string shape_hash = "one";
    std::atomic<int> runs{0};
  };
  explicit Edited(std::shared_ptr<Word> word) : word_(std::move(word)) {}
  [[nodiscard]] std::string_view kind() const override { return "b"; }
  [[nodiscard]] std::span<const std::string_view> channels() const override { return {}; }
  [[nodiscard]] Idempotency idempotency() const override { return word_->idempotency; }
  [[nodiscard]] Annotations annotations(std::string_view /*input*/) const override {
    return {{"shapeHash", word_->shape_hash}};
  }
  [[nodiscard]] Text execute(std::string_view input, const Call& /*call*/) const override {
    ++word_->runs;
    return Text(std::string(input));
  }

 private:
  const std::shared_ptr<Word> word_;
};

struct EditedBench : Mortal {
  EditedBench() {
    add_echo("a");
    EXPECT_TRUE(runtime->add(std::make_shared<Edited>(word)).ok());
  }
  std::shared_ptr<Edited::Word> word = std::make_shared<Edited::Word>();
};

// EFF-6: what counts is what the effect said when it was begun: begun as one that must not happen twice, it is in doubt
// though today's code calls it idempotent; and what today's code does not call so is in doubt though it was begun so.
TEST(Flow, BelievesTheIntentOfWhetherAnEffectMayRunAgain) {
  struct Case {
    Idempotency begun, today;
    FlowState state;
  };
  for (const Case& one : {Case{Idempotency::not_idempotent, Idempotency::idempotent, FlowState::in_doubt},
                          Case{Idempotency::idempotent, Idempotency::not_idempotent, FlowState::in_doubt},
                          Case{Idempotency::idempotent, Idempotency::idempotent, FlowState::ended}}) {
    EditedBench bench;
    bench.word->idempotency = one.begun;
    ASSERT_FALSE(bench.run_for(4, two_steps).ok());  // b has run; its outcome was lost
    EXPECT_EQ(bench.word->runs, 1);
    bench.word->idempotency = one.today;
    const FlowRun again = bench.run(two_steps).value();
    EXPECT_EQ(again.state, one.state);
    EXPECT_EQ(bench.word->runs, one.state == FlowState::ended ? 2 : 1);
  }
}

// SBX-14, EFF-6: the same effect with the same input, but under another shape, is another effect; with the stored
// outcome, and with none.
TEST(Flow, NoticesAnotherShapeOnReplay) {
  for (const int appends : {4, 5}) {
    EditedBench bench;
    bench.word->idempotency = Idempotency::idempotent;
    ASSERT_FALSE(bench.run_for(appends, two_steps).ok());
    bench.word->shape_hash = "two";
    const auto changed = bench.run(two_steps);
    ASSERT_FALSE(changed.ok()) << appends;
    EXPECT_EQ(changed.error().code, Errc::invalid_argument);
    const std::string message = changed.error().message();
    EXPECT_NE(message.find(R"({"shapeHash":"one"})"), std::string::npos) << message;
    EXPECT_NE(message.find(R"({"shapeHash":"two"})"), std::string::npos) << message;
    EXPECT_EQ(bench.word->runs, 1);
    bench.word->shape_hash = "one";
    EXPECT_EQ(bench.run(two_steps).value().reply.value(), R"({"end":[1]})") << "the control";
  }
}

Text fan_out(Flow& flow) {
  std::vector<Ask> asks;
  for (int i = 0; i < 8; ++i) asks.push_back({"a", std::to_string(i), {}});
  std::string all = "[";
  for (const Text& reply : flow.ask_together(asks, 4)) {
    if (!reply.ok()) return reply;
    all += (all.size() > 1 ? "," : "") + reply.value();
  }
  return flow.ask("b", all + "]");
}

// EFF-6: side by side, each effect has a place of its own, in whatever order they end.
TEST(Flow, RunsSideBySideAndReplays) {
  for (const int appends : {3, 7, 12, 17, 18}) {
    Mortal bench;
    bench.add_echo("a", Idempotency::idempotent);
    bench.add_echo("b", Idempotency::idempotent);
    const auto died = bench.run_for(appends, fan_out);
    ASSERT_FALSE(died.ok());
    const auto before = journal::replay(*bench.store, "f", journal::From::start).value().flows.at("f");
    int done = 0;
    for (const auto& [key, effect] : before.effects) done += effect.phase == journal::EffectPhase::succeeded ? 1 : 0;
    const int ran = bench.ran("a") + bench.ran("b");
    const FlowRun run = bench.run(fan_out).value();
    EXPECT_EQ(run.reply.value(), "[[[0],[1],[2],[3],[4],[5],[6],[7]]]");
    EXPECT_EQ(run.replayed, static_cast<std::uint64_t>(done)) << appends;
    EXPECT_EQ(bench.ran("a") + bench.ran("b") - ran, 9 - done) << appends;
  }
}

// EFF-6: branches have sequences of their own; one that is gone, or has become a single effect, is noticed.
TEST(Flow, BranchesHaveKeysOfTheirOwn) {
  const auto branch = [](Flow& flow) {
    const Text first = flow.ask("a", "1");
    if (first.ok()) static_cast<void>(flow.ask("b", first.value()));
  };
  const auto code = [branch](std::size_t count) {
    return [branch, count](Flow& flow) {
      flow.together(std::vector<std::function<void(Flow&)>>(count, branch));
      return flow.ask("a", "9");
    };
  };
  Mortal bench;
  bench.add_echo("a", Idempotency::idempotent);
  bench.add_echo("b", Idempotency::idempotent);
  ASSERT_FALSE(bench.run_for(13, code(3)).ok());  // all branches are done, the last effect is not
  EXPECT_EQ(bench.state("1.3.2").phase, journal::EffectPhase::succeeded);
  const auto fewer = bench.run(code(2));
  ASSERT_FALSE(fewer.ok());
  EXPECT_NE(fewer.error().message().find("in branch 3"), std::string::npos) << fewer.error().message();
  const auto single = bench.run([](Flow& flow) { return flow.ask("a", "1"); });
  ASSERT_FALSE(single.ok());
  EXPECT_NE(single.error().message().find("branches side by side"), std::string::npos) << single.error().message();
  const FlowRun run = bench.run(code(3)).value();
  EXPECT_EQ(run.replayed, 6U);
  EXPECT_EQ(run.reply.value(), "[9]");
}

// EFF-6: only effects that declare themselves idempotent are tried again, with the same key, and only as often as
// asked.
TEST(Flow, TriesAgainWhatMayPass) {
  Bench bench;
  std::vector<std::string> keys;
  for (const auto idempotency : {Idempotency::idempotent, Idempotency::not_idempotent}) {
    FunctionEffect flaky;
    flaky.kind = idempotency == Idempotency::idempotent ? "flaky" : "once";
    flaky.idempotency = idempotency;
    flaky.run = [&keys](std::string_view, const Call& call) -> Text {
      keys.push_back(call.idempotency_key);
      if (keys.size() < 3) return untyped("busy", Retry::yes);
      return Text("1");
    };
    bench.add(flaky);
  }
  AskOptions options;
  options.attempts = 4;
  options.backoff = 1ms;
  const FlowRun run = bench.run([&](Flow& flow) { return flow.ask("flaky", "1", options); }).value();
  EXPECT_EQ(run.reply.value(), "1");
  EXPECT_EQ(keys, (std::vector<std::string>(3, "f/1")));
  EXPECT_EQ(bench.state("1").attempts, 3U);
  keys.clear();
  const auto once =
      run_flow(*bench.runtime, {"g", "test", "1", [&](Flow& flow) { return flow.ask("once", "1", options); }});
  EXPECT_TRUE(once.value().reply.is_untyped());
  EXPECT_EQ(keys.size(), 1U);
  keys.clear();
  options.attempts = 2;
  const FlowSpec twice{"h", "test", "1", [&](Flow& flow) { return flow.ask("flaky", "1", options); }};
  EXPECT_TRUE(run_flow(*bench.runtime, twice).value().reply.is_untyped());
  EXPECT_EQ(keys.size(), 2U);
  // It ended with an untyped failure that may pass, so the same call goes on with it.
  EXPECT_EQ(run_flow(*bench.runtime, twice).value().reply.value(), "1");
  EXPECT_EQ(keys.size(), 3U);
}

// EFF-6: a failure that the flow has already gone past stays what it was.
TEST(Flow, KeepsAFailureThatItWentPast) {
  Mortal bench;
  std::atomic<bool> busy{true};
  bench.add("flaky", Idempotency::idempotent, [&](std::string_view) -> Text {
    if (busy) return untyped("busy", Retry::yes);
    return Text("1");
  });
  bench.add_echo("b");
  const auto code = [](Flow& flow) {
    const Text first = flow.ask("flaky", "1");
    return flow.ask("b", first.ok() ? "true" : "false");
  };
  ASSERT_FALSE(bench.run_for(5, code).ok());  // dies before FLOW_ENDED
  busy = false;
  EXPECT_EQ(bench.run(code).value().reply.value(), "[false]");
  EXPECT_EQ(bench.ran("flaky"), 1);
}

// EFF-7: a stop reaches the effect, ends the flow as cancelled, and the same call goes on with it.
TEST(Flow, IsStoppedAndGoesOn) {
  Bench bench;
  std::stop_source stop;
  std::atomic<bool> patient{true};
  FunctionEffect waits;
  waits.kind = "waits";
  waits.idempotency = Idempotency::idempotent;
  waits.run = [&](std::string_view, const Call& call) -> Text {
    if (patient) {
      stop.request_stop();
      while (!call.stop.stop_requested()) std::this_thread::yield();
      return Cancelled{"gave up"};
    }
    return Text("2");
  };
  bench.add(waits);
  bench.add_echo("a");
  const auto code = [](Flow& flow) {
    static_cast<void>(flow.ask("a", "1"));
    const Text reply = flow.ask("waits", "1");
    if (reply.is_cancelled()) {
      EXPECT_TRUE(flow.ask("a", "5").is_cancelled());
    }
    return reply;
  };
  const FlowRun stopped = bench.run(code, stop.get_token()).value();
  EXPECT_EQ(stopped.state, FlowState::cancelled);
  EXPECT_TRUE(stopped.reply.is_cancelled());
  EXPECT_EQ(bench.state("2").phase, journal::EffectPhase::cancelled);
  patient = false;
  const FlowRun again = bench.run(code).value();
  EXPECT_EQ(again.state, FlowState::ended);
  EXPECT_EQ(again.reply.value(), "2");
  EXPECT_EQ(bench.ran("a"), 1);
}

// EFF-5: what a flow used before it died counts when it goes on.
TEST(Flow, KeepsItsBudgetOverADeath) {
  Options options;
  options.budget.calls = 3;
  options.prices["a"] = Price{5, 0, 0};
  const auto disk = std::make_shared<FailingStore>(journal::open_memory());
  Bench bench(options, disk);
  bench.add_echo("a", Idempotency::idempotent);
  const auto code = [](Flow& flow) -> Text {
    for (int i = 0; i < 5; ++i) {
      const Text reply = flow.ask("a", "1");
      if (!reply.ok()) return reply;
    }
    return Text("1");
  };
  disk->left = 4;  // the second call is begun and not recorded as done: it is made again, and both count
  ASSERT_FALSE(bench.run(code).ok());
  disk->left = 1'000'000;
  const FlowRun run = bench.run(code).value();
  EXPECT_EQ(run.reply.typed().channel, kBudgetExceeded);
  EXPECT_EQ(bench.ran("a"), 3);
  EXPECT_EQ(bench.state("3").phase, journal::EffectPhase::failed);
}

// EFF-6: two runs of one flow; the later one owns it, and the earlier one does nothing more.
TEST(Flow, IsTakenOverByALaterRun) {
  Bench first;
  Bench second({}, first.store);  // as another process on the same journal
  for (Bench* bench : {&first, &second}) {
    bench->add_echo("a", Idempotency::idempotent);
    bench->add_echo("b", Idempotency::idempotent);
  }
  const auto run = first.run([&](Flow& flow) {
    const Text reply = flow.ask("a", "1");
    EXPECT_EQ(second.run(two_steps).value().reply.value(), R"({"end":[[1]]})");
    return flow.ask("b", reply.value());
  });
  ASSERT_FALSE(run.ok());
  EXPECT_NE(run.error().message().find("another run has taken it up"), std::string::npos) << run.error().message();
  EXPECT_EQ(first.ran("b"), 0);
  EXPECT_EQ(second.ran("a"), 0);
  EXPECT_EQ(second.ran("b"), 1);
  EXPECT_EQ(first.run(two_steps).value().reply.value(), R"({"end":[[1]]})") << "its left-over intent changes nothing";
  EXPECT_EQ(first.ran("b"), 0);
}

// EFF-6
TEST(Flow, RunsOnceAtATimeInOneProcess) {
  Bench bench;
  bench.add_echo("a");
  const FlowRun run = bench
                          .run([&](Flow& flow) {
                            EXPECT_EQ(bench.run(two_steps).error().code, Errc::invalid_argument);
                            return flow.ask("a", "1");
                          })
                          .value();
  EXPECT_EQ(run.reply.value(), "[1]");
}

// EFF-1: what the code returns is how the flow ends; what it throws is an untyped failure.
TEST(Flow, EndsAsItsCodeSays) {
  Bench bench;
  const auto run = [&](const std::string& id, std::function<Text(Flow&)> code) {
    const FlowSpec spec{id, "test", "null", std::move(code)};
    Text reply = run_flow(*bench.runtime, spec).value().reply;
    const auto state = journal::replay(*bench.store, id, journal::From::start).value().flows.at(id);
    return std::pair(std::move(reply), *state.ending);
  };
  auto failed = run("typed", [](Flow&) -> Text { return TypedFailure{"noRows", R"({"rows":0})", "none"}; });
  EXPECT_EQ(failed.second, journal::Ending::failure);
  failed = run("typed", [](Flow&) -> Text { return Text("1"); });
  EXPECT_EQ(failed.first.typed().channel, "noRows");
  EXPECT_EQ(failed.first.typed().detail_json, R"({"rows":0})");
  const auto threw = run("throws", [](Flow&) -> Text { throw std::runtime_error("oh no"); });
  EXPECT_EQ(threw.second, journal::Ending::error);
  EXPECT_NE(threw.first.untyped().message.find("oh no"), std::string::npos);
  EXPECT_EQ(run("throws", [](Flow&) { return Text("3"); }).first.value(), "3") << "it can go on";
  EXPECT_EQ(run("junk", [](Flow&) { return Text("{"); }).second, journal::Ending::error);
  bench.add_echo("a");
  const auto branch = run("branch", [](Flow& flow) -> Text {
    flow.together(std::vector<std::function<void(Flow&)>>{[](Flow&) { throw 1; }});
    return Text("1");
  });
  EXPECT_TRUE(branch.first.is_untyped());
  EXPECT_EQ(run_flow(*bench.runtime, {"", "test", "1", two_steps}).error().code, Errc::invalid_argument);
  EXPECT_EQ(run_flow(*bench.runtime, {"x", "te\"st", "1", two_steps}).error().code, Errc::invalid_argument);
}

}  // namespace
}  // namespace heddle::effect::testing

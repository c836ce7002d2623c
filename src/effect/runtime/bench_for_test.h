// What the tests of the runtime stand on: a runtime over a journal, and effects that count.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/core/json.h"
#include "heddle/effect/runtime/flow.h"
#include "heddle/effect/runtime/function_effect.h"
#include "heddle/effect/runtime/policy.h"
#include "heddle/journal/core/replay.h"

namespace heddle::effect::testing {

using Text = Reply<std::string>;
using namespace std::chrono_literals;

inline std::shared_ptr<const Authorizer> allow_all() {
  return std::make_shared<CallbackAuthorizer>([](const Request& /*request*/) { return Decision::allow(); });
}

struct Options {
  std::shared_ptr<const Authorizer> authorizer = allow_all();
  ScheduleLimits schedule;
  Budget budget;
  Prices prices;
  RuntimeOptions runtime;
};

class RuntimeBench {
 public:
  RuntimeBench(const Options& options, std::shared_ptr<journal::Store> with)
      : store(std::move(with)),
        scheduler(Scheduler::create(options.schedule).value()),
        meter(std::make_shared<Meter>(options.budget, options.prices)),
        runtime(EffectRuntime::create({options.authorizer, scheduler, meter, store}, options.runtime).value()) {}

  /// Adds an effect that counts its runs in `runs[kind]`.
  void add(FunctionEffect function) {
    auto count = std::make_shared<std::atomic<int>>(0);
    runs[function.kind] = count;
    function.run = [count, inner = std::move(function.run)](std::string_view input, const Call& call) {
      ++*count;
      return inner(input, call);
    };
    const auto added = runtime->add(make_effect(std::move(function)));
    ASSERT_TRUE(added.ok()) << added.error().message();
  }
  void add(const std::string& kind, Idempotency idempotency, std::function<Text(std::string_view)> run) {
    FunctionEffect function;
    function.kind = kind;
    function.idempotency = idempotency;
    function.run = [inner = std::move(run)](std::string_view input, const Call& /*call*/) { return inner(input); };
    add(std::move(function));
  }
  void add_echo(const std::string& kind, Idempotency idempotency = Idempotency::not_idempotent) {
    add(kind, idempotency, [](std::string_view input) { return Text("[" + std::string(input) + "]"); });
  }

  [[nodiscard]] int ran(const std::string& kind) const { return runs.at(kind)->load(); }

  Text execute(std::string_view effect, std::string_view input, std::string_view key = "1",
               const std::stop_token& stop = {}, core::Deadline deadline = core::Deadline::never()) {
    return runtime->execute({"f", key, effect, input, 1}, stop, deadline);
  }

  core::Result<FlowRun> run(std::function<Text(Flow&)> code, const std::stop_token& stop = {},
                            const std::string& input = "null") {
    return run_flow(*runtime, FlowSpec{"f", "test", input, std::move(code)}, stop);
  }

  [[nodiscard]] std::vector<journal::Fact> facts() const { return store->read({}, {}).value().facts; }
  /// "INTENT OUTCOME": the kinds in the journal, apart from the flow's own.
  [[nodiscard]] std::string kinds() const {
    std::string text;
    for (const journal::Fact& fact : facts()) {
      if (fact.kind == journal::Kind::flow_started || fact.kind == journal::Kind::flow_ended) continue;
      if (!text.empty()) text += ' ';
      text += fact.kind_text;
    }
    return text;
  }
  [[nodiscard]] journal::EffectState state(const std::string& key = "1") const {
    return journal::replay(*store, "f", journal::From::start).value().flows.at("f").effects.at(key);
  }

  std::map<std::string, std::shared_ptr<std::atomic<int>>> runs;
  std::shared_ptr<journal::Store> store;
  std::shared_ptr<Scheduler> scheduler;
  std::shared_ptr<Meter> meter;
  std::unique_ptr<EffectRuntime> runtime;
};

/// A store that stops taking facts, as a disk that is full does: after `left` more appends each gives an error.
class FailingStore final : public journal::Store {
 public:
  explicit FailingStore(std::shared_ptr<journal::Store> store) : store_(std::move(store)) {}
  std::atomic<int> left{1'000'000};

  core::Result<journal::Receipt> append(std::span<const journal::Draft> drafts, const journal::Wait& wait) override {
    if (left-- <= 0) return core::make_error(core::Errc::exhausted, "append to the journal", "the disk is full");
    return store_->append(drafts, wait);
  }
  core::Result<journal::Page> read(const journal::Query& query, const journal::Wait& wait) override {
    return store_->read(query, wait);
  }
  core::Result<journal::Page> follow(const journal::Query& query, const journal::Wait& wait) override {
    return store_->follow(query, wait);
  }
  core::Result<journal::Head> head(const journal::Wait& wait) override { return store_->head(wait); }
  core::Result<void> check_storage(const journal::Wait& wait) override { return store_->check_storage(wait); }

 private:
  std::shared_ptr<journal::Store> store_;
};

}  // namespace heddle::effect::testing

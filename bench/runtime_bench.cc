// ./dev bench: what the runtime costs around an effect that is not isolated (64 bytes of input, no schema, a journal in
// memory), beside the same handler called directly.
#include <cstdio>
#include <memory>
#include <string>

#include "heddle/effect/runtime/flow.h"
#include "heddle/effect/runtime/function_effect.h"
#include "heddle/journal/memory/memory.h"
#include "sample.h"

namespace heddle::bench {
namespace {

using effect::Reply;

constexpr int kRounds = 20'000;
constexpr const char* kInput = R"({"rows":[{"id":1,"name":"warp"},{"id":2,"name":"weft"}],"at":10})";

class Direct final : public effect::Executor {
 public:
  [[nodiscard]] Reply<std::string> execute(const effect::Effect& effect, std::string_view input,
                                           const effect::Call& call) override {
    return effect.execute(input, call);
  }
};

effect::FunctionEffect handler(const char* kind) {
  effect::FunctionEffect function;
  function.kind = kind;
  function.run = [](std::string_view input, const effect::Call& /*call*/) -> Reply<std::string> {
    return std::string(input);
  };
  return function;
}

std::unique_ptr<effect::EffectRuntime> make_runtime() {
  const auto allow = std::make_shared<effect::RuleAuthorizer>(
      std::vector<effect::Rule>{{"all", "*", "*", {}, effect::Rule::Verdict::allow, {}}});
  auto runtime = effect::EffectRuntime::create({allow, effect::Scheduler::create().value(),
                                                std::make_shared<effect::Meter>(), journal::open_memory()})
                     .value();
  if (!runtime->add(effect::make_effect(handler("plain"))).ok()) return nullptr;
  if (!runtime->add(effect::make_effect(handler("bound")), std::make_shared<Direct>()).ok()) return nullptr;
  return runtime;
}

int run() {
  const auto runtime = make_runtime();
  const auto plain = effect::make_effect(handler("plain"));
  Sample direct("the handler, called directly");
  Sample executed("the same through EffectRuntime::execute");
  Sample bound("the same, bound to an executor that only calls it");
  Sample asked("the same, asked for by a flow");
  bool good = runtime != nullptr;
  if (!good) return 1;
  for (int i = 0; i < kRounds; ++i) {
    const std::string key = std::to_string(i);
    direct.time([&] { good = good && plain->execute(kInput, {}).ok(); });
    executed.time([&] { good = good && runtime->execute({"f", key, "plain", kInput, 1}).ok(); });
    bound.time([&] { good = good && runtime->execute({"f", key, "bound", kInput, 1}).ok(); });
  }
  const effect::FlowSpec spec{"bench", "bench", "null", [&](effect::Flow& flow) -> Reply<std::string> {
                                for (int i = 0; i < kRounds; ++i) {
                                  asked.time([&] { good = good && flow.ask("plain", kInput).ok(); });
                                }
                                return std::string("null");
                              }};
  if (!effect::run_flow(*runtime, spec).ok() || !good) {
    (void)std::fputs("bench: an effect gave no value\n", stderr);
    return 1;
  }
  print_heading();
  print_row(direct);
  print_row(executed, direct);
  print_row(bound, executed);
  print_row(asked, direct);
  std::printf("The runtime costs %.2f us over the direct call (p50), the target being under 2.\n",
              executed.percentile(50) - direct.percentile(50));
  return 0;
}

}  // namespace
}  // namespace heddle::bench

int main() { return heddle::bench::run(); }

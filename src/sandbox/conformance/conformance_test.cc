#include "heddle/sandbox/conformance/conformance.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "heddle/sandbox/spi/pending.h"
#include "model_engine.h"

namespace heddle::sandbox::conformance {
namespace {

using std::chrono::milliseconds;

Options quick() {
  Options options;
  options.case_timeout = milliseconds(3'000);
  options.runaway_clock = milliseconds(50);
  return options;
}

std::set<std::string> with_status(const Report& report, CaseStatus status) {
  std::set<std::string> names;
  for (const CaseResult& result : report.cases) {
    if (result.status == status) names.emplace(case_name(result.id));
  }
  return names;
}

using Names = std::set<std::string>;

Report run(Break broken, const Options& options = quick()) {
  return run_sandbox_backend_conformance(model_factory({broken, best_declaration()}), &model_fixtures(), options)
      .value();
}

// CNF-1, CNF-2: a backend that does what it says passes every case.
TEST(Conformance, PassesAGoodBackend) {
  const Report report = run(Break::nothing);
  EXPECT_TRUE(report.passed()) << to_text(report);
  EXPECT_EQ(report.cases.size(), 12U);
  EXPECT_EQ(with_status(report, CaseStatus::passed).size(), 12U) << to_text(report);
}

struct Fault {
  Break broken;
  const char* fails;
};
class BrokenBackend : public testing::TestWithParam<Fault> {};

// CNF-3, CNF-6: each fault, each lie about a capability among them, fails its case and no other.
TEST_P(BrokenBackend, FailsItsCaseAlone) {
  const Report report = run(GetParam().broken);
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(with_status(report, CaseStatus::failed), Names{GetParam().fails}) << to_text(report);
  EXPECT_EQ(with_status(report, CaseStatus::passed).size(), 11U) << to_text(report);
}

INSTANTIATE_TEST_SUITE_P(
    Each, BrokenBackend,
    testing::Values(Fault{Break::loses_empty_lists, "echo"}, Fault{Break::loses_the_message, "throw"},
                    Fault{Break::no_known_kind, "throw"}, Fault{Break::throws_typed_failure, "throw"},
                    Fault{Break::syntax_is_the_hosts, "syntax error"},
                    Fault{Break::clock_is_an_exception, "runaway loop"}, Fault{Break::never_comes_back, "runaway loop"},
                    Fault{Break::cpu_is_a_lie, "cpu budget"}, Fault{Break::memory_is_a_lie, "allocation bomb"},
                    Fault{Break::memory_is_an_exception, "allocation bomb"},
                    Fault{Break::rounds_integers, "rich value"}, Fault{Break::mangles_unicode, "rich value"},
                    Fault{Break::leaks_a_host_object, "no network, no escape"},
                    Fault{Break::leaks_the_network, "no network, no escape"},
                    Fault{Break::pools_contexts, "fresh per run"}, Fault{Break::shares_under_load, "fresh per run"},
                    Fault{Break::ignores_the_stop, "aborted mid-run"}));

// CNF-6: the two cases that check the effect are checked with broken effects.
TEST(Conformance, FailsAnEffectThatIgnoresAnEarlierStop) {
  Options options = quick();
  options.evaluate = [](const SandboxEffect& effect, const SandboxEvalInput& input, const std::stop_token& stop) {
    return effect.evaluate(input, stop.stop_requested() ? std::stop_token() : stop);
  };
  const Report report = run(Break::nothing, options);
  EXPECT_EQ(with_status(report, CaseStatus::failed), Names{"already aborted"}) << to_text(report);
}

TEST(Conformance, FailsAnEffectThatDoesNotBoundMessages) {
  for (const std::string& message : {std::string(2049, 'x'), std::string("\xED\xA0\x80"), std::string(1, '\0')}) {
    Options options = quick();
    options.evaluate = [&](const SandboxEffect& effect, const SandboxEvalInput& input, const std::stop_token& stop) {
      auto reply = effect.evaluate(input, stop);
      if (!reply.is_typed() || reply.typed().message.size() < 100) return reply;
      SandboxFailure failure = reply.typed();
      failure.message = message;
      return SandboxEffect::Reply(failure);
    };
    const Report report = run(Break::nothing, options);
    EXPECT_EQ(with_status(report, CaseStatus::failed), Names{"composition"}) << to_text(report);
  }
}

// CNF-3, CNF-5: with the worst declaration the gated cases are skipped with their reasons, and the effect accepts the
// backend; the faults that they would find are then no failures.
TEST(Conformance, SkipsWhatIsNotDeclared) {
  spi::Capabilities worst;
  worst.language = "model";
  for (const Break broken : {Break::nothing, Break::memory_is_a_lie, Break::leaks_a_host_object, Break::pools_contexts,
                             Break::ignores_the_stop, Break::cpu_is_a_lie}) {
    const Report report =
        run_sandbox_backend_conformance(model_factory({broken, worst}), &model_fixtures(), quick()).value();
    EXPECT_TRUE(report.passed()) << to_text(report);
    EXPECT_EQ(with_status(report, CaseStatus::skipped),
              (Names{"cpu budget", "allocation bomb", "no network, no escape", "fresh per run", "aborted mid-run"}));
    for (const CaseResult& result : report.cases) EXPECT_EQ(result.reason.empty(), result.status == CaseStatus::passed);
  }
}

// CNF-4: no scripts of another language's, no vacuous pass.
TEST(Conformance, RefusesALanguageWithoutFixtures) {
  const auto factory = model_factory({Break::nothing, best_declaration()});
  const auto none = run_sandbox_backend_conformance(factory, nullptr, quick());
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().context.find("fixtures"), std::string::npos);
  EXPECT_FALSE(run_sandbox_backend_conformance(factory, &javascript_fixtures(), quick()).ok());
}

TEST(Conformance, RefusesWhereThereIsNothingToReportOn) {
  EXPECT_FALSE(run_sandbox_backend_conformance([] { return nullptr; }, nullptr, quick()).ok());
  EXPECT_FALSE(
      run_sandbox_backend_conformance([]() -> std::shared_ptr<spi::SandboxBackend> { throw 1; }, nullptr, quick())
          .ok());
  spi::Capabilities nonsense = best_declaration();
  nonsense.network = static_cast<spi::Network>(0);
  EXPECT_FALSE(
      run_sandbox_backend_conformance(model_factory({Break::nothing, nonsense}), &model_fixtures(), quick()).ok());
}

class Blocked final : public spi::SandboxBackend {
 public:
  [[nodiscard]] spi::Capabilities capabilities() const override { return best_declaration(); }
  [[nodiscard]] std::unique_ptr<spi::Evaluation> evaluate(spi::Request request) override {
    while (!request.stop.stop_requested() && !released) std::this_thread::sleep_for(milliseconds(1));
    return spi::ready(spi::Outcome::infrastructure("late"));
  }
  static inline std::atomic<bool> released{false};
};

// CNF-1: a backend that blocks where it must not cannot keep the kit.
TEST(Conformance, EndsThoughABackendDoesNot) {
  Options options = quick();
  options.case_timeout = milliseconds(50);
  const auto report =
      run_sandbox_backend_conformance([] { return std::make_shared<Blocked>(); }, &model_fixtures(), options);
  Blocked::released = true;
  EXPECT_FALSE(report.value().passed());
  EXPECT_EQ(report.value().cases.front().reason, "it did not end within 50 ms");
  std::this_thread::sleep_for(milliseconds(200));  // the cases' threads leave before the process does
}

// CNF-4
TEST(Fixtures, AreReadFromJson) {
  const std::string good =
      R"({"language":"python","echo":"a","throws":"b","thrown_message":"c","syntax_error":"d","runaway":"e",)"
      R"("allocation_bomb":"f","rich_value":"g","rich_built":{"x":1},"probes":{"p":"q"},"stateful":"h","throws_vast":"i"})";
  const Fixtures fixtures = parse_fixtures(good).value();
  EXPECT_EQ(fixtures.language, "python");
  EXPECT_EQ(fixtures.rich_built, R"({"x":1})");
  ASSERT_EQ(fixtures.probes.size(), 1U);
  EXPECT_EQ(fixtures.probes[0].script, "q");
  for (const std::string member : {"language", "echo", "rich_built", "probes", "stateful"}) {
    std::string bad = good;
    bad.replace(bad.find("\"" + member + "\""), member.size() + 2, "\"other\"");
    EXPECT_FALSE(parse_fixtures(bad).ok()) << member;
  }
  EXPECT_FALSE(parse_fixtures("[]").ok());
}

// CNF-2: the text that people see.
TEST(Report, IsATable) {
  const Report report = run(Break::memory_is_a_lie);
  const std::string text = to_text(report);
  EXPECT_NE(text.find("allocation bomb         failed   expected limitExceeded (memory), got the value"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("11 passed, 1 failed, 0 skipped\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace heddle::sandbox::conformance

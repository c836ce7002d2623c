#include "heddle/sandbox/effect/sandbox_effect.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <thread>

#include "fake_backend.h"
#include "heddle/core/text.h"
#include "heddle/effect/schema/shape.h"

namespace heddle::sandbox {
namespace {

using spi::Outcome;

struct Bench {
  explicit Bench(std::shared_ptr<FakeBackend> with, const SandboxEffectOptions& options = {})
      : backend(std::move(with)) {
    effect = SandboxEffect::create(scripts, backend, options).value();
  }
  [[nodiscard]] SandboxEvalInput input(std::string json = "null") const {
    return {scripts->add("script"), std::move(json), {}, {}};
  }
  [[nodiscard]] SandboxEffect::Reply run(std::string json = "null") const {
    return effect->evaluate(input(std::move(json)));
  }

  std::shared_ptr<MemoryScripts> scripts = std::make_shared<MemoryScripts>();
  std::shared_ptr<FakeBackend> backend;
  std::unique_ptr<SandboxEffect> effect;
};

SandboxEffect::Reply run_with(const Outcome& outcome) { return Bench(answering(outcome)).run(); }

// SBX-2, SBX-12: what the backend is given, and the defaults.
TEST(SandboxEffect, GivesTheBackendTheRequest) {
  spi::Request seen;
  const Bench bench(std::make_shared<FakeBackend>([&](spi::Request request) {
    EXPECT_TRUE(request.stop.stop_possible());
    seen = std::move(request);
    return spi::ready(Outcome::ok("1"));
  }));
  EXPECT_TRUE(bench.run("{\"a\": [1, 2]}").ok());
  EXPECT_EQ(seen.script, "script");
  EXPECT_EQ(seen.input_json, "{\"a\":[1,2]}");
  EXPECT_EQ(seen.limits.wall_clock.count(), 2000);
  EXPECT_EQ(seen.limits.memory_bytes, 64U << 20U);
  SandboxEvalInput input = bench.input();
  input.limits.wall_clock = std::chrono::milliseconds(7);
  input.limits.memory_bytes = 8;
  EXPECT_TRUE(bench.effect->evaluate(input).ok());
  EXPECT_EQ(seen.limits.wall_clock.count(), 7);
  EXPECT_EQ(seen.limits.memory_bytes, 8U);
}

// SBX-25: what a backend says beside its outcome is bounded and made storable, whatever that outcome is.
TEST(SandboxEffect, BoundsWhatABackendRemarks) {
  const auto remarks_of = [](Outcome outcome, spi::Remarks said) {
    outcome.remarks = std::move(said);
    const Bench bench(answering(outcome));
    spi::Remarks remarks;
    (void)bench.effect->evaluate(bench.input(), {}, core::Deadline::never(), nullptr, &remarks);
    return remarks;
  };
  using Level = spi::ConsoleLevel;
  const spi::Remarks few =
      remarks_of(Outcome::infrastructure("gone"), {{{Level::warn, "a\xFF"}, {Level{77}, "b"}}, false, "h", "n"});
  ASSERT_EQ(few.console.size(), 2U);
  EXPECT_EQ(few.console[0].level, Level::warn);
  EXPECT_EQ(few.console[0].text, "a\xEF\xBF\xBD");
  EXPECT_EQ(few.console[1].level, Level::log);
  EXPECT_FALSE(few.console_cut);
  EXPECT_EQ(few.hint + few.note, "hn");

  const std::string kib(1024, 'x');
  for (const auto& lines :
       {std::vector<spi::ConsoleLine>(100, {Level::log, kib}), std::vector<spi::ConsoleLine>(9000, {Level::log, ""}),
        std::vector<spi::ConsoleLine>(1, {Level::log, std::string(70'000, '\0')})}) {
    const spi::Remarks many =
        remarks_of(Outcome::ok("1"), {lines, false, std::string(9000, 'h'), std::string(9000, 'n')});
    std::size_t bytes = 0;
    for (const auto& line : many.console) bytes += line.text.size() + 16;
    EXPECT_LE(bytes, (std::size_t{64} << 10) + 16);
    EXPECT_GE(bytes, std::size_t{63} << 10);
    EXPECT_TRUE(many.console_cut);
    EXPECT_TRUE(core::valid_utf8(many.console.back().text));
    EXPECT_EQ(many.hint.size(), 2048U);
    EXPECT_EQ(many.note.size(), 2048U);
  }
}

class Notes final : public effect::Witness {
 public:
  void access_denied(effect::AccessDenial denial) override { denials.push_back(std::move(denial)); }
  void egress_denied(effect::EgressDenial /*denial*/) override { ADD_FAILURE(); }
  void jail_applied(std::string report_json) override { reports.push_back(std::move(report_json)); }
  void console(std::string lines_json, bool cut) override { consoles.push_back(lines_json + (cut ? "+" : "")); }
  std::vector<effect::AccessDenial> denials;
  std::vector<std::string> reports;
  std::vector<std::string> consoles;
};

// SBX-25: the console of every outcome goes to the witness.
TEST(SandboxEffect, TellsTheWitnessOfTheConsole) {
  Outcome outcome = Outcome::limited(spi::LimitKind::wall_clock);
  outcome.remarks.console = {{spi::ConsoleLevel::warn, "a\"b"}};
  outcome.remarks.console_cut = true;
  Notes notes;
  const Bench bench(answering(outcome));
  EXPECT_TRUE(bench.effect->evaluate(bench.input(), {}, core::Deadline::never(), &notes).is_typed());
  EXPECT_EQ(notes.consoles, std::vector<std::string>{R"([{"level":"warn","text":"a\"b"}]+)"});
  EXPECT_TRUE(Bench(answering(Outcome::ok("1"))).effect->evaluate(bench.input()).is_untyped());
}

// JRN-8, JAIL-13: what the backend knows of the boundary goes to the witness, bounded, and is asked for only when there
// is one.
TEST(SandboxEffect, TellsTheWitness) {
  bool explain = false;
  Outcome outcome = Outcome::infrastructure("gone");
  outcome.applied = {"landlock: ABI 2", "two\n\"lines\"\xFF"};
  outcome.denials = {{"openat", "/etc/passwd", "no files"}, {"socket", std::string(9000, 'x'), "no sockets"}};
  outcome.ended_by_denial = true;
  const Bench bench(std::make_shared<FakeBackend>([&](const spi::Request& request) {
    explain = request.explain;
    return spi::ready(outcome);
  }));
  Notes notes;
  EXPECT_TRUE(bench.effect->evaluate(bench.input(), {}, core::Deadline::never(), &notes).is_untyped());
  EXPECT_TRUE(explain);
  EXPECT_EQ(notes.reports, (std::vector<std::string>{"[\"landlock: ABI 2\",\"two\\n\\\"lines\\\"\xEF\xBF\xBD\"]"}));
  ASSERT_EQ(notes.denials.size(), 2U);
  EXPECT_EQ(notes.denials[0].object, "/etc/passwd");
  EXPECT_EQ(notes.denials[0].after, effect::AfterDenial::went_on);
  EXPECT_EQ(notes.denials[1].after, effect::AfterDenial::ended);
  EXPECT_EQ(notes.denials[1].object.size(), 2048U);
  EXPECT_TRUE(bench.run().is_untyped());
  EXPECT_FALSE(explain);
  outcome = Outcome::ok("1");
  outcome.denials = {{"openat", "", "no files"}};
  outcome.ended_by_denial = true;  // a backend that contradicts itself
  EXPECT_TRUE(bench.effect->evaluate(bench.input(), {}, core::Deadline::never(), &notes).ok());
  EXPECT_EQ(notes.denials.back().after, effect::AfterDenial::went_on);
}

// SBX-4, SBX-21: each row of the table, run through the effect.
TEST(SandboxEffect, MapsEachOutcomeByTheTable) {
  EXPECT_EQ(outcome_table().size(), 7U);
  for (const OutcomeRow& row : outcome_table()) {
    Outcome outcome;
    outcome.kind = row.kind;
    if (row.limit) outcome.limit = *row.limit;
    outcome.message = "m";
    const auto reply = run_with(outcome);
    switch (row.meaning) {
      case Meaning::value:
        EXPECT_EQ(reply.value().value_json, "null");
        break;
      case Meaning::channel:
        EXPECT_EQ(reply.typed().channel, row.channel);
        EXPECT_EQ(reply.typed().limit, row.reported);
        break;
      case Meaning::retryable:
        EXPECT_EQ(reply.untyped().message, "sandbox backend failed: m");
        EXPECT_EQ(reply.untyped().retry, effect::Retry::yes);
        break;
    }
  }
}

// SBX-21: the closed list and its names.
TEST(SandboxEffect, NamesItsChannels) {
  const Bench bench(answering(Outcome::ok("1")));
  const std::vector<std::string_view> names(bench.effect->channels().begin(), bench.effect->channels().end());
  EXPECT_EQ(names, (std::vector<std::string_view>{"scriptError", "limitExceeded", "inputTooLarge",
                                                  "inputNotSerializable", "shapeMismatch"}));
  EXPECT_EQ(limit_name(Limit::cpu), "cpu");
  EXPECT_EQ(limit_name(Limit::memory), "memory");
  EXPECT_EQ(limit_name(Limit::wall_clock), "wallClock");
  EXPECT_EQ(limit_name(Limit::output), "output");
  EXPECT_EQ(to_typed(run_with(Outcome::limited(spi::LimitKind::wall_clock)).typed()).detail_json,
            R"({"kind":"wallClock"})");
  EXPECT_EQ(to_typed(run_with(Outcome::threw("E", "a\"b")).typed()).detail_json, R"({"name":"E","message":"a\"b"})");
  EXPECT_EQ(to_typed(run_with(Outcome::threw(std::nullopt, "m")).typed()).detail_json, R"({"message":"m"})");
}

// SBX-5: a malformed outcome is untyped, never a guess.
TEST(SandboxEffect, RefusesMalformedOutcomes) {
  Outcome no_limit = Outcome::limited(spi::LimitKind::cpu);
  no_limit.limit = static_cast<spi::LimitKind>(0);
  Outcome far_limit = Outcome::limited(static_cast<spi::LimitKind>(99));
  Outcome far_kind = Outcome::ok("1");
  far_kind.kind = static_cast<Outcome::Kind>(99);
  for (const Outcome& outcome :
       {Outcome(), no_limit, far_limit, far_kind, Outcome::ok(""), Outcome::ok("NaN"), Outcome::ok("{\"a\":"),
        Outcome::ok("1 1"), Outcome::ok("\"\xFF\""), Outcome::ok(std::string(3 << 20, '['))}) {
    const auto reply = run_with(outcome);
    ASSERT_TRUE(reply.is_untyped());
    EXPECT_EQ(reply.untyped().message.find("sandbox backend failed: malformed outcome: "), 0U)
        << reply.untyped().message;
    EXPECT_EQ(reply.untyped().retry, effect::Retry::no);
  }
}

// SBX-6: five megabytes of message and name, lone surrogates, NUL.
TEST(SandboxEffect, BoundsWhatAScriptThrew) {
  const std::string vast = std::string(5'000'000, 'x');
  const auto reply = run_with(Outcome::threw(vast, "a\xED\xA0\x80" + std::string(1, '\0') + vast));
  EXPECT_EQ(reply.typed().name.value().size(), core::kMaxGuestTextUnits);
  EXPECT_EQ(core::utf16_units(reply.typed().message), core::kMaxGuestTextUnits);
  EXPECT_EQ(reply.typed().message.substr(0, 7), "a\uFFFD\uFFFD");
  EXPECT_FALSE(run_with(Outcome::threw(std::nullopt, "m")).typed().name.has_value());
  Outcome placed = Outcome::threw("E", "m");
  placed.line = 3;
  placed.column = 4;
  const auto where = run_with(placed);
  EXPECT_EQ(where.typed().line, 3U);
  EXPECT_EQ(where.typed().column, 4U);
}

// SBX-7, SBX-10
TEST(SandboxEffect, KeepsInfrastructureUntypedAndRetryable) {
  const auto reply = run_with(Outcome::infrastructure(std::string(5'000'000, 'x')));
  EXPECT_EQ(reply.untyped().message.size(), core::kMaxGuestTextUnits);
  EXPECT_EQ(reply.untyped().message.find("sandbox backend failed: x"), 0U);
  EXPECT_EQ(reply.untyped().retry, effect::Retry::yes);
  EXPECT_EQ(run_with(Outcome::input_marshalling_failed("no pipe")).untyped().message,
            "sandbox backend failed: sandbox: input marshalling failed: no pipe");
}

struct Odd final : std::runtime_error {
  using std::runtime_error::runtime_error;
};

effect::UntypedFailure thrown_by_a_backend(const std::function<void()>& thrower) {
  const Bench at_once(std::make_shared<FakeBackend>([&](const spi::Request&) {
    thrower();
    return spi::ready(Outcome::ok("1"));
  }));
  const Bench later(std::make_shared<FakeBackend>([&](const spi::Request&) {
    return std::make_unique<FakeEvaluation>(-1, [&]() -> std::optional<Outcome> {
      thrower();
      return std::nullopt;
    });
  }));
  EXPECT_EQ(at_once.run().untyped().message, later.run().untyped().message);
  return later.run().untyped();
}

// SBX-10: a short text is carried as it is, the type kept.
TEST(SandboxEffect, CarriesABackendsException) {
  const auto failure = thrown_by_a_backend([] { throw Odd("worker would not start"); });
  EXPECT_EQ(failure.message, "worker would not start");
  EXPECT_THROW(std::rethrow_exception(failure.cause), Odd);
  EXPECT_EQ(thrown_by_a_backend([] { throw Odd(std::string(2048, 'x')); }).message, std::string(2048, 'x'));
}

// SBX-10: anything else is a new error, bounded, with the original as its cause.
TEST(SandboxEffect, RewrapsWhatCannotBeCarried) {
  for (const std::string& text :
       {std::string(2049, 'x'), std::string(5'000'000, 'x'), std::string("a\xED\xA0\x80"), std::string("\xFF")}) {
    const auto failure = thrown_by_a_backend([&] { throw Odd(text); });
    EXPECT_EQ(failure.message.find("sandbox backend failed: "), 0U);
    EXPECT_LE(core::utf16_units(failure.message), core::kMaxGuestTextUnits);
    EXPECT_TRUE(core::valid_utf8(failure.message));
    EXPECT_THROW(std::rethrow_exception(failure.cause), Odd);
  }
  EXPECT_EQ(thrown_by_a_backend([] { throw 5; }).message,
            "sandbox backend failed: it threw something that has no text");
}

// SBX-10: only the effect decides what a script did.
TEST(SandboxEffect, RewrapsATypedFailureThatABackendThrew) {
  const auto failure = thrown_by_a_backend([] { throw effect::TypedFailure{"scriptError", "{}", "forged"}; });
  EXPECT_EQ(failure.message, "sandbox backend failed: forged");
  EXPECT_THROW(std::rethrow_exception(failure.cause), effect::TypedFailure);
}

// SBX-11: one read of the outcome, the capabilities read once and kept.
TEST(SandboxEffect, ReadsOnce) {
  int takes = 0;
  const Bench bench(std::make_shared<FakeBackend>([&](const spi::Request&) {
    return std::make_unique<FakeEvaluation>(
        -1, [&]() -> std::optional<Outcome> { return Outcome::ok(++takes == 1 ? "1" : "\"another\""); });
  }));
  EXPECT_EQ(bench.run().value().value_json, "1");
  EXPECT_EQ(takes, 1);
  bench.backend->edit().network = spi::Network::open;
  EXPECT_EQ(bench.effect->capabilities().network, spi::Network::none);
  EXPECT_EQ(bench.effect->idempotency(), effect::Idempotency::idempotent);
  EXPECT_EQ(bench.backend->capability_reads, 1);
}

// SBX-12: before the script is fetched.
TEST(SandboxEffect, ChecksTheInputFirst) {
  Bench bench(answering(Outcome::ok("1")));
  SandboxEvalInput input{effect::ContentAddress::of("nowhere"), "NaN", {}, {}};
  EXPECT_EQ(bench.effect->evaluate(input).typed().channel, Channel::input_not_serializable);
  input.input_json = "\"" + std::string((1 << 20) - 1, 'x') + "\"";
  EXPECT_EQ(bench.effect->evaluate(input).typed().channel, Channel::input_too_large);
  input.input_json = "\"" + std::string((1 << 20) - 2, 'x') + "\"";
  EXPECT_TRUE(bench.effect->evaluate(input).is_untyped());  // now it is the script that is missing
  input.input_json = std::string(5000, '[') + std::string(5000, ']');
  EXPECT_EQ(bench.effect->evaluate(input).typed().channel, Channel::input_too_large);
  EXPECT_EQ(bench.backend->runs, 0);
}

// SBX-12: limits that cannot be are the caller's mistake, not a channel.
TEST(SandboxEffect, RefusesImpossibleLimits) {
  const Bench bench(answering(Outcome::ok("1")));
  for (int which = 0; which < 4; ++which) {
    SandboxEvalInput input = bench.input();
    if (which == 0) input.limits.wall_clock = std::chrono::milliseconds(0);
    if (which == 1) input.limits.memory_bytes = 0;
    if (which == 2) input.limits.output_bytes = 0;
    if (which == 3) input.shape_json = R"({"type":"nonsense"})";
    EXPECT_TRUE(bench.effect->evaluate(input).is_untyped()) << which;
  }
  EXPECT_EQ(bench.backend->runs, 0);
}

class LyingReader final : public ScriptReader {
 public:
  enum class Lie { other_bytes, not_utf8, exception, error, patience };
  explicit LyingReader(Lie lie) : lie_(lie) {}
  [[nodiscard]] core::Result<std::string> read(const effect::ContentAddress& /*address*/, std::size_t /*max*/,
                                               const Wait& wait) override {
    EXPECT_FALSE(wait.deadline.is_never());
    if (lie_ == Lie::patience) {
      while (!wait.stop.stop_requested() && !wait.deadline.passed()) std::this_thread::yield();
      return core::make_error(wait.stop.stop_requested() ? core::Errc::cancelled : core::Errc::timed_out, "read", "");
    }
    if (lie_ == Lie::exception) throw Odd("store is down");
    if (lie_ == Lie::error) return core::system_error(5, "read", "disk");
    return std::string(lie_ == Lie::not_utf8 ? "\xFF" : "other");
  }

 private:
  Lie lie_;
};

// SBX-13: what a reader gives is hashed; every failure of a reader's is untyped.
TEST(SandboxEffect, VerifiesTheScript) {
  const auto backend = answering(Outcome::ok("1"));
  const auto run = [&](LyingReader::Lie lie) {
    const auto effect = SandboxEffect::create(std::make_shared<LyingReader>(lie), backend).value();
    return effect->evaluate(
        {effect::ContentAddress::of(lie == LyingReader::Lie::not_utf8 ? "\xFF" : "script"), "1", {}, {}});
  };
  EXPECT_NE(run(LyingReader::Lie::other_bytes).untyped().message.find("does not have that content address"),
            std::string::npos);
  EXPECT_NE(run(LyingReader::Lie::not_utf8).untyped().message.find("is not UTF-8"), std::string::npos);
  EXPECT_EQ(run(LyingReader::Lie::exception).untyped().message, "sandbox: the script reader failed: store is down");
  EXPECT_NE(run(LyingReader::Lie::exception).untyped().cause, nullptr);
  EXPECT_TRUE(run(LyingReader::Lie::error).is_untyped());
  EXPECT_EQ(backend->runs, 0);
}

// SBX-23: a reader that takes long is told of stop and deadline.
TEST(SandboxEffect, TellsTheReaderOfStopAndDeadline) {
  const auto effect =
      SandboxEffect::create(std::make_shared<LyingReader>(LyingReader::Lie::patience), answering(Outcome::ok("1")))
          .value();
  const SandboxEvalInput input{effect::ContentAddress::of("script"), "1", {}, {}};
  const auto late = effect->evaluate(input, {}, core::Deadline::after(std::chrono::milliseconds(50)));
  EXPECT_EQ(late.untyped().error->code, core::Errc::timed_out);
  EXPECT_EQ(late.untyped().retry, effect::Retry::yes);
  std::stop_source stop;
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  });
  EXPECT_TRUE(effect->evaluate(input, stop.get_token()).is_cancelled());
  stopper.join();
}

// SBX-12: a call lowers the host's limits and never raises one.
TEST(SandboxEffect, TakesTheHostsLimitsAsTheMost) {
  spi::Request seen;
  SandboxEffectOptions options;
  options.wall_clock = std::chrono::milliseconds(500);
  options.memory_bytes = 1000;
  options.input_bytes = 10;
  options.output_bytes = 5;
  Bench bench(std::make_shared<FakeBackend>([&](spi::Request request) {
                seen = std::move(request);
                return spi::ready(Outcome::ok(seen.input_json));
              }),
              options);
  SandboxEvalInput input = bench.input("[1,2]");
  input.limits = {std::chrono::milliseconds::max(), 1U << 30U, 1U << 30U, 1U << 30U};
  EXPECT_TRUE(bench.effect->evaluate(input).ok()) << "the control";
  EXPECT_EQ(seen.limits.wall_clock.count(), 500);
  EXPECT_EQ(seen.limits.memory_bytes, 1000U);
  input.input_json = "[1,2,3]";
  EXPECT_EQ(bench.effect->evaluate(input).typed().limit, Limit::output);
  input.input_json = "[1,2,3,4,5]";
  EXPECT_EQ(bench.effect->evaluate(input).typed().channel, Channel::input_too_large);
  input.limits = {std::chrono::milliseconds(7), 8, 5, 5};
  input.input_json = "[1,2]";
  EXPECT_TRUE(bench.effect->evaluate(input).ok());
  EXPECT_EQ(seen.limits.wall_clock.count(), 7);
  EXPECT_EQ(seen.limits.memory_bytes, 8U);
}

// SBX-12, SBX-21: as an effect of a runtime's, a bad or too deep input has its channel too.
TEST(SandboxEffect, TypesABadInputThroughARuntime) {
  const Bench bench(answering(Outcome::ok("1")));
  const auto channel = [&](const std::string& value) {
    const auto reply =
        bench.effect->execute(bench.input(value).to_json(), effect::Call{{}, core::Deadline::never(), "", nullptr});
    return reply.is_typed() ? reply.typed().channel : std::string(reply.ok() ? "ok" : "untyped");
  };
  EXPECT_EQ(channel("[1]"), "ok") << "the control";
  EXPECT_EQ(channel("1e999"), "inputNotSerializable");
  EXPECT_EQ(channel(std::string(1001, '[') + std::string(1001, ']')), "inputTooLarge");
  EXPECT_EQ(channel("\"" + std::string(1 << 20, 'x') + "\""), "inputTooLarge");
}

// SBX-29: what can never be had is not tried again.
TEST(SandboxEffect, DoesNotRetryWhatCannotBe) {
  const auto reply = Bench(std::make_shared<FakeBackend>([](const spi::Request&) -> std::unique_ptr<spi::Evaluation> {
                       throw std::invalid_argument("a memory limit over the pool's");
                     })).run();
  EXPECT_EQ(reply.untyped().message, "a memory limit over the pool's");
  EXPECT_EQ(reply.untyped().retry, effect::Retry::no);
  EXPECT_EQ(reply.untyped().error->code, core::Errc::invalid_argument);
  const auto other = Bench(std::make_shared<FakeBackend>([](const spi::Request&) -> std::unique_ptr<spi::Evaluation> {
                       throw std::runtime_error("the service is down");
                     })).run();
  EXPECT_EQ(other.untyped().retry, effect::Retry::yes) << "the control";
}

// SBX-1, SBX-9: advice reaches the backend, and a grace that is as good as for ever does not overflow.
TEST(SandboxEffect, WarmsAndWaitsForEver) {
  SandboxEffectOptions options;
  options.trust_backend_to_return = true;
  options.backend_grace = std::chrono::milliseconds::max() / 2;
  const Bench bench(answering(Outcome::ok("1")), options);
  bench.effect->warm();
  EXPECT_EQ(bench.backend->warmed, 1);
  EXPECT_TRUE(bench.run().ok());
}

// SBX-14, SBX-15: the ceiling is on the round trip, to the byte.
TEST(SandboxEffect, BoundsTheOutput) {
  Bench bench(answering(Outcome::ok(" [ 1 , 2 ] ")));
  SandboxEvalInput input = bench.input();
  input.limits.output_bytes = 5;
  EXPECT_EQ(bench.effect->evaluate(input).value().value_json, "[1,2]");
  input.limits.output_bytes = 4;
  const auto reply = bench.effect->evaluate(input);
  EXPECT_EQ(reply.typed().channel, Channel::limit_exceeded);
  EXPECT_EQ(reply.typed().limit, Limit::output);
  EXPECT_EQ(run_with(Outcome::ok("\"" + std::string(1 << 20, 'x') + "\"")).typed().limit, Limit::output);
  EXPECT_EQ(run_with(Outcome::ok(std::string(5000, '[') + std::string(5000, ']'))).typed().limit, Limit::output);
}

// SBX-14: no JSON form is null. SBX-15: what is delivered is the round trip. JRN-4: surrogates are replaced.
TEST(SandboxEffect, DeliversTheRoundTrip) {
  EXPECT_EQ(run_with(Outcome::ok_without_value()).value().value_json, "null");
  EXPECT_EQ(run_with(Outcome::ok("{\"a\" : 1.0, \"a\":-0.0, \"s\":\"\\ud800\"}")).value().value_json,
            "{\"a\":0,\"s\":\"\uFFFD\"}");
  const auto once = run_with(Outcome::ok("[1e2, 0.10, 12345678901234567890123]")).value().value_json;
  EXPECT_EQ(run_with(Outcome::ok(once)).value().value_json, once);
}

// SBX-14
TEST(SandboxEffect, ChecksTheShape) {
  const Bench bench(answering(Outcome::ok("{\"n\":1}")));
  SandboxEvalInput input = bench.input();
  input.shape_json = R"({"properties":{"n":{"type":"number"}}})";
  EXPECT_EQ(bench.effect->evaluate(input).value().shape_hash, effect::shape_hash(*input.shape_json).value());
  input.shape_json = R"({"properties":{"n":{"type":"string"}}})";
  const auto reply = bench.effect->evaluate(input);
  EXPECT_EQ(reply.typed().channel, Channel::shape_mismatch);
  EXPECT_NE(reply.typed().message, "");
}

// SBX-23: 4,000 characters on which a backtracking engine never ends, and one on which it does.
TEST(SandboxEffect, ChecksPatternsInLinearTime) {
  const Bench bench(std::make_shared<FakeBackend>(
      [](const spi::Request& request) { return spi::ready(Outcome::ok(request.input_json)); }));
  SandboxEvalInput input = bench.input("\"" + std::string(4000, 'a') + "\"");
  input.shape_json = R"({"pattern":"^(a+)+$"})";
  EXPECT_TRUE(bench.effect->evaluate(input).ok()) << "the control";
  input.input_json.insert(1, "!");
  EXPECT_EQ(bench.effect->evaluate(input).typed().channel, Channel::shape_mismatch);
  input.shape_json = R"x({"pattern":"^(?=a)"})x";
  const auto refused = bench.effect->evaluate(input);
  EXPECT_NE(refused.untyped().message.find("^(?=a) looks ahead"), std::string::npos) << refused.untyped().message;
}

// SBX-23: a shape that multiplies with each level of the result holds neither the caller's deadline, nor the effect's
// own, nor a stop.
TEST(SandboxEffect, HeedsStopAndDeadlineWhileItChecksTheShape) {
  std::stop_source* late_stop = nullptr;
  std::thread stopper;
  const auto backend = std::make_shared<FakeBackend>([&](const spi::Request& request) {
    if (late_stop != nullptr) {
      stopper = std::thread([late_stop] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        late_stop->request_stop();
      });
    }
    return spi::ready(Outcome::ok(request.input_json));
  });
  SandboxEffectOptions options;
  options.backend_grace = std::chrono::milliseconds(0);
  options.wall_clock = std::chrono::hours(1);
  const Bench bench(backend, options);
  SandboxEvalInput input = bench.input("[[2]]");
  input.shape_json = R"({"type":["array","number"],"items":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]},"maximum":1})";
  EXPECT_EQ(bench.effect->evaluate(input).typed().channel, Channel::shape_mismatch) << "the control";
  input.input_json = std::string(300, '[') + "2" + std::string(300, ']');
  EXPECT_EQ(bench.effect->evaluate(input, {}, core::Deadline::after(std::chrono::milliseconds(200))).untyped().message,
            "sandbox: the deadline of the call passed");
  input.limits.wall_clock = std::chrono::milliseconds(200);
  const auto own = bench.effect->evaluate(input);
  EXPECT_EQ(own.untyped().message, "sandbox: the check of the result's shape did not settle within 200 ms");
  EXPECT_EQ(own.untyped().retry, effect::Retry::yes);
  std::stop_source stop;
  late_stop = &stop;
  input.limits.wall_clock.reset();
  EXPECT_EQ(bench.effect->evaluate(input, stop.get_token()).cancelled().message, "sandbox: cancelled");
  stopper.join();
}

// SBX-16, SBX-17: refused without the option, and only without it.
TEST(SandboxEffect, RefusesBackendsItCannotVouchFor) {
  const auto make = [](const std::function<void(spi::Capabilities&)>& change,
                       const SandboxEffectOptions& options = {}) {
    auto backend = answering(Outcome::ok("1"));
    change(backend->edit());
    return SandboxEffect::create(std::make_shared<MemoryScripts>(), backend, options);
  };
  SandboxEffectOptions network;
  network.allow_network = true;
  SandboxEffectOptions reused;
  reused.allow_reused_environment = true;
  for (const spi::Network reach : {spi::Network::allowlist, spi::Network::open}) {
    const auto connect = [reach](spi::Capabilities& c) { c.network = reach; };
    EXPECT_NE(make(connect).error().context.find("allow_network"), std::string::npos);
    EXPECT_FALSE(make(connect, reused).ok());
    EXPECT_EQ(make(connect, network).value()->idempotency(), effect::Idempotency::not_idempotent);
  }
  const auto stale = [](spi::Capabilities& c) { c.fresh_per_run = false; };
  EXPECT_NE(make(stale).error().context.find("allow_reused_environment"), std::string::npos);
  EXPECT_FALSE(make(stale, network).ok());
  EXPECT_EQ(make(stale, reused).value()->idempotency(), effect::Idempotency::not_idempotent);
  // SBX-18
  EXPECT_EQ(make([](spi::Capabilities& /*c*/) {}).value()->idempotency(), effect::Idempotency::idempotent);
}

// SBX-16
TEST(SandboxEffect, ValidatesTheDeclaration) {
  const auto refuses = [](const std::function<void(spi::Capabilities&)>& change) {
    auto backend = answering(Outcome::ok("1"));
    change(backend->edit());
    SandboxEffectOptions all;
    all.allow_network = all.allow_reused_environment = true;
    return !SandboxEffect::create(std::make_shared<MemoryScripts>(), backend, all).ok();
  };
  EXPECT_FALSE(refuses([](spi::Capabilities& /*c*/) {}));
  EXPECT_TRUE(refuses([](spi::Capabilities& c) { c.language = ""; }));
  EXPECT_TRUE(refuses([](spi::Capabilities& c) { c.language = "Java\nScript"; }));
  EXPECT_TRUE(refuses([](spi::Capabilities& c) { c.network = static_cast<spi::Network>(0); }));
  EXPECT_TRUE(refuses([](spi::Capabilities& c) { c.wall_clock = static_cast<spi::WallClock>(9); }));
}

// SBX-9: zero is a grace, less is none, and one without an end neither.
TEST(SandboxEffect, ValidatesItsOptions) {
  const auto accepts = [](const std::function<void(SandboxEffectOptions&)>& change) {
    SandboxEffectOptions options;
    change(options);
    return SandboxEffect::create(std::make_shared<MemoryScripts>(), answering(Outcome::ok("1")), options).ok();
  };
  EXPECT_EQ(SandboxEffectOptions().backend_grace.count(), 60'000);
  EXPECT_TRUE(accepts([](SandboxEffectOptions& o) { o.backend_grace = std::chrono::milliseconds(0); }));
  EXPECT_TRUE(accepts([](SandboxEffectOptions& o) { o.backend_grace = std::chrono::hours(25); }));
  EXPECT_TRUE(accepts([](SandboxEffectOptions& o) { o.backend_grace = std::chrono::milliseconds::max() / 2; }));
  EXPECT_FALSE(accepts([](SandboxEffectOptions& o) { o.backend_threads = 0; }));
  EXPECT_FALSE(accepts([](SandboxEffectOptions& o) { o.backend_call_wait = std::chrono::milliseconds(0); }));
  EXPECT_FALSE(accepts([](SandboxEffectOptions& o) { o.backend_grace = std::chrono::milliseconds(-1); }));
  EXPECT_FALSE(accepts([](SandboxEffectOptions& o) { o.backend_grace = std::chrono::milliseconds::max(); }));
  EXPECT_FALSE(accepts([](SandboxEffectOptions& o) { o.wall_clock = std::chrono::milliseconds(0); }));
  EXPECT_FALSE(accepts([](SandboxEffectOptions& o) { o.output_bytes = 0; }));
  EXPECT_FALSE(SandboxEffect::create(nullptr, answering(Outcome::ok("1"))).ok());
  EXPECT_FALSE(SandboxEffect::create(std::make_shared<MemoryScripts>(), nullptr).ok());
}

class ThrowingDeclaration final : public spi::SandboxBackend {
 public:
  [[nodiscard]] spi::Capabilities capabilities() const override { throw Odd("no idea"); }
  [[nodiscard]] std::unique_ptr<spi::Evaluation> evaluate(spi::Request /*request*/) override { return nullptr; }
};

// SBX-10, SBX-16
TEST(SandboxEffect, RefusesADeclarationThatThrows) {
  const auto effect = SandboxEffect::create(std::make_shared<MemoryScripts>(), std::make_shared<ThrowingDeclaration>());
  EXPECT_NE(effect.error().context.find("no idea"), std::string::npos);
}

// SBX-12, SBX-14: as a runtime sees it.
TEST(SandboxEffect, IsAnEffect) {
  const Bench bench(answering(Outcome::ok("[1]")));
  const std::string address = bench.scripts->add("script").text();
  const std::string json = "{\"script\":\"" + address + "\",\"input\":1,\"shape\":{\"type\":\"array\"}}";
  EXPECT_EQ(bench.effect->kind(), "sandboxEval");
  EXPECT_EQ(bench.effect->execute(json, {}).value(), "[1]");
  EXPECT_TRUE(bench.effect->execute("{}", {}).is_untyped());
  const auto annotations = bench.effect->annotations(json);
  ASSERT_EQ(annotations.size(), 2U);
  EXPECT_EQ(annotations[0], (std::pair<std::string, std::string>("script", address)));
  EXPECT_EQ(annotations[1].second, effect::shape_hash(R"({"type":"array"})").value().text());
  const Bench failing(answering(Outcome::threw("TypeError", "m")));
  const std::string plain = "{\"script\":\"" + failing.scripts->add("script").text() + "\"}";
  EXPECT_EQ(failing.effect->execute(plain, {}).typed().channel, "scriptError");
}

}  // namespace
}  // namespace heddle::sandbox

#include "log_args.h"

#include <gtest/gtest.h>

namespace heddle::cli {
namespace {

using namespace std::chrono_literals;
using journal::Kind;
using journal::Time;

const Time kNow = std::chrono::sys_days(std::chrono::year(2026) / 11 / 29) + 18h;

core::Result<LogOptions> parse(std::vector<std::string> args) { return parse_log_args(args, kNow); }

// JRN-7
TEST(LogArgs, SayWhatIsAskedFor) {
  const LogOptions plain = parse({"log", "file"}).value();
  EXPECT_EQ(plain.mode, LogMode::log);
  EXPECT_EQ(plain.journal, "file");
  EXPECT_FALSE(plain.query.flow);
  const LogOptions all = parse({"log", "--flow", "f", "--kind=outcome,ACCESS_DENIED", "file", "--kind", "intent",
                                "--since=10m", "--from", "7", "-f", "--json"})
                             .value();
  EXPECT_EQ(all.query.flow, "f");
  EXPECT_EQ(all.query.kinds, (std::vector<Kind>{Kind::outcome, Kind::access_denied, Kind::intent}));
  EXPECT_EQ(all.query.since, kNow - 10min);
  EXPECT_EQ(all.query.from, 7U);
  EXPECT_TRUE(all.follow && all.json);
  EXPECT_EQ(parse({"log", "verify", "file", "--json"}).value().mode, LogMode::verify);
  EXPECT_EQ(parse({"log", "./verify"}).value().mode, LogMode::log);
  EXPECT_EQ(parse({"log", "--", "verify"}).value().journal, "verify");
  EXPECT_EQ(parse({"log", "--", "--json"}).value().journal, "--json");
  EXPECT_EQ(parse({"log", "verify", "verify"}).value().journal, "verify");
  EXPECT_EQ(parse({"log", "file", "--flow", "--json"}).value().query.flow, "--json");
  const LogOptions replay = parse({"replay", "file", "verify"}).value();
  EXPECT_EQ(replay.mode, LogMode::replay);
  EXPECT_EQ(replay.flow, "verify");
  EXPECT_EQ(parse({"replay", "-h"}).value().mode, LogMode::help);
  EXPECT_EQ(parse({"log", "file", "--flows"}).value().mode, LogMode::flows);
  EXPECT_FALSE(parse({"log", "file", "--flows"}).value().open_only);
  EXPECT_TRUE(parse({"log", "--open", "--flows", "file"}).value().open_only);
  const LogOptions resolve = parse({"resolve", "file", "flow", "4.2.1", "--done=[1]", "--reason", "why"}).value();
  EXPECT_EQ(resolve.mode, LogMode::resolve);
  EXPECT_EQ(resolve.flow + resolve.key + resolve.output + resolve.by + resolve.reason, "flow4.2.1[1]why");
  EXPECT_EQ(resolve.resolution, journal::Resolution::success);
  EXPECT_EQ(parse({"resolve", "a", "b", "c", "--failed", "--reason=x"}).value().resolution,
            journal::Resolution::failure);
  EXPECT_EQ(parse({"resolve", "verify", "b", "c", "--run-again", "--reason=x", "--by=me"}).value().by, "me");
}

TEST(LogArgs, SayWhatCannotBe) {
  const auto refused = [](std::vector<std::string> args, std::string_view words) {
    const auto options = parse(std::move(args));
    ASSERT_FALSE(options.ok()) << words;
    EXPECT_EQ(options.error().code, core::Errc::invalid_argument);
    EXPECT_NE(options.error().step.find(words), std::string::npos) << options.error().step;
  };
  refused({"log"}, "JOURNAL is missing");
  refused({"log", "verify"}, "JOURNAL is missing");
  refused({"replay", "file"}, "FLOW is missing");
  refused({"log", "a", "b"}, "b is not expected");
  refused({"log", "a", "--open"}, "--open goes with --flows");
  refused({"log", "verify", "a", "--flows"}, "--flows does not go with heddle log verify");
  refused({"log", "a", "--flows", "--kind", "INTENT"}, "--kind does not go with heddle log --flows");
  refused({"log", "a", "--flows", "-f"}, "--follow does not go with heddle log --flows");
  refused({"log", "a", "--failed"}, "--failed does not go with heddle log");
  refused({"resolve", "a", "b"}, "KEY is missing");
  refused({"resolve", "a", "b", "c", "--reason", "x"}, "say what became of the effect");
  refused({"resolve", "a", "b", "c", "--failed"}, "--reason is missing");
  refused({"resolve", "a", "b", "c", "--failed", "--done", "1", "--reason", "x"}, "give one of");
  refused({"resolve", "a", "b", "c", "d", "--failed", "--reason", "x"}, "d is not expected");
  refused({"resolve", "a", "b", "c", "--failed", "--reason", "x", "--from", "1"},
          "--from does not go with heddle resolve");
  refused({"replay", "a", "b", "c"}, "c is not expected");
  refused({"log", "a", "--fast"}, "--fast is not expected");
  refused({"log", "a", "--flow"}, "--flow needs a value");
  refused({"log", "a", "--flow", "x", "--flow", "y"}, "twice");
  refused({"log", "a", "--kind", "OUTCOM"}, "the kinds are FLOW_STARTED, ");
  refused({"log", "a", "--since", "yesterday"}, "--since yesterday");
  refused({"log", "a", "--from", "0"}, "--from");
  refused({"log", "verify", "a", "--flow", "x"}, "--flow does not go with heddle log verify");
  refused({"replay", "a", "b", "-f"}, "--follow does not go with heddle replay");
}

TEST(LogArgs, SinceIsAnAgeOrATime) {
  const Time day = std::chrono::sys_days(std::chrono::year(2026) / 11 / 28);
  EXPECT_EQ(parse_since("2026-11-28", kNow).value(), day);
  EXPECT_EQ(parse_since("2026-11-28T07:05", kNow).value(), day + 7h + 5min);
  EXPECT_EQ(parse_since("2026-11-28 07:05:09Z", kNow).value(), day + 7h + 5min + 9s);
  EXPECT_EQ(parse_since("2026-11-28T07:05:09.000123Z", kNow).value(), day + 7h + 5min + 9s + 123us);
  EXPECT_EQ(parse_since("90s", kNow).value(), kNow - 90s);
  EXPECT_EQ(parse_since("7d", kNow).value(), kNow - 168h);
  for (const char* bad : {"", "2026-13-01", "2026-02-30", "2026-11-28T25:00", "2026-11-28T07:05:09.", "2026-11-28x",
                          "now", "-5m", "2026-11-28T07:05:09+01:00"}) {
    EXPECT_FALSE(parse_since(bad, kNow).ok()) << bad;
  }
}

TEST(LogArgs, TheHelpFitsATerminal) {
  const std::string help = log_help_text();
  for (std::size_t at = 0; at < help.size();) {
    const std::size_t end = help.find('\n', at);
    EXPECT_LE(end - at, 80U);
    at = end + 1;
  }
}

}  // namespace
}  // namespace heddle::cli

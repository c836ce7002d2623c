#include "log_args.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <optional>

#include "complain.h"
#include "heddle/core/text.h"
#include "heddle/core/units.h"

namespace heddle::cli {
namespace {

using journal::Kind;

std::string all_kinds() {
  std::string names;
  for (int i = 1; i <= static_cast<int>(Kind::pruned); ++i) {
    names += (names.empty() ? "" : ", ") + std::string(journal::kind_name(static_cast<Kind>(i)));
  }
  return names;
}

core::Result<void> add_kinds(std::string_view text, std::vector<Kind>& kinds) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::string name(text.substr(at, end - at));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const Kind kind = journal::kind_from(name);
    if (kind == Kind::unknown) return usage(fmt::format("--kind {}: the kinds are {}", text, all_kinds()));
    kinds.push_back(kind);
    at = end + 1;
  }
  return {};
}

// Takes a number of exactly `digits` digits off the front.
std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::chrono::microseconds> take_time_of_day(std::string_view& text) {
  const auto hours = take_digits(text, 2);
  if (!hours || *hours > 23 || !take(text, ":")) return std::nullopt;
  const auto minutes = take_digits(text, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  std::chrono::microseconds time = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
  if (!take(text, ":")) return time;
  const auto seconds = take_digits(text, 2);
  if (!seconds || *seconds > 60) return std::nullopt;
  time += std::chrono::seconds(*seconds);
  if (!take(text, ".")) return time;
  std::int64_t unit = 100'000;
  std::size_t count = 0;
  for (; count < 6; ++count, unit /= 10) {
    const auto digit = take_digits(text, 1);
    if (!digit) break;
    time += std::chrono::microseconds(*digit * unit);
  }
  if (count == 0) return std::nullopt;
  return time;
}

std::optional<journal::Time> point_in_time(std::string_view text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, "-")) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, "-")) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  journal::Time time = std::chrono::sys_days(date);
  if (take(text, "T ")) {
    const auto of_day = take_time_of_day(text);
    if (!of_day) return std::nullopt;
    time += *of_day;
  }
  (void)take(text, "Z");
  if (!text.empty()) return std::nullopt;
  return time;
}

core::Result<journal::Time> parse_time(std::string_view option, std::string_view text, journal::Time now) {
  if (const auto time = point_in_time(text)) return *time;
  constexpr core::DurationRange ages{std::chrono::milliseconds(0), std::chrono::hours(24 * 36'500)};
  std::string age(text);
  std::chrono::milliseconds factor{1};
  if (!age.empty() && age.back() == 'd') {
    age.back() = 'h';
    factor *= 24;
  }
  const auto duration = core::parse_duration(option, age, ages);
  if (!duration.ok() || text.empty()) {
    return usage(
        fmt::format("{} {}: give an age (90s, 10m, 2h, 7d) or a time in UTC (2026-11-29T18:43:54Z)", option, text));
  }
  return now - duration.value() * factor.count();
}

// The value of option NAME, given as "NAME VALUE" or "NAME=VALUE"; nothing when this argument is another one.
class Arguments {
 public:
  explicit Arguments(const std::vector<std::string>& args) : args_(args) {}

  [[nodiscard]] bool done() const { return at_ >= args_.size(); }
  [[nodiscard]] const std::string& current() const { return args_[at_]; }
  void next() { ++at_; }

  core::Result<std::optional<std::string>> value_of(std::string_view name) {
    const std::string& argument = args_[at_];
    if (argument.compare(0, name.size() + 1, std::string(name) + "=") == 0) {
      ++at_;
      return std::optional<std::string>(argument.substr(name.size() + 1));
    }
    if (argument != name) return std::optional<std::string>();
    if (at_ + 1 >= args_.size()) return usage(fmt::format("{} needs a value", name));
    at_ += 2;
    return std::optional<std::string>(args_[at_ - 1]);
  }

 private:
  const std::vector<std::string>& args_;
  std::size_t at_ = 1;
};

struct Given {
  std::vector<std::string> names;
  bool word = false;  // verify or prune
  bool flows = false;
  std::string_view filter;    // the first option that only `log` has
  std::string_view verdict;   // the option that says what became of the effect
  std::string_view said;      // one that `resolve` and `prune` alone have
  std::string_view of_prune;  // one that `prune` alone has
};

core::Result<void> set_filter(LogOptions& options, Given& given, std::string_view name, const std::string& value,
                              journal::Time now) {
  if (given.filter.empty()) given.filter = name;
  if (name == "--flow") {
    if (options.query.flow) return usage("--flow is given twice");
    options.query.flow = value;
    if (options.mode == LogMode::prune && given.filter == name) given.filter = {};
    return {};
  }
  if (name == "--kind") return add_kinds(value, options.query.kinds);
  if (name == "--since") {
    HEDDLE_ASSIGN(options.query.since, parse_since(value, now));
    return {};
  }
  HEDDLE_ASSIGN(options.query.from, core::parse_count("--from", value, {1, std::uint64_t{1} << 62}));
  return {};
}

core::Result<bool> take_filter(Arguments& arguments, LogOptions& options, Given& given, journal::Time now) {
  for (const std::string_view name : {"--flow", "--kind", "--since", "--from"}) {
    HEDDLE_ASSIGN(const std::optional<std::string> value, arguments.value_of(name));
    if (!value) continue;
    HEDDLE_TRY(set_filter(options, given, name, *value, now));
    return true;
  }
  return false;
}

core::Result<bool> take_verdict(Arguments& arguments, LogOptions& options, Given& given, journal::Time now) {
  HEDDLE_ASSIGN(const std::optional<std::string> before, arguments.value_of("--before"));
  if (before) {
    HEDDLE_ASSIGN(options.before, parse_time("--before", *before, now));
    given.of_prune = "--before";
    return true;
  }
  const auto is = [&given](std::string_view name) {
    if (!given.verdict.empty()) return false;
    given.verdict = name;
    return true;
  };
  const auto twice = [] { return usage("give one of --done, --failed and --run-again"); };
  HEDDLE_ASSIGN(const std::optional<std::string> done, arguments.value_of("--done"));
  if (done) {
    if (!is("--done")) return twice();
    options.resolution = journal::Resolution::success;
    options.output = *done;
    return true;
  }
  for (const std::string_view name : {"--by", "--reason"}) {
    HEDDLE_ASSIGN(const std::optional<std::string> value, arguments.value_of(name));
    if (!value) continue;
    given.said = name;
    (name == "--by" ? options.by : options.reason) = *value;
    return true;
  }
  const bool failed = arguments.current() == "--failed";
  if (!failed && arguments.current() != "--run-again") return false;
  if (!is(failed ? "--failed" : "--run-again")) return twice();
  options.resolution = failed ? journal::Resolution::failure : journal::Resolution::run_again;
  arguments.next();
  return true;
}

const char* name_of(LogMode mode) {
  switch (mode) {
    case LogMode::flows:
      return "heddle log --flows";
    case LogMode::verify:
      return "heddle log verify";
    case LogMode::prune:
      return "heddle log prune";
    case LogMode::replay:
      return "heddle replay";
    case LogMode::resolve:
      return "heddle resolve";
    case LogMode::help:
    case LogMode::log:
      break;
  }
  return "heddle log";
}

core::Result<void> check(const LogOptions& options, const Given& given) {
  const LogMode mode = options.mode;
  const char* const command = name_of(mode);
  const std::size_t wanted = mode == LogMode::resolve ? 3 : mode == LogMode::replay ? 2 : 1;
  if (given.names.empty()) return usage("JOURNAL is missing: name a file, or postgresql://HOST/DATABASE");
  if (given.names.size() < std::min<std::size_t>(wanted, 2)) {
    return usage("FLOW is missing: heddle log JOURNAL --flows lists them");
  }
  if (given.names.size() < wanted) return usage("KEY is missing: heddle log JOURNAL --flows --open lists them");
  if (given.names.size() > wanted) return usage(fmt::format("{} is not expected here", given.names[wanted]));
  if (mode != LogMode::log && !given.filter.empty()) {
    return usage(fmt::format("{} does not go with {}", given.filter, command));
  }
  if (mode != LogMode::log && options.follow) return usage(fmt::format("--follow does not go with {}", command));
  if (mode != LogMode::flows && options.open_only) return usage("--open goes with --flows");
  if (mode != LogMode::flows && given.flows) return usage(fmt::format("--flows does not go with {}", command));
  const bool says = mode == LogMode::resolve || mode == LogMode::prune;
  for (const std::string_view other :
       {mode == LogMode::resolve ? std::string_view() : given.verdict,
        mode == LogMode::prune ? std::string_view() : given.of_prune, says ? std::string_view() : given.said}) {
    if (!other.empty()) return usage(fmt::format("{} does not go with {}", other, command));
  }
  if (!says) return {};
  if (mode == LogMode::prune && !options.before) {
    return usage("--before is missing: flows that ended before then are pruned (90d, 2026-11-29)");
  }
  if (mode == LogMode::prune && options.dry_run) return {};
  if (mode == LogMode::resolve && given.verdict.empty()) {
    return usage("say what became of the effect: --done OUTPUT (its output, as JSON), --failed or --run-again");
  }
  if (options.reason.empty()) return usage("--reason is missing: say why, for whoever reads the journal");
  return {};
}

}  // namespace

core::Result<journal::Time> parse_since(std::string_view text, journal::Time now) {
  return parse_time("--since", text, now);
}

core::Result<LogOptions> parse_log_args(const std::vector<std::string>& args, journal::Time now) {
  LogOptions options;
  Given given;
  options.mode = args.front() == "replay"    ? LogMode::replay
                 : args.front() == "resolve" ? LogMode::resolve
                                             : LogMode::log;
  bool only_names = false;
  for (Arguments arguments(args); !arguments.done();) {
    const std::string& argument = arguments.current();
    if (only_names || argument.empty() || argument[0] != '-') {
      const bool word = args.front() == "log" && given.names.empty() && !given.word && !only_names;
      if (word && (argument == "verify" || argument == "prune")) {
        given.word = true;
        options.mode = argument == "verify" ? LogMode::verify : LogMode::prune;
      } else {
        given.names.push_back(argument);
      }
    } else if (argument == "--") {
      only_names = true;
    } else if (argument == "--help" || argument == "-h") {
      options.mode = LogMode::help;
      return options;
    } else if (argument == "--json") {
      options.json = true;
    } else if (argument == "--follow" || argument == "-f") {
      options.follow = true;
    } else if (argument == "--flows") {
      given.flows = true;
      if (options.mode == LogMode::log) options.mode = LogMode::flows;
    } else if (argument == "--open") {
      options.open_only = true;
    } else if (argument == "--dry-run") {
      options.dry_run = true;
      given.of_prune = "--dry-run";
    } else {
      HEDDLE_ASSIGN(bool taken, take_filter(arguments, options, given, now));
      if (!taken) {
        HEDDLE_ASSIGN(taken, take_verdict(arguments, options, given, now));
      }
      if (!taken) return usage(fmt::format("{} is not expected here", argument));
      continue;
    }
    arguments.next();
  }
  HEDDLE_TRY(check(options, given));
  options.journal = given.names[0];
  if (given.names.size() > 1) options.flow = given.names[1];
  if (given.names.size() > 2) options.key = given.names[2];
  return options;
}

std::string log_help_text() {
  return R"(heddle log shows what a journal holds: what happened, in order, fact by fact.

Usage:
  heddle log JOURNAL [--flow FLOW] [--kind KIND] [--since WHEN] [--from N]
                     [--follow] [--json]
  heddle log JOURNAL --flows [--open]  one flow after the other: how it stands
  heddle log verify JOURNAL [--json]   check every fact, and give a checksum
  heddle log prune JOURNAL --before WHEN [--flow FLOW] --reason WHY [--by WHO]
                   [--dry-run]         take away what old flows said
  heddle replay JOURNAL FLOW [--json]  the state that a flow's facts fold to
  heddle resolve JOURNAL FLOW KEY (--done OUTPUT | --failed | --run-again)
                 --reason WHY [--by WHO]   settle an effect that is in doubt

JOURNAL is a file, or postgresql://[USER@]HOST[:PORT]/DATABASE. A file that is
called verify or prune is ./verify or ./prune.

  --flow FLOW    facts of this flow alone
  --kind KIND    facts of this kind alone; several: OUTCOME,ACCESS_DENIED
  --since WHEN   facts from then on: an age (90s, 10m, 2h, 7d), or a time in
                 UTC (2026-11-29, 2026-11-29T18:43:54Z)
  --from N       facts from number N on
  --follow, -f   go on as the journal grows, until Ctrl-C
  --json         one object a line, all of each fact
  --flows        flows instead of facts; with --open those that have not ended
  --before WHEN  flows that ended before then
  --dry-run      only say how many facts it would be
  --done OUTPUT  the effect was done, and this is its output, one JSON value
  --failed       count it as failed
  --run-again    it was not done, or doing it twice does no harm

On a terminal it is coloured, unless NO_COLOR is set.

Exit codes: 0 ok, 15 failed (no such journal or flow, no server, a newer
format), 21 the journal is damaged or is none, 64 usage, 74 output not written,
130 Ctrl-C, 141 broken pipe.
)";
}

}  // namespace heddle::cli

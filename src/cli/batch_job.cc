// A line of --batch: its members are parts of its text, so that the input goes to the script as it came.
#include <fmt/format.h>

#include <set>

#include "args.h"
#include "heddle/core/text.h"
#include "json.h"
#include "line_jobs.h"

namespace heddle::cli {
namespace {

using sandbox::quickjs::RunLimits;
using sandbox::quickjs::RunRequest;

// The first thing that is wrong with a line.
struct Wrong {
  std::string_view at;  // the part of the line
  std::string message;
};

std::string shown(std::string_view key) { return core::printable_line(core::bound_text(key, 60)); }

// Members by name; `set` says what is wrong with one. A key with a lone surrogate is no name that we know.
template <class Set>
std::optional<Wrong> each_member(std::string_view object, std::string_view prefix, const Set& set) {
  std::set<std::string> seen;
  core::JsonMembers members(object);
  while (const auto member = members.next()) {
    const auto name = unquote_json(member->name).value_or(std::string(member->name));
    if (!seen.insert(name).second)
      return Wrong{member->name, fmt::format("field {}{} is there twice", prefix, shown(name))};
    if (auto message = set(name, member->value)) return Wrong{member->name, std::move(*message)};
  }
  return std::nullopt;
}

std::optional<std::string> set_limit(std::string_view name, std::string_view value, RunLimits& limits) {
  const auto whole = [&](core::SizeRange range, const char* unit, std::uint64_t& to) -> std::optional<std::string> {
    const auto number = core::parse_count(name, value, range);
    if (!number.ok()) {
      return fmt::format("limits.{} must be a whole number of {} from {} to {}", name, unit, range.lowest,
                         range.highest);
    }
    to = number.value();
    return std::nullopt;
  };
  if (name == "wallClockMs") {
    std::uint64_t ms = 0;
    auto wrong = whole(
        {static_cast<std::uint64_t>(kTimeRange.lowest.count()), static_cast<std::uint64_t>(kTimeRange.highest.count())},
        "milliseconds", ms);
    if (!wrong) limits.wall_clock = std::chrono::milliseconds(ms);
    return wrong;
  }
  if (name == "memoryBytes") return whole(kMemoryRange, "bytes", limits.memory_bytes);
  if (name == "outputBytes") return whole(kTextRange, "bytes", limits.output_bytes);
  return fmt::format("limits.{} is no known field; wallClockMs, memoryBytes and outputBytes are", shown(name));
}

std::optional<Wrong> set_limits(std::string_view object, RunLimits& limits) {
  return each_member(object, "limits.",
                     [&](const std::string& name, std::string_view value) { return set_limit(name, value, limits); });
}

std::optional<Wrong> read_line(std::string_view text, RunRequest& request, bool& has_script) {
  std::optional<Wrong> in_limits;
  auto wrong =
      each_member(text, "", [&](const std::string& name, std::string_view value) -> std::optional<std::string> {
        if (name == "script") {
          if (value.front() != '"') return "script must be a string";
          auto script = unquote_json(value);
          if (!script) return "script has an escaped lone surrogate, which no script can hold";
          request.script = std::move(*script);
          has_script = true;
          return std::nullopt;
        }
        if (name == "input") {
          request.input_json = value;
          return std::nullopt;
        }
        if (name != "limits") return fmt::format("{} is no known field; script, input and limits are", shown(name));
        if (value.front() != '{') return "limits must be an object";
        in_limits = set_limits(value, request.limits);
        if (!in_limits) return std::nullopt;
        return in_limits->message;
      });
  return in_limits ? in_limits : wrong;
}

}  // namespace

std::uint64_t batch_line_ceiling(Ceilings ceilings) { return 6 * ceilings.script + ceilings.input + 4096; }

Job batch_job(const Line& line, const RunRequest& defaults, Ceilings ceilings) {
  if (line.too_long) {
    return failed_report(fmt::format("batch line {} has more than {}, the most that --max-script and --max-input allow",
                                     line.number, core::size_text(batch_line_ceiling(ceilings))));
  }
  const auto failed_at = [&](std::size_t offset, std::string_view message) {
    return failed_report(fmt::format("batch line {}, column {}: {}", line.number, offset + 1, message));
  };
  const std::string_view text = line.text;
  if (const auto fault = check_json(text)) return failed_at(fault->offset, fault->message);
  const auto begin = text.find_first_not_of(" \t\r");
  if (text[begin] != '{') return failed_at(begin, "an object must stand here: {\"script\":…,\"input\":…,\"limits\":…}");
  RunRequest request;
  request.limits = defaults.limits;
  request.explain = defaults.explain;
  bool has_script = false;
  if (const auto wrong = read_line(text, request, has_script))
    return failed_at(static_cast<std::size_t>(wrong->at.data() - text.data()), wrong->message);
  if (!has_script) return failed_at(begin, "the field script is missing");
  if (request.script.size() > ceilings.script) {
    return failed_report(fmt::format("batch line {}: the script has {} bytes, over --max-script {}", line.number,
                                     request.script.size(), core::size_text(ceilings.script)));
  }
  if (request.input_json.size() > ceilings.input) {
    return report(OutcomeKind::input_too_large,
                  fmt::format("batch line {}: the input has {} bytes, over --max-input {}", line.number,
                              request.input_json.size(), core::size_text(ceilings.input)));
  }
  return request;
}

}  // namespace heddle::cli

#include "heddle/sandbox/effect/eval_input.h"

#include <charconv>

#include "heddle/core/json.h"
#include "heddle/effect/schema/json_text.h"

namespace heddle::sandbox {
namespace {

using core::quote_json;
using effect::JsonMember;
using effect::split_object;

core::Error malformed(std::string_view why) {
  return core::make_error(core::Errc::malformed, "read the input of sandboxEval", why);
}

core::Result<std::uint64_t> positive(const JsonMember& member) {
  std::uint64_t value = 0;
  const char* end = member.value.data() + member.value.size();
  const auto read = std::from_chars(member.value.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || value == 0) {
    return malformed("limits." + member.name + " must be a whole number above zero");
  }
  return value;
}

core::Result<EvalLimits> read_limits(std::string_view json) {
  auto members = split_object(json);
  if (!members.ok()) return malformed("limits: " + members.error().context);
  EvalLimits limits;
  for (const JsonMember& member : members.value()) {
    if (member.name != "wallClockMs" && member.name != "memoryBytes" && member.name != "inputBytes" &&
        member.name != "outputBytes") {
      return malformed("limits has the unknown member " + quote_json(member.name));
    }
    HEDDLE_ASSIGN(const std::uint64_t value, positive(member));
    if (member.name == "memoryBytes") {
      limits.memory_bytes = value;
    } else if (member.name == "inputBytes") {
      limits.input_bytes = value;
    } else if (member.name == "outputBytes") {
      limits.output_bytes = value;
    } else {
      constexpr auto kMost = static_cast<std::uint64_t>(std::chrono::milliseconds(kMaxWallClock).count());
      if (value > kMost) return malformed("limits.wallClockMs is over " + std::to_string(kMost));
      limits.wall_clock = std::chrono::milliseconds(value);
    }
  }
  return limits;
}

core::Result<effect::ContentAddress> read_script(std::string_view json) {
  // An address holds nothing that JSON escapes.
  if (json.size() < 2 || json.front() != '"') return malformed("script must be a string");
  auto address = effect::ContentAddress::parse(json.substr(1, json.size() - 2));
  if (!address.ok()) return malformed("script: " + address.error().context);
  return address;
}

}  // namespace

core::Result<SandboxEvalInput> SandboxEvalInput::parse(std::string_view json) {
  // The input is only cut out: what is wrong with it has a channel of its own.
  if (const auto fault = core::check_json(json)) return malformed(fault->message);
  if (!core::is_json_object(json, core::kAnyJsonDepth)) return malformed("it is no object");
  std::string rest = "{";
  std::optional<std::string_view> raw_input;
  core::JsonMembers all(json);
  while (const auto member = all.next()) {
    if (core::unquote_json(member->name) == "input") {
      if (raw_input) return malformed("input is named twice");
      raw_input = member->value;
    } else {
      if (rest.size() > 1) rest += ',';
      rest.append(member->name).append(1, ':').append(member->value);
    }
  }
  auto members = split_object(rest + '}');
  if (!members.ok()) return malformed(members.error().context);
  std::optional<effect::ContentAddress> script;
  std::optional<std::string> shape;
  EvalLimits limits;
  for (JsonMember& member : members.value()) {
    if (member.name == "script") {
      HEDDLE_ASSIGN(script, read_script(member.value));
    } else if (member.name == "shape") {
      shape = std::move(member.value);
    } else if (member.name == "limits") {
      HEDDLE_ASSIGN(limits, read_limits(member.value));
    } else {
      return malformed("the unknown member " + quote_json(member.name));
    }
  }
  if (!script) return malformed("script is missing: the content address of a script");
  return SandboxEvalInput{*script, std::string(raw_input.value_or("null")), std::move(shape), limits};
}

std::string SandboxEvalInput::to_json() const {
  std::string text = "{\"script\":\"" + script.text() + "\",\"input\":" + input_json;
  if (shape_json) text += ",\"shape\":" + *shape_json;
  std::string asked;
  const auto ask = [&asked](std::string_view name, std::optional<std::uint64_t> value) {
    if (!value) return;
    asked += (asked.empty() ? "\"" : ",\"") + std::string(name) + "\":" + std::to_string(*value);
  };
  if (limits.wall_clock) ask("wallClockMs", static_cast<std::uint64_t>(limits.wall_clock->count()));
  ask("memoryBytes", limits.memory_bytes);
  ask("inputBytes", limits.input_bytes);
  ask("outputBytes", limits.output_bytes);
  if (!asked.empty()) text += ",\"limits\":{" + asked + "}";
  return text + "}";
}

}  // namespace heddle::sandbox

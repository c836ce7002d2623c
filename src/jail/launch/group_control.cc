#include "heddle/jail/launch/group_control.h"

namespace heddle::jail {
namespace {

struct LimitField {
  const char* name;
  std::optional<GroupLimit> GroupLimits::*limit;
};
constexpr LimitField kLimits[] = {
    {"memory", &GroupLimits::memory_bytes},
    {"swap", &GroupLimits::swap_bytes},
    {"processes", &GroupLimits::processes},
    {"cpu", &GroupLimits::cpu_percent},
};

// In the order of GroupPart.
constexpr const char* kParts[] = {"memory", "swap", "processes", "cpu", "own"};
static_assert(sizeof kParts / sizeof kParts[0] == kGroupPartCount);

struct UsageField {
  const char* name;
  std::uint64_t CgroupUsage::*number;
};
constexpr UsageField kUsage[] = {
    {"group.oom_kills", &CgroupUsage::oom_kills},
    {"group.processes_refused", &CgroupUsage::processes_refused},
    {"group.cpu_us", &CgroupUsage::cpu_microseconds},
    {"group.throttled_us", &CgroupUsage::throttled_microseconds},
    {"group.throttled_periods", &CgroupUsage::throttled_periods},
};

constexpr std::uint64_t kMaxErrno = 4095;

std::string field(const char* part, const char* what) { return std::string("group.") + part + what; }

}  // namespace

wire::Message encode_choice(const GroupChoice& choice) {
  wire::Message message("groups");
  message.set("parent", static_cast<std::uint32_t>(choice.parent));
  message.set("host", static_cast<std::uint32_t>(choice.host));
  message.set("folder", choice.folder);
  return message;
}

core::Result<GroupChoice> decode_choice(wire::Message& message) {
  GroupChoice choice;
  HEDDLE_ASSIGN(const std::uint64_t parent, message.take_number("parent", 2));
  HEDDLE_ASSIGN(const std::uint64_t host, message.take_number("host", 1));
  HEDDLE_ASSIGN(choice.folder, message.take_string("folder"));
  HEDDLE_TRY(message.finish());
  choice.parent = static_cast<GroupChoice::Parent>(parent);
  choice.host = static_cast<GroupChoice::Host>(host);
  return choice;
}

void encode_limits(const GroupLimits& limits, wire::Message& message) {
  for (const LimitField& each : kLimits) {
    const std::optional<GroupLimit>& limit = limits.*each.limit;
    if (!limit) continue;
    message.set(field(each.name, ""), limit->value);
    message.set(field(each.name, ".required"), limit->need == Need::required);
  }
  if (limits.own_group != Need::off) message.set("group.own.required", limits.own_group == Need::required);
}

core::Result<GroupLimits> decode_limits(wire::Message& message) {
  const auto need = [](bool required) { return required ? Need::required : Need::if_available; };
  GroupLimits limits;
  for (const LimitField& each : kLimits) {
    if (!message.has(field(each.name, ""))) continue;
    HEDDLE_ASSIGN(const std::uint64_t value, message.take_number(field(each.name, "")));
    HEDDLE_ASSIGN(const bool required, message.take_bool(field(each.name, ".required")));
    limits.*each.limit = GroupLimit{value, need(required)};
  }
  if (message.has("group.own.required")) {
    HEDDLE_ASSIGN(const bool required, message.take_bool("group.own.required"));
    limits.own_group = need(required);
  }
  return limits;
}

void encode_applied(const AppliedCgroup& applied, wire::Message& message) {
  message.set("group.path", applied.path);
  message.set("group.ends_together", applied.ends_together);
  message.set("group.kill", applied.group_kill);
  for (std::size_t at = 0; at < kGroupPartCount; ++at) {
    const AppliedCgroup::Part& part = applied.parts.at(at);
    if (!part.asked) continue;
    message.set(field(kParts[at], ".problem"), static_cast<std::uint32_t>(part.problem));
    message.set(field(kParts[at], ".errno"), static_cast<std::uint32_t>(part.error));
    if (part.applied) message.set(field(kParts[at], ".applied"), *part.applied);
  }
}

core::Result<AppliedCgroup> decode_applied(wire::Message& message) {
  AppliedCgroup applied;
  HEDDLE_ASSIGN(applied.path, message.take_string("group.path"));
  HEDDLE_ASSIGN(applied.ends_together, message.take_bool("group.ends_together"));
  HEDDLE_ASSIGN(applied.group_kill, message.take_bool("group.kill"));
  for (std::size_t at = 0; at < kGroupPartCount; ++at) {
    if (!message.has(field(kParts[at], ".problem"))) continue;
    AppliedCgroup::Part& part = applied.parts.at(at);
    part.asked = true;
    HEDDLE_ASSIGN(const std::uint64_t problem,
                  message.take_number(field(kParts[at], ".problem"), kGroupProblemCount - 1));
    part.problem = static_cast<GroupProblem>(problem);
    HEDDLE_ASSIGN(const std::uint64_t error, message.take_number(field(kParts[at], ".errno"), kMaxErrno));
    part.error = static_cast<int>(error);
    if (!message.has(field(kParts[at], ".applied"))) continue;
    HEDDLE_ASSIGN(const std::uint64_t value, message.take_number(field(kParts[at], ".applied")));
    part.applied = value;
  }
  return applied;
}

void encode_usage(const CgroupUsage& usage, wire::Message& message) {
  for (const UsageField& each : kUsage) message.set(each.name, usage.*each.number);
  if (usage.peak_bytes) message.set("group.peak_bytes", *usage.peak_bytes);
}

core::Result<std::optional<CgroupUsage>> decode_usage(wire::Message& message) {
  if (!message.has(kUsage[0].name)) return std::optional<CgroupUsage>();
  CgroupUsage usage;
  for (const UsageField& each : kUsage) {
    HEDDLE_ASSIGN(usage.*each.number, message.take_number(each.name));
  }
  if (message.has("group.peak_bytes")) {
    HEDDLE_ASSIGN(const std::uint64_t peak, message.take_number("group.peak_bytes"));
    usage.peak_bytes = peak;
  }
  return std::optional<CgroupUsage>(usage);
}

}  // namespace heddle::jail

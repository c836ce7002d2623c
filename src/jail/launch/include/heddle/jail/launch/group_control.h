// Control groups as fields of the messages between host and supervisor, and back. All names begin with "group.".
#pragma once

#include <optional>

#include "heddle/core/result.h"
#include "heddle/jail/launch/cgroup.h"
#include "heddle/jail/launch/group.h"
#include "heddle/wire/message.h"

namespace heddle::jail {

[[nodiscard]] wire::Message encode_choice(const GroupChoice& choice);
[[nodiscard]] core::Result<GroupChoice> decode_choice(wire::Message& message);

void encode_limits(const GroupLimits& limits, wire::Message& message);
[[nodiscard]] core::Result<GroupLimits> decode_limits(wire::Message& message);

void encode_applied(const AppliedCgroup& applied, wire::Message& message);
[[nodiscard]] core::Result<AppliedCgroup> decode_applied(wire::Message& message);

void encode_usage(const CgroupUsage& usage, wire::Message& message);
/// Nothing when the message has none.
[[nodiscard]] core::Result<std::optional<CgroupUsage>> decode_usage(wire::Message& message);

}  // namespace heddle::jail

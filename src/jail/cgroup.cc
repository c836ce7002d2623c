#include "heddle/jail/cgroup.h"

#include "heddle/core/error.h"

namespace heddle::jail {

std::string describe(const AppliedCgroup& applied) {
  std::string text;
  if (!applied.path.empty()) text = "cgroup: " + applied.path + "\n";
  for (std::size_t at = 0; at < kGroupPartCount; ++at) {
    const AppliedCgroup::Part& part = applied.parts.at(at);
    if (!part.asked) continue;
    const auto which = static_cast<GroupPart>(at);
    text += std::string(group_part_name(which)) + ": ";
    if (!part.applied) {
      text += std::string("not applied: ") + group_problem_text(part.problem);
      if (part.error != 0) text += " (" + core::errno_text(part.error) + ")";
    } else if (which == GroupPart::own_group) {
      text += applied.group_kill ? "yes, ended by cgroup.kill" : "yes, ended process by process";
    } else {
      text += std::to_string(*part.applied);
      if (which == GroupPart::cpu) text += " % of one processor";
      if (which == GroupPart::memory && !applied.ends_together) text += ", ending one process and not all together";
    }
    text += "\n";
  }
  return text;
}

}  // namespace heddle::jail

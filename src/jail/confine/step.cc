#include "heddle/jail/confine/step.h"

namespace heddle::jail {
namespace {

constexpr const char* kNames[] = {
    "none",
    "request",
    "descriptors_high",
    "null_device",
    "notify_socket",
    "landlock_version",
    "landlock_create",
    "landlock_rule",
    "group_parent",
    "group_controller",
    "group_create",
    "group_limit",
    "child_stack",
    "signals_blocked",
    "lifeline",
    "handover",
    "clone",
    "group_enter",
    "namespaces",
    "dispositions",
    "session",
    "working_directory",
    "stdio",
    "descriptors",
    "close_others",
    "file_mask",
    "map_folder",
    "root_private",
    "root_create",
    "root_mount",
    "root_pivot",
    "root_detach",
    "bounding_set",
    "groups",
    "group_id",
    "user_id",
    "user_namespace",
    "map_owner",
    "map_groups",
    "map_ids",
    "limits",
    "parent_death",
    "parent_alive",
    "no_new_privs",
    "landlock_restrict",
    "ambient_set",
    "capabilities",
    "signal_mask",
    "execute",
    "seal_create",
    "seal_restrict",
    "no_exec_gain",
    "filter_check",
    "filter_read",
    "filter_close",
    "notify_order",
    "not_dumpable",
    "filter_load",
    "notify_pass",
    "notify_close",
    "second_filter",
};
static_assert(sizeof kNames / sizeof kNames[0] == kStepCount);

}  // namespace

const char* step_name(Step step) noexcept {
  const auto at = static_cast<unsigned>(step);
  return at < kStepCount ? kNames[at] : "unknown";
}

Step find_step(std::string_view name) noexcept {
  for (unsigned at = 1; at < kStepCount; ++at) {
    if (name == kNames[at]) return static_cast<Step>(at);
  }
  return Step::none;
}

bool is_namespace_step(Step step) noexcept {
  switch (step) {
    case Step::namespaces:
    case Step::map_folder:
    case Step::root_private:
    case Step::root_create:
    case Step::root_mount:
    case Step::root_pivot:
    case Step::root_detach:
    case Step::user_namespace:
    case Step::map_owner:
    case Step::map_groups:
    case Step::map_ids:
      return true;
    default:
      return false;
  }
}

}  // namespace heddle::jail

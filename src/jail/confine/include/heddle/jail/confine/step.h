// Step: every set-up step of a jail that can fail, in the order in which they run. What fails is named by one of these;
// a failed step is never followed by a guest that runs (JAIL-11).
#pragma once

#include <cstdint>
#include <string_view>

namespace heddle::jail {

/// Numbers cross the supervisor's socket and the guest's channel; both ends are of one version.
enum class Step : std::uint16_t {
  none = 0,

  // The supervisor, before there is a child.
  request,           ///< the request is complete and sane
  descriptors_high,  ///< received descriptors moved out of the way of those that the guest gets
  null_device,       ///< /dev/null opened
  notify_socket,     ///< the socket over which the guest's listener comes
  landlock_version,  ///< Landlock is there and on
  landlock_create,   ///< first ruleset
  landlock_rule,     ///< execute and read on the guest's program, nothing else
  group_parent,      ///< a place for control groups; the detail of all group steps: launch/cgroup.h, group_detail()
  group_controller,  ///< the controller of a required limit handed down to it
  group_create,      ///< the guest's own group
  group_limit,       ///< a required limit written
  child_stack,       ///< memory for the child's stack
  signals_blocked,   ///< no handler runs between clone and exec
  lifeline,          ///< a pipe that ends with the supervisor
  handover,          ///< the socket over which a child that was made ahead gets what is its guest's
  clone,             ///< the child
  namespaces,        ///< the child in namespaces of its own

  // The child, before exec.
  group_enter,        ///< in its control group: born in it, or, where clone3 is not to be had, its first act
  dispositions,       ///< signal dispositions back to default
  session,            ///< own session and process group
  working_directory,  ///< the root folder
  stdio,              ///< stdin, stdout, stderr are /dev/null
  descriptors,        ///< the guest's descriptors in place
  close_others,       ///< every other descriptor closed
  file_mask,          ///< umask 077
  map_folder,         ///< its own folder in /proc, where the maps of ids are
  root_private,       ///< mounts of its own, which nobody else sees
  root_create,        ///< an empty read-only file system
  root_mount,         ///< mounted
  root_pivot,         ///< made the root folder
  root_detach,        ///< the host's root folder gone from it
  bounding_set,       ///< capability bounding set emptied (root, and in a user namespace)
  groups,             ///< supplementary groups dropped (root only)
  group_id,           ///< the guest's own group id (root only)
  user_id,            ///< the guest's own user id (root only)
  user_namespace,     ///< the user namespace (root only: anybody else gets it with `namespaces`)
  map_owner,          ///< may write the maps (root only)
  map_groups,         ///< supplementary groups refused for good
  map_ids,            ///< the guest's own user and group id mapped, nothing else
  limits,             ///< resource limits; the detail is the RLIMIT_ number
  parent_death,       ///< SIGKILL when the supervisor ends
  parent_alive,       ///< and it has not ended yet
  no_new_privs,       ///< before anything is loaded (JAIL-1)
  landlock_restrict,  ///< first ruleset enforced
  ambient_set,        ///< ambient capabilities cleared
  capabilities,       ///< all capability sets emptied
  signal_mask,        ///< no signal blocked
  execute,            ///< the guest's program

  // The guest's program, in confine_self().
  seal_create,    ///< second ruleset: nothing at all, execute least of all
  seal_restrict,  ///< second ruleset enforced
  no_exec_gain,   ///< memory never becomes executable (where the kernel has PR_SET_MDWE)
  filter_check,   ///< the filters' memory is sealed and of a sane size
  filter_read,    ///< the filters read
  filter_close,   ///< their descriptor closed
  notify_order,   ///< the supervisor is there and says whether it must have the listener
  not_dumpable,   ///< no core, no /proc access by others
  filter_load,    ///< the filter enforced, with a listener where the policy wants one
  notify_pass,    ///< the listener, or the word that there is none, is on its way to the supervisor
  notify_close,   ///< the guest's own listener and socket closed; the last

  // And in narrow_self(), where its policy has a second filter.
  second_filter,  ///< enforced on every thread
};

inline constexpr unsigned kStepCount = static_cast<unsigned>(Step::second_filter) + 1;

/// "landlock_restrict": stable words for messages and reports; "unknown" for other numbers.
const char* step_name(Step step) noexcept;

/// The step of that name; `none` when there is none.
Step find_step(std::string_view name) noexcept;

/// The steps that set namespaces up, all of them in the child or in making it.
bool is_namespace_step(Step step) noexcept;

/// What failed: no allocation, so that it can be made between clone and exec.
struct Failure {
  Step step = Step::none;
  int error = 0;   ///< errno; 0 when the child was killed during the step
  int detail = 0;  ///< the step's own: an RLIMIT_ number, a descriptor
};

}  // namespace heddle::jail

#include "heddle/jail/launch/group.h"

namespace heddle::jail {

const char* group_part_name(GroupPart part) noexcept {
  switch (part) {
    case GroupPart::memory:
      return "memory.max";
    case GroupPart::swap:
      return "memory.swap.max";
    case GroupPart::processes:
      return "pids.max";
    case GroupPart::cpu:
      return "cpu.max";
    case GroupPart::own_group:
      return "a group of its own";
  }
  return "unknown";
}

const char* group_problem_text(GroupProblem problem) noexcept {
  switch (problem) {
    case GroupProblem::none:
      return "";
    case GroupProblem::switched_off:
      return "control groups are switched off for this supervisor";
    case GroupProblem::not_mounted:
      return "no cgroup2 file system is mounted here: boot with systemd.unified_cgroup_hierarchy=1, or mount it";
    case GroupProblem::hidden:
      return "our own group cannot be seen from here: give the container a cgroup namespace of its own";
    case GroupProblem::not_a_group:
      return "the configured folder is not a cgroup2 folder";
    case GroupProblem::not_delegated:
      return "no group is delegated to this user: start the service with Delegate=yes, or name a folder that is this "
             "user's own";
    case GroupProblem::read_only:
      return "the cgroup2 file system is mounted read-only: mount it writable in the container";
    case GroupProblem::holds_processes:
      return "the group that would hand controllers down holds processes, and the kernel allows one or the other: move "
             "them to a group below it (DelegateSubgroup=, or let Heddle move the host)";
    case GroupProblem::no_controller:
      return "the controller is not available in this cgroup2 tree: cgroup version 1 owns it, or no group above hands "
             "it "
             "down";
    case GroupProblem::no_file:
      return "this kernel has no such control file";
    case GroupProblem::kernel_refused:
      return "the kernel refused it";
    case GroupProblem::untrusted_folder:
      return "the configured folder can be written by anybody: take that away, or name another one";
  }
  return "unknown";
}

}  // namespace heddle::jail

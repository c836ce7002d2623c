// Failed steps in words, with what the operator can do.
#include <sys/resource.h>

#include <cerrno>
#include <string>

#include "heddle/jail/guest.h"
#include "heddle/jail/launch/cgroup.h"
#include "namespace_advice.h"

namespace heddle::jail {
namespace {

using core::Errc;

bool is_group_step(Step step) {
  return step == Step::group_parent || step == Step::group_controller || step == Step::group_create ||
         step == Step::group_limit;
}

std::string group_advice(const Failure& failure) {
  const GroupDetail detail = read_group_detail(failure.detail);
  return std::string(group_part_name(detail.part)) + " is required: " + group_problem_text(detail.problem);
}

// A machine that does not have it, as opposed to one that failed.
bool lacks_group(const Failure& failure) {
  if (!is_group_step(failure.step)) return false;
  const GroupProblem problem = read_group_detail(failure.detail).problem;
  return problem != GroupProblem::kernel_refused && problem != GroupProblem::untrusted_folder;
}

std::string advice(const Failure& failure) {
  const bool not_permitted = failure.error == EPERM;
  if (is_namespace_step(failure.step)) {
    return "the policy requires namespaces and " + why_no_namespaces(failure) +
           ". Or let the policy do without: namespaces if_available";
  }
  switch (failure.step) {
    case Step::landlock_version:
    case Step::seal_create:
    case Step::landlock_create:
      if (failure.error == EOPNOTSUPP) return "Landlock is switched off: add landlock to the kernel's lsm= parameter";
      if (failure.error == ENOSYS)
        return "this kernel has no Landlock: Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK";
      return not_permitted ? "an outer sandbox or container refuses Landlock: allow its system calls there" : "";
    case Step::descriptors_high:
      return "raise the limit of open files (ulimit -n) to 256 or more";
    case Step::group_parent:
    case Step::group_controller:
    case Step::group_create:
    case Step::group_limit:
      return group_advice(failure);
    case Step::group_enter:
      if (failure.error == EACCES || not_permitted) {
        return "moving a process there takes the right to write cgroup.procs of the group that holds both: start the "
               "host inside the delegated group";
      }
      return failure.error == EBUSY ? "the group hands controllers down and so may hold no process" : "";
    case Step::clone:
      return failure.error == EAGAIN ? "the limit of processes is reached (ulimit -u, pids.max)"
                                     : (failure.error == ENOMEM ? "the machine is out of memory" : "");
    case Step::bounding_set:
    case Step::groups:
    case Step::group_id:
    case Step::user_id:
      if (failure.error == EINVAL)
        return "the guest's user id is not mapped in this user namespace: configure a range that is";
      return not_permitted
                 ? "root without the capabilities SETPCAP, SETUID and SETGID: grant them, or run as an ordinary user"
                 : "";
    case Step::limits:
      return "resource limit number " + std::to_string(failure.detail);
    case Step::close_others:
      return failure.error == ENOSYS
                 ? "Linux 5.9 or later is needed, and an outer sandbox that lets close_range through"
                 : "";
    case Step::parent_alive:
      return "the supervisor ended meanwhile";
    case Step::execute:
      if (failure.error == EACCES)
        return "every user must be allowed to execute the program, and its mount must not be noexec";
      if (failure.error == ENOENT || failure.error == ENOEXEC)
        return "the program must be a static binary for this machine";
      return failure.error == EAGAIN ? "the limit of processes is reached (ulimit -u)" : "";
    default:
      return not_permitted ? "an outer sandbox or container refuses it" : "";
  }
}

}  // namespace

core::Error refused(const Failure& failure) {
  const bool landlock_missing = (failure.step == Step::landlock_version || failure.step == Step::seal_create) &&
                                (failure.error == ENOSYS || failure.error == EOPNOTSUPP);
  core::Error error = core::system_error(failure.error, step_name(failure.step));
  error.code = landlock_missing || lacks_group(failure) ? Errc::unsupported : Errc::confinement;
  const std::string hint = advice(failure);
  error.context = failure.error == 0 ? "ended by a signal during this step; " : "";
  if (!hint.empty()) error.context += hint + "; ";
  error.context += "the guest was not started";
  return error;
}

}  // namespace heddle::jail

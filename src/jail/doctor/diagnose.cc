#include <cerrno>
#include <csignal>

#include "heddle/core/errc.h"
#include "heddle/core/error.h"
#include "heddle/jail/confine/landlock.h"
#include "heddle/jail/doctor/doctor.h"

namespace heddle::jail {
namespace {

using State = Layer::State;

std::string attempt_text(Attempt attempt) {
  if (attempt == kNotTried) return "it was not tried";
  if (attempt == EPROTO) return "the kernel takes it and does not act on it";
  if (attempt == -SIGALRM) return "the kernel did not answer";
  if (attempt < 0) return "an outer sandbox ends who tries (signal " + std::to_string(-attempt) + ")";
  return core::errno_text(attempt);
}

// EPERM and ENOSYS are what container runtimes' filters answer to calls that they do not know.
bool outer_sandbox(const Machine& machine, Attempt attempt) {
  return attempt < 0 || (machine.outer_filters > 0 && (attempt == EPERM || attempt == ENOSYS));
}

const char* const kAllowOuter = "allow it in the sandbox or container that this runs in (its seccomp profile)";

class Doctor {
 public:
  Doctor(const Machine& machine, const Applied& applied) : machine_(machine), applied_(applied) {}

  Diagnosis run() {
    required();
    landlock_parts();
    memory();
    notifications();
    namespaces();
    cgroups();
    diagnosis_.script_worker = true;
    for (const Layer& layer : diagnosis_.layers) {
      if (layer.need == Layer::Need::required && layer.state != State::enforced) diagnosis_.script_worker = false;
    }
    return std::move(diagnosis_);
  }

 private:
  Layer& add(const char* id, const char* name, Layer::Need need, State state, std::string version = "") {
    Layer layer;
    layer.id = id;
    layer.name = name;
    layer.need = need;
    layer.state = state;
    layer.version = std::move(version);
    diagnosis_.layers.push_back(std::move(layer));
    return diagnosis_.layers.back();
  }

  // A required layer that was tried: enforced, or missing with the errno's words and this advice.
  Layer& tried(const char* id, const char* name, Attempt attempt, const char* advice) {
    Layer& layer = add(id, name, Layer::Need::required, attempt == 0 ? State::enforced : State::missing);
    if (attempt == 0) return layer;
    layer.reason = attempt_text(attempt);
    layer.advice = outer_sandbox(machine_, attempt) ? kAllowOuter : advice;
    return layer;
  }

  // What the machine has and the jail applies, applies not yet, or what is not there.
  static State further(bool there, bool applied) {
    if (!there) return State::missing;
    return applied ? State::enforced : State::available;
  }

  void required() {
    tried("no_new_privs", "No new privileges", machine_.no_new_privs, "Linux 3.5 or later is needed");
    landlock_files();
    tried("seccomp_filter", "System call filter", machine_.filter, "a kernel with CONFIG_SECCOMP_FILTER is needed");
    tried("seccomp_foreign", "System calls of other ABIs refused", machine_.foreign_calls,
          "a kernel with CONFIG_SECCOMP_FILTER is needed");
    tried("pidfd", "Process descriptors", machine_.pidfd, "Linux 5.3 or later is needed");
    tried("close_range", "Descriptors closed by range", machine_.close_range, "Linux 5.9 or later is needed");
    identity();
    worker();
  }

  void landlock_files() {
    const int abi = machine_.landlock_abi;
    const bool enforced = abi > 0 && machine_.landlock_files == 0;
    Layer& layer =
        add("landlock_files", "Landlock: files", Layer::Need::required, enforced ? State::enforced : State::missing);
    if (abi > 0) layer.version = "ABI " + std::to_string(abi);
    if (abi > kLandlockNewestAbi) layer.version += ", used as " + std::to_string(kLandlockNewestAbi);
    if (enforced) return;
    const Attempt attempt = abi > 0 ? machine_.landlock_files : -abi;
    if (abi == -EOPNOTSUPP) {
      layer.reason = "Landlock is in this kernel and switched off";
      layer.advice = "boot with landlock in the lsm= parameter: lsm=landlock";
      layer.advice += machine_.lsms.empty() ? ",..." : "," + machine_.lsms;
      return;
    }
    if (outer_sandbox(machine_, attempt)) {
      layer.reason = "an outer sandbox or container refuses it: " + attempt_text(attempt);
      layer.advice = kAllowOuter;
      return;
    }
    layer.reason = abi == -ENOSYS ? "this kernel has no Landlock" : attempt_text(attempt);
    layer.advice = "run Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK";
  }

  void identity() {
    if (!machine_.root) {
      Layer& layer = add("identity", "A user of its own", Layer::Need::further, State::missing);
      layer.reason = "only root can give guests user ids of their own: they run as yours, behind the other layers";
      layer.advice = "none needed; under root each guest is a user of its own";
      return;
    }
    // The ids that are used depend on the user namespace; a worker that runs is the better proof.
    const bool works = machine_.identity == 0 || machine_.worker_problem.empty();
    Layer& layer =
        add("identity", "A user of its own", Layer::Need::required, works ? State::enforced : State::missing);
    if (works) return;
    layer.reason = "this root may not become another user: " + attempt_text(machine_.identity);
    layer.advice = "grant it the capabilities SETUID, SETGID and SETPCAP, or run Heddle as an ordinary user";
  }

  void worker() {
    Layer& layer = add("worker", "A script worker, started and looked at", Layer::Need::required,
                       machine_.worker_problem.empty() ? State::enforced : State::missing);
    layer.reason = machine_.worker_problem;
    if (!layer.reason.empty()) layer.advice = "mend what is missing above, or what the reason names";
  }

  // What newer ABIs bring; the filter stands in for it.
  void landlock_part(const char* id, const char* name, int least_abi, const char* linux_version, Attempt attempt,
                     const char* in_its_place) {
    const bool there = machine_.landlock_abi >= least_abi;
    Layer& layer = add(id, name, Layer::Need::further, there && attempt == 0 ? State::enforced : State::missing);
    if (layer.state == State::enforced) {
      layer.version = "from ABI " + std::to_string(least_abi);
      return;
    }
    layer.reason = there ? attempt_text(attempt)
                         : "this kernel's Landlock " +
                               (machine_.landlock_abi > 0 ? "is ABI " + std::to_string(machine_.landlock_abi)
                                                          : std::string("is missing")) +
                               "; ABI " + std::to_string(least_abi) + " has it";
    layer.reason += std::string("; ") + in_its_place;
    layer.advice = std::string("none needed; Linux ") + linux_version + " adds this layer";
  }

  void landlock_parts() {
    landlock_part("landlock_network", "Landlock: TCP", 4, "6.7", machine_.landlock_network,
                  "the filter alone refuses sockets");
    landlock_part("landlock_scopes", "Landlock: signals, abstract sockets", 6, "6.12", machine_.landlock_scopes,
                  "the filter alone refuses both");
  }

  void memory() {
    Layer& layer = add("mdwe", "Memory never becomes executable", Layer::Need::further,
                       machine_.mdwe == 0 ? State::enforced : State::missing);
    if (machine_.mdwe == 0) return;
    layer.reason = (machine_.mdwe == EINVAL ? "this kernel does not have it" : attempt_text(machine_.mdwe)) +
                   std::string("; the filter alone refuses it");
    layer.advice = "none needed; Linux 6.3 adds this layer";
  }

  void notifications() {
    Layer& layer = add("seccomp_notify", "Denials told by number", Layer::Need::further,
                       further(machine_.notifications == 0, applied_.notifications));
    if (layer.state == State::available) layer.reason = "not applied yet by this version: the filter kills instead";
    if (layer.state != State::missing) return;
    if (machine_.notifications == EBUSY) {
      layer.reason = "an outer sandbox or container listens already, and Linux has room for one listener";
      layer.advice = "run Heddle outside it, or without its notifications; denied calls stay refused";
      return;
    }
    layer.reason = attempt_text(machine_.notifications);
    layer.advice = outer_sandbox(machine_, machine_.notifications) ? kAllowOuter : "run Linux 5.9 or later";
  }

  void explain_user_namespace(Layer& layer) const {
    const Switches& switches = machine_.switches;
    const Attempt attempt = machine_.user_namespace;
    layer.reason = attempt_text(attempt);
    if (switches.max_user_namespaces == 0L || attempt == ENOSPC) {
      layer.reason = "the limit of user namespaces is reached or 0";
      layer.advice = "sysctl user.max_user_namespaces=15000";
    } else if (!machine_.root && switches.unprivileged_userns_clone == 0L) {
      layer.reason = "kernel.unprivileged_userns_clone is 0: only root may make them";
      layer.advice = "sysctl kernel.unprivileged_userns_clone=1";
    } else if (!machine_.root && switches.apparmor_restricts_user_spaces.value_or(0) != 0 &&
               (attempt == EPERM || attempt == EACCES)) {
      layer.reason = "AppArmor takes the rights in them away (kernel.apparmor_restrict_unprivileged_userns is 1)";
      layer.advice = "give heddle an AppArmor profile with the rule userns, or set that sysctl to 0";
    } else if (attempt == EINVAL) {
      layer.reason = "this kernel is built without them";
      layer.advice = "a kernel with CONFIG_USER_NS";
    } else if (outer_sandbox(machine_, attempt) || !machine_.container.empty()) {
      layer.advice = kAllowOuter;
    } else {
      layer.advice = "look at sysctl user.max_user_namespaces and at the security modules in use";
    }
  }

  void namespaces() {
    struct Row {
      const char* id;
      const char* name;
      Attempt attempt;
      bool in_script;  // the network namespace costs time, and a guest without sockets gains nothing by it
    };
    const Row rows[] = {
        {"namespace_user", "Namespace: user", machine_.user_namespace, true},
        {"namespace_mount", "Namespace: mount", machine_.mount_namespace, true},
        {"namespace_pid", "Namespace: pid", machine_.pid_namespace, true},
        {"namespace_network", "Namespace: network", machine_.network_namespace, false},
        {"namespace_ipc", "Namespace: IPC", machine_.ipc_namespace, true},
        {"namespace_uts", "Namespace: UTS", machine_.uts_namespace, true},
    };
    for (const Row& row : rows) {
      Layer& layer =
          add(row.id, row.name, Layer::Need::further, further(row.attempt == 0, applied_.namespaces && row.in_script));
      if (layer.state == State::available) {
        layer.reason =
            applied_.namespaces ? "not used for scripts, which have no socket" : "not applied yet by this version";
      }
      if (layer.state != State::missing) continue;
      if (row.attempt == machine_.user_namespace) {
        explain_user_namespace(layer);
      } else {
        layer.reason = attempt_text(row.attempt);
        layer.advice = outer_sandbox(machine_, row.attempt) ? kAllowOuter : "a kernel that is built with it";
      }
    }
  }

  bool has_controller(const std::string& name) const {
    return (" " + machine_.cgroup.controllers + " ").find(" " + name + " ") != std::string::npos;
  }

  void cgroups() {
    using Hierarchy = CgroupFacts::Hierarchy;
    const CgroupFacts& group = machine_.cgroup;
    std::string missing;
    for (const char* controller : {"memory", "pids", "cpu"}) {
      if (!has_controller(controller)) missing += (missing.empty() ? "" : ", ") + std::string(controller);
    }
    const bool usable = group.hierarchy == Hierarchy::version2 && !group.folder.empty() && group.writable == 0;
    const bool there = machine_.worker_group == Machine::WorkerGroup::not_tried
                           ? usable && missing.empty()
                           : machine_.worker_group == Machine::WorkerGroup::limited;
    Layer& layer =
        add("cgroup", "cgroup v2: memory", Layer::Need::further, further(there, applied_.cgroups), group.controllers);
    const std::string instead =
        "; resource limits (setrlimit) stand alone, and count no shared memory and no files in memory";
    const char* const delegate =
        machine_.root ? "start Heddle in a group that has them: systemd-run --scope -p Delegate=yes heddle ..."
                      : "start Heddle in a delegated group: systemd-run --user --scope -p Delegate=yes heddle ...";
    const char* const unify = "boot with systemd.unified_cgroup_hierarchy=1";
    if (layer.state == State::available) {
      layer.reason = "not applied yet by this version" + instead;
    } else if (group.hierarchy == Hierarchy::version1) {
      layer.reason = "this machine mounts cgroup version 1 only" + instead;
      layer.advice = unify;
    } else if (group.hierarchy == Hierarchy::none) {
      layer.reason = "no cgroup file system is mounted here" + instead;
      layer.advice = machine_.container.empty() ? "mount cgroup2 on /sys/fs/cgroup" : kAllowOuter;
    } else if (group.folder.empty()) {
      layer.reason = "this process's own group cannot be seen at the mount" + instead;
      layer.advice = "give the container a cgroup namespace of its own";
    } else if (group.writable != 0) {
      layer.reason =
          (group.writable == EROFS ? "the mount is read-only" : "this process's group is not delegated to it") +
          instead;
      layer.advice = group.writable == EROFS ? "mount /sys/fs/cgroup writable in the container" : delegate;
    } else if (!missing.empty()) {
      layer.reason = "the group lacks the controllers " + missing +
                     (group.version1_too ? ", which may be bound to version 1, mounted here too" : "") + instead;
      layer.advice = group.version1_too ? unify : delegate;
    }
    if (layer.state == State::missing && layer.reason.empty()) layer.advice = delegate;
    if (layer.state == State::missing && machine_.worker_group == Machine::WorkerGroup::refused) {
      layer.reason = machine_.worker_group_problem + instead;
    }

    Layer& kill = add("cgroup_kill", "cgroup.kill", Layer::Need::further,
                      further(machine_.worker_group_kill || (there && group.kill), applied_.cgroups));
    if (kill.state == State::available)
      kill.reason = "not applied yet by this version: each process is killed by itself";
    if (kill.state != State::missing) return;
    kill.reason = there ? "this group has no such file: Linux before 5.14, or the root of the tree"
                        : "there is no group to kill (see above)";
    kill.advice = there ? "none needed; each process is killed by itself" : "the same as above";
  }

  const Machine& machine_;
  const Applied applied_;
  Diagnosis diagnosis_;
};

}  // namespace

Diagnosis diagnose(const Machine& machine, const Applied& applied) { return Doctor(machine, applied).run(); }

const char* state_name(Layer::State state) noexcept {
  switch (state) {
    case State::enforced:
      return "enforced";
    case State::available:
      return "available";
    case State::missing:
      break;
  }
  return "missing";
}

const char* need_name(Layer::Need need) noexcept { return need == Layer::Need::required ? "required" : "further"; }

}  // namespace heddle::jail

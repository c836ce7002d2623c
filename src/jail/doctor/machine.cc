#include "heddle/jail/doctor/machine.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "attempt.h"
#include "heddle/guest/process.h"
#include "heddle/jail/confine/landlock.h"
#include "heddle/jail/policy.h"

namespace heddle::jail {
namespace {

constexpr std::chrono::seconds kWorkerTime{30};

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::optional<long> read_number(const std::string& path) {
  const std::string line = first_line(path);
  long value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc() || end == line.data()) return std::nullopt;
  return value;
}

std::uint32_t count_filters(const std::string& root) {
  std::istringstream lines(read_text(root + "/proc/self/status"));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("Seccomp_filters:", 0) == 0) {
      return static_cast<std::uint32_t>(std::strtoul(line.c_str() + sizeof "Seccomp_filters:" - 1, nullptr, 10));
    }
  }
  return 0;
}

void note_group(const AppliedCgroup& group, Machine& machine) {
  const AppliedCgroup::Part& memory = group.part(GroupPart::memory);
  machine.worker_group = memory.applied ? Machine::WorkerGroup::limited : Machine::WorkerGroup::refused;
  machine.worker_group_kill = group.group_kill;
  if (memory.applied) return;
  machine.worker_group_problem = group_problem_text(memory.problem);
  if (memory.error != 0) machine.worker_group_problem += " (" + core::errno_text(memory.error) + ")";
}

core::Result<void> start_worker(const ProbeOptions& options, Machine& machine) {
  SupervisorOptions supervisor_options;
  supervisor_options.program = options.supervisor;
  guest::Host host(supervisor_options);
  HEDDLE_TRY(host.start());
  std::string path = options.worker;
  if (path.empty()) {
    HEDDLE_ASSIGN(path, helper_path("heddle-sandbox-worker"));
  }
  HEDDLE_ASSIGN(const Program program, open_program(path));
  Limits limits;
  limits.group.memory_bytes = GroupLimit{2 * limits.data_bytes, Need::if_available};
  HEDDLE_ASSIGN(const Policy policy, Policy::script(limits));
  HEDDLE_ASSIGN(const std::unique_ptr<guest::Process> worker, guest::Process::spawn(host, policy, program));
  HEDDLE_TRY(worker->await_ready(kWorkerTime));
  note_group(worker->guest().cgroup(), machine);
  return {};
}

// The field of /proc/self/mountinfo before " - ", after which stands the type (proc(5)).
bool cgroup2_mount(const std::string& root, std::string& mount_root, std::string& mount_point) {
  std::istringstream lines(read_text(root + "/proc/self/mountinfo"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - cgroup2 ");
    if (dash == std::string::npos) continue;
    std::istringstream fields(line.substr(0, dash));
    std::string skipped;
    fields >> skipped >> skipped >> skipped >> mount_root >> mount_point;
    return !fields.fail();
  }
  return false;
}

std::string own_group(const std::string& root) {
  std::istringstream lines(read_text(root + "/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("0::", 0) == 0) return line.substr(3);
  }
  return "";
}

Attempt may_delegate(const std::string& folder) {
  for (const char* file : {"", "/cgroup.procs", "/cgroup.subtree_control"}) {
    if (::access((folder + file).c_str(), W_OK) != 0) return errno;
  }
  return 0;
}

}  // namespace

CgroupFacts probe_cgroup(const std::string& root) {
  CgroupFacts facts;
  std::string mount_root;
  std::string mount_point;
  facts.version1_too = read_text(root + "/proc/self/mountinfo").find(" - cgroup ") != std::string::npos;
  if (!cgroup2_mount(root, mount_root, mount_point)) {
    facts.hierarchy = facts.version1_too ? CgroupFacts::Hierarchy::version1 : CgroupFacts::Hierarchy::none;
    return facts;
  }
  facts.hierarchy = CgroupFacts::Hierarchy::version2;
  std::string group = own_group(root);
  // A container may see only a part of the tree at the mount.
  if (mount_root != "/" && group.rfind(mount_root, 0) == 0) group.erase(0, mount_root.size());
  const std::string folder = mount_point + (group == "/" ? "" : group);
  if (group.empty() || group.find("..") != std::string::npos || !exists(root + folder + "/cgroup.controllers")) {
    return facts;
  }
  facts.folder = folder;
  facts.controllers = first_line(root + folder + "/cgroup.controllers");
  facts.writable = may_delegate(root + folder);
  facts.kill = exists(root + folder + "/cgroup.kill");
  return facts;
}

Switches read_switches(const std::string& root) {
  const std::string sys = root + "/proc/sys/";
  Switches switches;
  switches.max_user_namespaces = read_number(sys + "user/max_user_namespaces");
  switches.unprivileged_userns_clone = read_number(sys + "kernel/unprivileged_userns_clone");
  switches.apparmor_restricts_user_spaces = read_number(sys + "kernel/apparmor_restrict_unprivileged_userns");
  return switches;
}

std::string find_container(const std::string& root, const char* container_variable) {
  if (container_variable != nullptr && container_variable[0] != '\0') return container_variable;
  if (exists(root + "/run/.containerenv")) return "podman";
  if (exists(root + "/.dockerenv")) return "docker";
  std::string told = first_line(root + "/run/systemd/container");
  if (!told.empty()) return told;
  const std::string groups = read_text(root + "/proc/1/cgroup");
  for (const char* name : {"kubepods", "docker", "lxc", "containerd"}) {
    if (groups.find(name) != std::string::npos) return name;
  }
  return "";
}

Machine probe_machine(const ProbeOptions& options) {
  Machine machine;
  utsname system{};
  if (::uname(&system) == 0) {
    machine.release = system.release;
    machine.architecture = system.machine;
  }
  machine.root = ::geteuid() == 0;
  machine.container = find_container(options.root, std::getenv("container"));
  machine.outer_filters = count_filters(options.root);
  machine.lsms = first_line(options.root + "/sys/kernel/security/lsm");

  machine.no_new_privs = try_no_new_privs();
  machine.landlock_abi = landlock_abi();
  machine.landlock_files = try_landlock_files();
  if (machine.landlock_abi >= 4) machine.landlock_network = try_landlock_network();
  if (machine.landlock_abi >= 6) machine.landlock_scopes = try_landlock_scopes();
  const core::Result<Policy> policy = Policy::script();
  if (policy.ok()) {
    machine.filter = try_filter(policy.value().killing_filter());
    machine.foreign_calls = try_foreign_call(policy.value().killing_filter());
  }
  machine.notifications = try_notifications();
  machine.mdwe = try_mdwe();
  machine.pidfd = try_pidfd();
  machine.close_range = try_close_range();
  if (machine.root) machine.identity = try_identity();

  machine.user_namespace = try_user_namespace();
  machine.mount_namespace = try_namespace(CLONE_NEWNS);
  machine.pid_namespace = try_namespace(CLONE_NEWPID);
  machine.network_namespace = try_namespace(CLONE_NEWNET);
  machine.ipc_namespace = try_namespace(CLONE_NEWIPC);
  machine.uts_namespace = try_namespace(CLONE_NEWUTS);
  machine.switches = read_switches(options.root);
  machine.cgroup = probe_cgroup(options.root);

  const core::Result<void> worker = start_worker(options, machine);
  if (!worker.ok()) machine.worker_problem = worker.error().message();
  return machine;
}

}  // namespace heddle::jail

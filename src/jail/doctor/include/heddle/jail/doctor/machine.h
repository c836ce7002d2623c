// Machine: what this machine lets a process do to confine itself, as plain values. Everything that can be tried is
// tried, in short-lived children; what a version number promises counts for nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace heddle::jail {

/// How an attempt in a child ended: 0 it worked, above 0 the errno, below 0 minus the signal that ended the child.
using Attempt = int;

/// For what was not attempted.
inline constexpr Attempt kNotTried = INT32_MIN;

struct CgroupFacts {
  enum class Hierarchy : std::uint8_t { none, version1, version2 };
  Hierarchy hierarchy = Hierarchy::none;
  std::string folder;            ///< this process's own cgroup; empty when it cannot be seen from here
  std::string controllers;       ///< available in it: "cpu memory pids"
  Attempt writable = kNotTried;  ///< by permission alone, nothing is written: may groups be made below it?
  bool version1_too = false;     ///< version 1 is mounted beside version 2, and may hold controllers
  bool kill = false;             ///< cgroup.kill (Linux 5.14)
};

/// Numbers of /proc/sys; nothing where the file does not exist.
struct Switches {
  std::optional<long> max_user_namespaces;             ///< user.max_user_namespaces
  std::optional<long> unprivileged_userns_clone;       ///< kernel.unprivileged_userns_clone, Debian and Ubuntu
  std::optional<long> apparmor_restricts_user_spaces;  ///< kernel.apparmor_restrict_unprivileged_userns, Ubuntu
};

struct Machine {
  std::string release;              ///< uname(2)
  std::string architecture;         ///< uname(2)
  bool root = false;                ///< effective user id 0
  std::string container;            ///< "docker", "podman", …; empty when nothing says so
  std::uint32_t outer_filters = 0;  ///< system call filters that this process already runs under
  std::string lsms;                 ///< active Linux security modules, comma-separated; empty when not to be seen

  Attempt no_new_privs = kNotTried;
  int landlock_abi = 0;                  ///< or minus errno
  Attempt landlock_files = kNotTried;    ///< 0: under deny-all the root folder cannot be listed
  Attempt landlock_network = kNotTried;  ///< 0: under deny-all a TCP connection is refused by Landlock
  Attempt landlock_scopes = kNotTried;   ///< 0: under deny-all the parent cannot be signalled
  Attempt filter = kNotTried;            ///< 0: under the filter of profile `script`, socket(2) is refused
  Attempt foreign_calls = kNotTried;     ///< 0: under the same filter an x32 call ends the process
  Attempt notifications = kNotTried;     ///< a filter with a listener
  Attempt mdwe = kNotTried;              ///< PR_SET_MDWE
  Attempt pidfd = kNotTried;
  Attempt close_range = kNotTried;
  Attempt identity = kNotTried;  ///< root only: may a child become another user?

  // Each made for real, in a user namespace where that is possible.
  Attempt user_namespace = kNotTried;  ///< 0: made, mapped, and with rights inside it
  Attempt mount_namespace = kNotTried;
  Attempt pid_namespace = kNotTried;
  Attempt network_namespace = kNotTried;
  Attempt ipc_namespace = kNotTried;
  Attempt uts_namespace = kNotTried;
  Switches switches;

  CgroupFacts cgroup;

  /// Empty: a script worker was started as for any run, and the kernel says that it is confined. Else what went wrong.
  std::string worker_problem;

  /// Whether that worker's memory was limited by a control group of its own, as any worker's is where that can be had.
  enum class WorkerGroup : std::uint8_t { not_tried, limited, refused };
  WorkerGroup worker_group = WorkerGroup::not_tried;
  std::string worker_group_problem;  ///< WorkerGroup::refused: why
  bool worker_group_kill = false;    ///< its group ends by cgroup.kill
};

struct ProbeOptions {
  std::string root;        ///< in front of the paths of files that are read; for tests
  std::string supervisor;  ///< path of heddle-supervisor; empty: where this installation has it
  std::string worker;      ///< path of heddle-sandbox-worker; likewise
};

/// Needs no privilege, changes nothing outside its children and leaves nothing behind. Takes a fraction of a second; a
/// child that does not come back is killed after seconds (SIGALRM). Call it while the process has one thread.
[[nodiscard]] Machine probe_machine(const ProbeOptions& options = {});

/// The part of it that reads files, and the part that looks for a container.
[[nodiscard]] CgroupFacts probe_cgroup(const std::string& root);
[[nodiscard]] Switches read_switches(const std::string& root);
[[nodiscard]] std::string find_container(const std::string& root, const char* container_variable);

}  // namespace heddle::jail

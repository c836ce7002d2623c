// A place for control groups of a test's own, below the machine's cgroup2 mount, removed with the object.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

#include "heddle/jail/supervisor.h"

namespace heddle::jail {

class GroupPlace {
 public:
  /// The process may make groups below the cgroup2 mount: root, and the mount is writable.
  static bool available();
  /// Why not.
  static std::string missing();
  static bool has_controller(const std::string& name);

  GroupPlace();
  GroupPlace(const GroupPlace&) = delete;
  GroupPlace& operator=(const GroupPlace&) = delete;
  ~GroupPlace();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] CgroupOptions options() const;
  /// All groups below, relative: "heddle", "heddle/12-34", "heddle/12-34/1".
  [[nodiscard]] std::set<std::string> groups() const;
  std::string make(const std::string& name) const;

 private:
  std::string path_;
};

/// In cgroup.procs, as it is.
std::set<pid_t> members(const std::string& group);
bool write_control(const std::string& file, const std::string& text);
std::string read_control(const std::string& file);

}  // namespace heddle::jail

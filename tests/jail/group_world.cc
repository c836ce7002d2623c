#include "group_world.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "heddle/core/check.h"

namespace heddle::jail {
namespace {

// Not by the product's own parser.
std::string mount_point() {
  std::ifstream mounts("/proc/self/mounts");
  for (std::string device, point, type, rest; mounts >> device >> point >> type && std::getline(mounts, rest);) {
    if (type == "cgroup2") return point;
  }
  return "";
}

// Deepest first.
std::vector<std::string> folders(const std::string& path) {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(path, error), end; entry != end; entry.increment(error)) {
    if (error) break;
    if (entry->is_directory(error)) found.push_back(entry->path().string());
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return found;
}

}  // namespace

bool GroupPlace::available() { return missing().empty(); }

std::string GroupPlace::missing() {
  const std::string mount = mount_point();
  if (mount.empty()) return "no cgroup2 mount here";
  if (::geteuid() != 0) return "an ordinary user has no group to make groups in";
  const std::string probe = mount + "/heddle-probe-" + std::to_string(::getpid());
  if (::mkdir(probe.c_str(), 0755) != 0) return "the cgroup2 mount cannot be written";
  return ::rmdir(probe.c_str()) == 0 ? "" : "the cgroup2 mount is odd";
}

bool GroupPlace::has_controller(const std::string& name) {
  std::istringstream words(read_control(mount_point() + "/cgroup.controllers"));
  for (std::string word; words >> word;) {
    if (word == name) return true;
  }
  return false;
}

GroupPlace::GroupPlace() {
  static int count = 0;
  path_ = mount_point() + "/heddle-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
  HEDDLE_CHECK(::mkdir(path_.c_str(), 0755) == 0);
  for (const char* controller : {"memory", "pids", "cpu"}) {
    if (!has_controller(controller)) continue;
    HEDDLE_CHECK(write_control(mount_point() + "/cgroup.subtree_control", std::string("+") + controller));
  }
}

GroupPlace::~GroupPlace() {
  for (int tries = 0; tries < 200; ++tries) {
    for (const std::string& folder : folders(path_)) {
      for (const pid_t pid : members(folder)) ::kill(pid, SIGKILL);
      ::rmdir(folder.c_str());
    }
    if (::rmdir(path_.c_str()) == 0) return;
    ::usleep(5000);
  }
}

CgroupOptions GroupPlace::options() const {
  CgroupOptions options;
  options.parent = CgroupOptions::Parent::folder;
  options.folder = path_;
  return options;
}

std::set<std::string> GroupPlace::groups() const {
  std::set<std::string> names;
  for (const std::string& folder : folders(path_)) names.insert(folder.substr(path_.size() + 1));
  return names;
}

std::string GroupPlace::make(const std::string& name) const {
  std::error_code error;
  std::filesystem::create_directories(path_ + "/" + name, error);
  HEDDLE_CHECK(!error);
  return path_ + "/" + name;
}

std::set<pid_t> members(const std::string& group) {
  std::ifstream file(group + "/cgroup.procs");
  std::set<pid_t> pids;
  for (pid_t pid = 0; file >> pid;) pids.insert(pid);
  return pids;
}

bool write_control(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  return static_cast<bool>(out.flush());
}

std::string read_control(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace heddle::jail

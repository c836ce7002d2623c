#include "process_memory.h"

#include <dirent.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

namespace heddle::bench {
namespace {

std::optional<double> kilobytes(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) == 0) return std::strtod(line.c_str() + key.size(), nullptr);
  }
  return std::nullopt;
}

// "pid (name) state parent …", where the name may hold anything.
pid_t parent_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name = text.rfind(") ");
  return name == std::string::npos ? 0 : static_cast<pid_t>(std::strtol(text.c_str() + name + 4, nullptr, 10));
}

}  // namespace

std::vector<pid_t> tree_of(pid_t root) {
  std::vector<std::pair<pid_t, pid_t>> parents;
  DIR* const folder = ::opendir("/proc");
  if (folder == nullptr) return {root};
  while (const dirent* const entry = ::readdir(folder)) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid > 0) parents.emplace_back(pid, parent_of(pid));
  }
  ::closedir(folder);
  std::vector<pid_t> tree = {root};
  for (std::size_t at = 0; at < tree.size(); ++at) {
    for (const auto& [pid, parent] : parents) {
      if (parent == tree[at]) tree.push_back(pid);
    }
  }
  return tree;
}

std::optional<double> pss_kilobytes(pid_t pid) {
  return kilobytes("/proc/" + std::to_string(pid) + "/smaps_rollup", "Pss:");
}

MachineMemory machine_memory() {
  MachineMemory memory;
  memory.available = kilobytes("/proc/meminfo", "MemAvailable:").value_or(0);
  for (const char* key : {"SUnreclaim:", "KernelStack:", "PageTables:", "Percpu:"}) {
    memory.kernel += kilobytes("/proc/meminfo", key).value_or(0);
  }
  return memory;
}

}  // namespace heddle::bench

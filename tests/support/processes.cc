#include "tests/support/processes.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>

namespace heddle::test {
namespace {

struct Process {
  char state = '?';
  pid_t parent = 0;
  std::string name;
};

std::vector<pid_t> all_pids() {
  std::vector<pid_t> pids;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return pids;
  while (const dirent* entry = ::readdir(proc)) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) != 0) pids.push_back(std::atoi(entry->d_name));
  }
  ::closedir(proc);
  return pids;
}

// "pid (name) state ppid …"; a name may hold parentheses, so it ends at the last one.
bool read_process(pid_t pid, Process& process) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return false;
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close + 4 > text.size()) return false;
  process.name = text.substr(open + 1, close - open - 1);
  process.state = text[close + 2];
  process.parent = std::atoi(text.c_str() + close + 4);
  return true;
}

template <class Lives>
bool none_within(const std::vector<pid_t>& pids, std::chrono::milliseconds time, const Lives& lives) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::any_of(pids.begin(), pids.end(), lives)) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace

std::vector<pid_t> descendants_named(const std::string& prefix) {
  std::map<pid_t, Process> processes;
  for (const pid_t pid : all_pids()) {
    Process process;
    if (read_process(pid, process)) processes[pid] = process;
  }
  std::vector<pid_t> found;
  for (const auto& entry : processes) {
    if (entry.second.name.compare(0, prefix.size(), prefix) != 0) continue;
    pid_t ancestor = entry.second.parent;
    while (ancestor > 1 && ancestor != ::getpid()) {
      const auto parent = processes.find(ancestor);
      ancestor = parent == processes.end() ? 0 : parent->second.parent;
    }
    if (ancestor == ::getpid()) found.push_back(entry.first);
  }
  return found;
}

std::vector<pid_t> running_below(const std::string& folder) {
  std::vector<pid_t> found;
  for (const pid_t pid : all_pids()) {
    char target[PATH_MAX];
    const ssize_t size = ::readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), target, sizeof target);
    if (size <= 0) continue;
    const std::string path(target, static_cast<std::size_t>(size));
    if (path.compare(0, folder.size() + 1, folder + "/") == 0) found.push_back(pid);
  }
  return found;
}

bool gone_within(const std::vector<pid_t>& pids, std::chrono::milliseconds time) {
  return none_within(pids, time,
                     [](pid_t pid) { return ::access(("/proc/" + std::to_string(pid)).c_str(), F_OK) == 0; });
}

bool ended_within(const std::vector<pid_t>& pids, std::chrono::milliseconds time) {
  return none_within(pids, time, [](pid_t pid) {
    Process process;
    return read_process(pid, process) && process.state != 'Z';
  });
}

}  // namespace heddle::test

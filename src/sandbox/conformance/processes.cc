#include "processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <sstream>

#include "heddle/core/fd.h"

namespace heddle::sandbox::conformance {
namespace {

template <class Each>
void for_each_number(const std::string& folder, Each each) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(folder.c_str()), ::closedir);
  if (stream == nullptr) return;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    pid_t number = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
    if (read.ec == std::errc() && read.ptr == name.data() + name.size()) each(number);
  }
}

std::size_t count_numbers(const std::string& folder) {
  std::size_t count = 0;
  for_each_number(folder, [&](pid_t) { ++count; });
  return count;
}

std::string place(pid_t pid, const char* file) { return "/proc/" + std::to_string(pid) + "/" + file; }

// Empty for a process that is gone, or may not be looked into.
std::string read_text(pid_t pid, const char* file) {
  constexpr std::size_t kMost = std::size_t{64} << 10;
  const core::Fd fd(::open(place(pid, file).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return {};
  auto text = core::read_all(fd, kMost);
  return text.ok() ? std::move(text).value() : std::string();
}

// The name stands in parentheses and may hold anything, more of them too.
std::optional<Process> read_process(pid_t pid) {
  const std::string text = read_text(pid, "stat");
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  Process process;
  process.pid = pid;
  process.name = text.substr(open + 1, close - open - 1);
  std::istringstream rest(text.substr(close + 1));
  char state = 0;
  rest >> state >> process.parent;
  constexpr int kFieldsBetween = 17;  // from ppid to starttime
  std::string skipped;
  for (int i = 0; i < kFieldsBetween; ++i) rest >> skipped;
  rest >> process.started;
  if (!rest) return std::nullopt;
  process.zombie = state == 'Z' || state == 'X';
  return process;
}

// "RssAnon:      1234 kB"
std::uint64_t memory_of(pid_t pid) {
  std::istringstream file(read_text(pid, "status"));
  std::uint64_t kilobytes = 0;
  for (std::string line; std::getline(file, line);) {
    for (const char* name : {"RssAnon:", "RssShmem:", "VmSwap:"}) {
      if (line.rfind(name, 0) == 0)
        kilobytes += std::strtoull(line.c_str() + std::string_view(name).size(), nullptr, 10);
    }
  }
  return kilobytes << 10;
}

}  // namespace

std::vector<Process> descendants(pid_t root) {
  std::multimap<pid_t, Process> by_parent;
  for_each_number("/proc", [&](pid_t pid) {
    auto process = read_process(pid);
    if (!process) return;
    const pid_t parent = process->parent;
    by_parent.emplace(parent, *std::move(process));
  });
  std::vector<Process> found;
  std::vector<pid_t> parents{root};
  while (!parents.empty()) {
    const auto [begin, end] = by_parent.equal_range(parents.back());
    parents.pop_back();
    for (auto it = begin; it != end; ++it) {
      found.push_back(it->second);
      parents.push_back(it->second.pid);
    }
    by_parent.erase(begin, end);  // a list that was read while it changed may hold a circle
  }
  return found;
}

Adoption::Adoption() {
  ::prctl(PR_GET_CHILD_SUBREAPER, &before_, 0, 0, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  for (Process& process : descendants(::getpid())) known_.insert(std::move(process));
}

Adoption::~Adoption() {
  ::prctl(PR_SET_CHILD_SUBREAPER, before_, 0, 0, 0);
  for (const Process& one : all()) {
    if (one.zombie && one.parent == ::getpid()) ::waitpid(one.pid, nullptr, WNOHANG);
  }
}

std::vector<Process> Adoption::all() const {
  std::vector<Process> found = descendants(::getpid());
  found.erase(std::remove_if(found.begin(), found.end(), [this](const Process& one) { return known_.count(one) > 0; }),
              found.end());
  return found;
}

std::vector<Process> Adoption::living() const {
  std::vector<Process> found = all();
  found.erase(std::remove_if(found.begin(), found.end(), [](const Process& one) { return one.zombie; }), found.end());
  return found;
}

void Adoption::sweep() const {
  constexpr int kRounds = 500;
  constexpr int kPauseMicroseconds = 10'000;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<Process> found = all();
    if (found.empty()) return;
    for (const Process& one : found) {
      ::kill(one.pid, SIGKILL);
      if (one.parent == ::getpid()) ::waitpid(one.pid, nullptr, WNOHANG);
    }
    ::usleep(kPauseMicroseconds);
  }
}

Footprint Footprint::of(pid_t process, const Adoption& adoption) {
  std::set<pid_t> counted{process};
  for (const Process& one : adoption.all()) counted.insert(one.pid);
  Footprint sum;
  sum.processes = counted.size();
  for (const pid_t pid : counted) {
    sum.threads += count_numbers(place(pid, "task"));
    sum.descriptors += count_numbers(place(pid, "fd"));  // none of a process that may not be looked into
    sum.memory += memory_of(pid);
  }
  return sum;
}

}  // namespace heddle::sandbox::conformance

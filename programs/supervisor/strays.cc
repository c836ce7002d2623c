#include "strays.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "heddle/core/fd.h"

namespace heddle::supervisor {
namespace {

constexpr int kLooks = 16;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// proc_pid_stat(5), field 4. The name in field 2 may hold anything.
pid_t parent_of(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const core::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[512] = {};
  if (!file.valid() || ::read(file.get(), text, sizeof text - 1) <= 0) return 0;
  const char* const name_end = std::strrchr(text, ')');
  int parent = 0;
  char state = 0;
  if (name_end == nullptr || std::sscanf(name_end + 1, " %c %d", &state, &parent) != 2) return 0;
  return parent;
}

// All processes, the youngest first: one that forks and ends, again and again, is the youngest when it is listed and
// soon no more.
std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir("/proc"));
  if (!folder) return pids;
  while (const dirent* const entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (problem == std::errc() && end == name.data() + name.size()) pids.push_back(pid);
  }
  std::sort(pids.rbegin(), pids.rend());
  return pids;
}

// A child's number stays its own until this process, and nobody else, has reaped it.
bool end_one(pid_t pid) {
  if (::kill(pid, SIGKILL) != 0) return false;
  siginfo_t info{};
  (void)::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | __WALL);  // or at the next look
  return true;
}

unsigned look(const std::vector<pid_t>& kept) {
  unsigned found = 0;
  const pid_t self = ::getpid();
  for (const pid_t pid : all_processes()) {
    const bool stray = parent_of(pid) == self && std::find(kept.begin(), kept.end(), pid) == kept.end();
    if (stray && end_one(pid)) ++found;
  }
  return found;
}

}  // namespace

bool end_strays(const std::vector<pid_t>& kept) {
  for (int looks = 0; looks < kLooks; ++looks) {
    if (look(kept) == 0) return true;
  }
  return false;
}

}  // namespace heddle::supervisor

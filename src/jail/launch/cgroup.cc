#include "heddle/jail/launch/cgroup.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <sstream>
#include <vector>

#include "group_text.h"
#include "heddle/core/pidfd.h"

namespace heddle::jail {
namespace {

using core::Errc;

constexpr std::size_t kMaxFileBytes = 1U << 20;  // cgroup.procs of a large group
constexpr int kFreezeTries = 200;                // of a millisecond each
constexpr int kKillRounds = 20;

bool is_group(const core::Fd& fd) {
  struct statfs info {};
  return ::fstatfs(fd.get(), &info) == 0 && info.f_type == CGROUP2_SUPER_MAGIC;
}

core::Fd open_beneath(const core::Fd& folder, const char* name, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(static_cast<unsigned>(flags | O_CLOEXEC | O_NOFOLLOW));
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  const long raw = ::syscall(SYS_openat2, folder.get(), name, &how, sizeof how);
  if (raw >= 0 || (errno != ENOSYS && errno != EPERM)) return core::Fd(static_cast<int>(raw));
  // An outer filter that does not know the call. The name is one component of ours, so that O_NOFOLLOW says as much;
  // what is left is a mount on top of it.
  core::Fd fd(::openat(folder.get(), name, flags | O_CLOEXEC | O_NOFOLLOW));
  if (fd.valid() && !is_group(fd)) {
    fd.reset();
    errno = EXDEV;
  }
  return fd;
}

void pause_briefly() {
  const timespec millisecond{0, 1'000'000};
  ::nanosleep(&millisecond, nullptr);
}

std::set<pid_t> as_pids(const core::Result<std::string>& text) {
  std::set<pid_t> pids;
  if (!text.ok()) return pids;
  std::istringstream words(text.value());
  for (pid_t pid = 0; words >> pid;) {
    if (pid > 0) pids.insert(pid);  // 0: of a pid namespace that is not below ours
  }
  return pids;
}

std::uint64_t number(const core::Result<std::string>& text, std::string_view key) {
  return text.ok() ? keyed_number(text.value(), key).value_or(0) : 0;
}

}  // namespace

core::Result<GroupFolder> GroupFolder::open(const std::string& path) {
  core::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return core::system_error("open a control group", path);
  if (!is_group(fd)) return core::make_error(Errc::unsupported, "open a control group", path + " is not cgroup2");
  return GroupFolder(std::move(fd));
}

core::Result<GroupFolder> GroupFolder::open_below(const char* name) const {
  core::Fd fd = open_beneath(fd_, name, O_RDONLY | O_DIRECTORY);
  if (!fd.valid()) return core::system_error("open a control group", name);
  return GroupFolder(std::move(fd));
}

int GroupFolder::make_below(const char* name, mode_t mode) const noexcept {
  return ::mkdirat(fd_.get(), name, mode) == 0 ? 0 : errno;
}

int GroupFolder::remove_below(const char* name) const noexcept {
  return ::unlinkat(fd_.get(), name, AT_REMOVEDIR) == 0 ? 0 : errno;
}

core::Result<std::string> GroupFolder::read(const char* file) const {
  const core::Fd fd = open_beneath(fd_, file, O_RDONLY);
  if (!fd.valid()) return core::system_error("open a control file", file);
  return core::read_all(fd, kMaxFileBytes);
}

int GroupFolder::write(const char* file, std::string_view text) const noexcept {
  const core::Fd fd = open_beneath(fd_, file, O_WRONLY);
  if (!fd.valid()) return errno;
  const ssize_t put = ::pwrite(fd.get(), text.data(), text.size(), 0);
  if (put < 0) return errno;
  return static_cast<std::size_t>(put) == text.size() ? 0 : EIO;
}

void GroupFolder::kill() const noexcept {
  if (write("cgroup.kill", "1") != 0) freeze_and_kill();
}

// Before 5.14. Frozen, nothing in the group forks; what it cannot do is end by itself and hand its pid to somebody
// else, and what somebody else kills is told by the second look.
void GroupFolder::freeze_and_kill() const noexcept {
  const bool freezing = write("cgroup.freeze", "1") == 0;
  for (int tries = 0; freezing && tries < kFreezeTries; ++tries) {
    const core::Result<std::string> events = read("cgroup.events");
    if (!events.ok() || number(events, "frozen") == 1 || number(events, "populated") == 0) break;
    pause_briefly();
  }
  for (int round = 0; round < kKillRounds; ++round) {
    struct Target {
      pid_t pid = 0;
      core::Pidfd process;
    };
    std::vector<Target> targets;
    for (const pid_t pid : as_pids(read("cgroup.procs"))) {
      core::Result<core::Pidfd> process = core::Pidfd::open(pid);
      if (process.ok()) targets.push_back(Target{pid, std::move(process).value()});
    }
    if (targets.empty()) break;
    const std::set<pid_t> still = as_pids(read("cgroup.procs"));
    for (const Target& target : targets) {
      if (still.count(target.pid) == 1) (void)target.process.send_signal(SIGKILL);  // fails when it has ended
    }
    if (freezing) break;  // all of them have it, and none could fork
    pause_briefly();
  }
  if (freezing) (void)write("cgroup.freeze", "0");  // kernels let the killed out by themselves; this does no harm
}

bool GroupFolder::has_processes() const {
  const core::Result<std::string> events = read("cgroup.events");
  if (events.ok()) return keyed_number(events.value(), "populated").value_or(1) != 0;
  return !as_pids(read("cgroup.procs")).empty();  // the root has no cgroup.events
}

CgroupUsage ControlGroup::usage() const {
  CgroupUsage usage;
  usage.oom_kills = number(folder_.read("memory.events"), "oom_kill");
  usage.processes_refused = number(folder_.read("pids.events"), "max");
  const core::Result<std::string> peak = folder_.read("memory.peak");
  if (peak.ok()) usage.peak_bytes = single_number(peak.value());
  const core::Result<std::string> cpu = folder_.read("cpu.stat");
  usage.cpu_microseconds = number(cpu, "usage_usec");
  usage.throttled_microseconds = number(cpu, "throttled_usec");
  usage.throttled_periods = number(cpu, "nr_throttled");
  return usage;
}

bool ControlGroup::remove() noexcept {
  if (!valid()) return true;
  int error = parent_->remove_below(name_.c_str());
  if (error == EBUSY) {
    folder_.kill();
    error = parent_->remove_below(name_.c_str());
  }
  if (error != 0 && error != ENOENT && error != ENODEV) return false;
  folder_ = GroupFolder();
  parent_.reset();
  return true;
}

}  // namespace heddle::jail

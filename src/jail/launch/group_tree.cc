// Where groups are made, what a killed supervisor left there, and one group after the other.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <vector>

#include "group_text.h"
#include "heddle/jail/launch/cgroup.h"

namespace heddle::jail {
namespace {

constexpr const char* kName = "heddle";
constexpr const char* kHostName = "heddle-host";
constexpr std::size_t kMaxProcBytes = 4U << 20;
constexpr mode_t kGuestMode = 0700;
constexpr int kRemoveTries = 100;
constexpr unsigned kPartBits = 8;
constexpr std::uint64_t kCpuPeriod = 100'000;  // microseconds, the kernel's default

struct PartFile {
  GroupPart part;
  const char* controller;
  std::optional<GroupLimit> GroupLimits::*limit;
};
constexpr PartFile kFiles[] = {
    {GroupPart::memory, "memory", &GroupLimits::memory_bytes},
    {GroupPart::swap, "memory", &GroupLimits::swap_bytes},
    {GroupPart::processes, "pids", &GroupLimits::processes},
    {GroupPart::cpu, "cpu", &GroupLimits::cpu_percent},
};

core::Result<std::string> read_proc(const std::string& path) {
  const core::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return core::system_error("open", path);
  return core::read_all(file, kMaxProcBytes);
}

// Whether that very process has ended. Where /proc does not say, it has not.
bool has_ended(const GroupOwner& owner) {
  const core::Result<std::string> stat = read_proc("/proc/" + std::to_string(owner.pid) + "/stat");
  if (!stat.ok()) return stat.error().sys_errno == ENOENT && ::access("/proc/self/stat", F_OK) == 0;
  const std::optional<std::uint64_t> start = start_time(stat.value());
  return start && *start != owner.start;
}

std::vector<std::string> names_in(const GroupFolder& folder) {
  std::vector<std::string> names;
  const int raw = ::openat(folder.fd().get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = raw < 0 ? nullptr : ::fdopendir(raw);
  if (stream == nullptr) {
    if (raw >= 0) ::close(raw);
    return names;
  }
  while (const dirent* entry = ::readdir(stream)) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(stream);
  return names;
}

// Kills what is in a group and removes it, waiting a little for the dying.
bool remove_group(const GroupFolder& parent, const std::string& name) {
  for (int tries = 0; tries < kRemoveTries; ++tries) {
    const int error = parent.remove_below(name.c_str());
    if (error == 0 || error == ENOENT) return true;
    if (error != EBUSY) return false;
    const core::Result<GroupFolder> folder = parent.open_below(name.c_str());
    if (folder.ok()) folder.value().kill();
    const timespec pause{0, 2'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return false;
}

bool delegated_by_systemd(const GroupFolder& folder) {
  for (const char* name : {"user.delegate", "trusted.delegate"}) {
    char value[4] = {};
    if (::fgetxattr(folder.fd().get(), name, value, sizeof value) == 1 && value[0] == '1') return true;
  }
  return false;
}

// The files that must be the delegatee's (cgroups(7), "Delegating a hierarchy").
constexpr const char* kOwned[] = {".", "cgroup.procs", "cgroup.subtree_control"};

bool owned_by(const GroupFolder& folder, uid_t user) {
  for (const char* name : kOwned) {
    struct stat info {};
    if (::fstatat(folder.fd().get(), name, &info, AT_SYMLINK_NOFOLLOW) != 0 || info.st_uid != user) return false;
  }
  return true;
}

int write_access(const GroupFolder& folder) {
  for (const char* name : kOwned) {
    if (::faccessat(folder.fd().get(), name, W_OK, AT_EACCESS) != 0) return errno;
  }
  return 0;
}

// Nobody but this process and its parent.
bool only_ourselves(const GroupFolder& folder) {
  const core::Result<std::string> text = folder.read("cgroup.procs");
  if (!text.ok()) return false;
  std::istringstream words(text.value());
  for (pid_t pid = 0; words >> pid;) {
    if (pid != ::getpid() && pid != ::getppid()) return false;
  }
  return true;
}

GroupProblem write_problem(int error) {
  if (error == ENOENT) return GroupProblem::no_file;
  return error == EROFS ? GroupProblem::read_only : GroupProblem::kernel_refused;
}

std::string limit_text(GroupPart part, std::uint64_t value) {
  if (part != GroupPart::cpu) return std::to_string(value);
  return std::to_string(value * kCpuPeriod / 100) + " " + std::to_string(kCpuPeriod);
}

bool required(const std::optional<GroupLimit>& limit) { return limit && limit->need == Need::required; }

bool any_required(const GroupLimits& limits) {
  for (const PartFile& file : kFiles) {
    if (required(limits.*file.limit)) return true;
  }
  return limits.own_group == Need::required;
}

void not_applied(AppliedCgroup::Part& part, GroupProblem problem, int error) {
  part.problem = problem;
  part.error = error;
}

}  // namespace

int group_detail(const GroupDetail& detail) noexcept {
  return static_cast<int>(static_cast<unsigned>(detail.part) | static_cast<unsigned>(detail.problem) << kPartBits);
}

GroupDetail read_group_detail(int detail) noexcept {
  const auto bits = static_cast<unsigned>(detail);
  const unsigned part = bits & ((1U << kPartBits) - 1);
  const unsigned problem = bits >> kPartBits;
  return GroupDetail{part < kGroupPartCount ? static_cast<GroupPart>(part) : GroupPart::own_group,
                     problem < kGroupProblemCount ? static_cast<GroupProblem>(problem) : GroupProblem::kernel_refused};
}

GroupTree::~GroupTree() {
  if (!own_) return;
  own_.reset();
  (void)remove_group(heddle_, name_);
  // Somebody else's supervisor may have its folder there; then it stays.
  (void)parent_.remove_below(kName);
}

GroupTree::Trouble GroupTree::locate_folder(Parent& parent) const {
  core::Result<GroupFolder> opened = GroupFolder::open(choice_.folder);
  if (!opened.ok()) {
    const int error = opened.error().sys_errno;
    return {error == EACCES ? GroupProblem::not_delegated : GroupProblem::not_a_group, error != 0 ? error : ENOTSUP};
  }
  for (const char* name : kOwned) {
    struct stat info {};
    if (::fstatat(opened.value().fd().get(), name, &info, AT_SYMLINK_NOFOLLOW) != 0)
      return {GroupProblem::not_a_group, errno};
    // Whoever else could write here could lift the limits.
    if ((info.st_mode & S_IWOTH) != 0) return {GroupProblem::untrusted_folder, EPERM};
    if (info.st_uid != 0 && info.st_uid != ::geteuid()) return {GroupProblem::not_delegated, EACCES};
  }
  parent.folder = std::move(opened).value();
  parent.path = choice_.folder;
  return {};
}

// Below systemd's delegation, or in it. Step by step from what is surely ours; `parent` stays empty where nothing is.
GroupTree::Trouble GroupTree::locate_delegated(const std::string& own, Parent& parent) const {
  const uid_t user = ::geteuid();
  const std::size_t slash = own.rfind('/');
  // Above us: DelegateSubgroup=, or a host of ours that has moved.
  const bool moved = own.substr(slash + 1) == kHostName;
  const std::string above = own.substr(0, slash);
  core::Result<GroupFolder> upper = GroupFolder::open(above);
  if (upper.ok() && owned_by(upper.value(), user) && (moved || delegated_by_systemd(upper.value()))) {
    parent.folder = std::move(upper).value();
    parent.path = above;
    return {};
  }
  core::Result<GroupFolder> ours = GroupFolder::open(own);
  // Everything is root's: only the mark tells that it was given to this service.
  if (!ours.ok() || !(user == 0 ? delegated_by_systemd(ours.value()) : owned_by(ours.value(), user))) return {};
  const bool may_move = choice_.host == GroupChoice::Host::may_move && only_ourselves(ours.value());
  if (!may_move && user == 0) return {};  // there is still the root of the mount
  parent.folder = std::move(ours).value();
  parent.path = own;
  parent.members = Parent::Members::ourselves;
  return may_move ? Trouble{} : Trouble{GroupProblem::holds_processes, EBUSY};
}

GroupTree::Trouble GroupTree::locate_found(Parent& parent) const {
  const bool root = ::geteuid() == 0;
  const core::Result<std::string> mounts = read_proc("/proc/self/mountinfo");
  const core::Result<std::string> groups = read_proc("/proc/self/cgroup");
  if (!mounts.ok() || !groups.ok()) return {GroupProblem::not_mounted, ENOENT};
  const std::optional<GroupMount> mount = group_mount(mounts.value());
  const std::optional<std::string> own = unified_path(groups.value());
  if (!mount || !own) return {GroupProblem::not_mounted, ENOENT};
  const std::optional<std::string> path = below_mount(*mount, *own);
  if (!path && !root) return {GroupProblem::hidden, ENOENT};
  if (path && *path != mount->point) {
    const Trouble trouble = locate_delegated(*path, parent);
    if (parent.folder.valid()) return trouble;
  }
  if (!root) return {GroupProblem::not_delegated, EACCES};
  core::Result<GroupFolder> top = GroupFolder::open(mount->point);
  if (!top.ok()) return {GroupProblem::not_mounted, top.error().sys_errno != 0 ? top.error().sys_errno : ENOTSUP};
  parent.folder = std::move(top).value();
  parent.path = mount->point;
  return {};
}

GroupTree::Trouble GroupTree::locate(Parent& parent) const {
  if (choice_.parent == GroupChoice::Parent::none) return {GroupProblem::switched_off, EOPNOTSUPP};
  const Trouble trouble = choice_.parent == GroupChoice::Parent::folder ? locate_folder(parent) : locate_found(parent);
  if (trouble.problem != GroupProblem::none) return trouble;
  const int error = write_access(parent.folder);
  if (error != 0) return {error == EROFS ? GroupProblem::read_only : GroupProblem::not_delegated, error};
  return {};
}

GroupTree::Trouble GroupTree::move_host(const Parent& parent) const {
  if (parent.members != Parent::Members::ourselves) return {};
  const int made = parent.folder.make_below(kHostName);
  if (made != 0 && made != EEXIST) return {GroupProblem::kernel_refused, made};
  const core::Result<GroupFolder> leaf = parent.folder.open_below(kHostName);
  if (!leaf.ok()) return {GroupProblem::kernel_refused, leaf.error().sys_errno};
  for (const pid_t pid : {::getppid(), ::getpid()}) {
    const int error = leaf.value().write("cgroup.procs", std::to_string(pid));
    if (error != 0) return {GroupProblem::kernel_refused, error};
  }
  return {};
}

unsigned GroupTree::sweep() noexcept {
  Parent parent;
  (void)locate(parent);
  if (!parent.folder.valid()) return 0;
  const core::Result<GroupFolder> heddle = parent.folder.open_below(kName);
  if (!heddle.ok()) return 0;
  unsigned removed = 0;
  for (const std::string& name : names_in(heddle.value())) {
    const std::optional<GroupOwner> owner = parse_owner(name);
    if (!owner || !has_ended(*owner)) continue;
    const core::Result<GroupFolder> left = heddle.value().open_below(name.c_str());
    // A pid of another pid namespace tells nothing; the lock does.
    if (!left.ok() || ::flock(left.value().fd().get(), LOCK_EX | LOCK_NB) != 0) continue;
    for (const std::string& guest : names_in(left.value())) {
      if (remove_group(left.value(), guest)) ++removed;
    }
    if (remove_group(heddle.value(), name)) ++removed;
  }
  (void)parent.folder.remove_below(kName);  // when nobody has anything there
  return removed;
}

GroupTree::Trouble GroupTree::open() {
  if (own_) return {};
  Parent parent;
  const Trouble located = locate(parent);
  if (located.problem != GroupProblem::none) return located;
  const Trouble moved = move_host(parent);
  if (moved.problem != GroupProblem::none) return moved;
  const core::Result<std::string> stat = read_proc("/proc/self/stat");
  const std::optional<std::uint64_t> start = stat.ok() ? start_time(stat.value()) : std::nullopt;
  if (!start) return {GroupProblem::kernel_refused, ENOENT};
  const std::string name = owner_name(GroupOwner{static_cast<std::uint64_t>(::getpid()), *start});

  // Another supervisor that ends may remove "heddle" between any two of these.
  int error = 0;
  for (int tries = 0; tries < kRemoveTries; ++tries) {
    error = parent.folder.make_below(kName);
    if (error != 0 && error != EEXIST) break;
    core::Result<GroupFolder> heddle = parent.folder.open_below(kName);
    if (!heddle.ok()) {
      error = heddle.error().sys_errno;
      continue;
    }
    error = heddle.value().make_below(name.c_str());
    if (error == ENOENT || error == ENODEV) continue;
    if (error != 0) break;
    core::Result<GroupFolder> own = heddle.value().open_below(name.c_str());
    if (!own.ok()) return {GroupProblem::kernel_refused, own.error().sys_errno};
    if (::flock(own.value().fd().get(), LOCK_EX | LOCK_NB) != 0) return {GroupProblem::kernel_refused, errno};
    parent_ = std::move(parent.folder);
    heddle_ = std::move(heddle).value();
    own_ = std::make_shared<const GroupFolder>(std::move(own).value());
    name_ = name;
    path_ = parent.path + "/" + kName + "/" + name;
    return {};
  }
  return {error == EROFS ? GroupProblem::read_only : GroupProblem::kernel_refused, error};
}

// Handed down level by level.
GroupTree::Trouble GroupTree::enable(const char* controller) const {
  const core::Result<std::string> available = parent_.read("cgroup.controllers");
  if (!available.ok()) return {GroupProblem::kernel_refused, available.error().sys_errno};
  if (!has_word(available.value(), controller)) return {GroupProblem::no_controller, ENODEV};
  for (const GroupFolder* folder : {&parent_, &heddle_, own_.get()}) {
    const core::Result<std::string> on = folder->read("cgroup.subtree_control");
    if (on.ok() && has_word(on.value(), controller)) continue;
    const int error = folder->write("cgroup.subtree_control", std::string("+") + controller);
    if (error == EBUSY) return {GroupProblem::holds_processes, error};
    if (error != 0) return {write_problem(error), error};
  }
  return {};
}

Failure GroupTree::apply(const GroupLimits& limits, const GroupFolder& group, AppliedCgroup& applied) const {
  for (const PartFile& file : kFiles) {
    AppliedCgroup::Part& part = applied.part(file.part);
    if (!part.asked || part.problem != GroupProblem::none) continue;
    const std::uint64_t value = (limits.*file.limit)->value;
    int error = group.write(group_part_name(file.part), limit_text(file.part, value));
    if (error == 0) {
      part.applied = value;
      if (file.part == GroupPart::memory) applied.ends_together = group.write("memory.oom.group", "1") == 0;
      continue;
    }
    not_applied(part, write_problem(error), error);
    if (required(limits.*file.limit)) return {Step::group_limit, error, group_detail({file.part, part.problem})};
  }
  if (limits.own_group != Need::off) {
    AppliedCgroup::Part& part = applied.part(GroupPart::own_group);
    const int error = group.write("cgroup.max.descendants", "0");
    if (error == 0) {
      part.applied = 0;
    } else {
      not_applied(part, write_problem(error), error);
      if (limits.own_group == Need::required)
        return {Step::group_limit, error, group_detail({GroupPart::own_group, part.problem})};
    }
  }
  return {};
}

Failure GroupTree::make(const GroupLimits& limits, ControlGroup& group, AppliedCgroup& applied) {
  if (!limits.any()) return {};
  for (const PartFile& file : kFiles) applied.part(file.part).asked = (limits.*file.limit).has_value();
  applied.part(GroupPart::own_group).asked = limits.own_group != Need::off;
  const auto nothing = [&](Step step, Trouble trouble) -> Failure {
    for (AppliedCgroup::Part& part : applied.parts) {
      if (part.asked && part.problem == GroupProblem::none) not_applied(part, trouble.problem, trouble.error);
      part.applied.reset();
    }
    if (!any_required(limits)) return {};
    return {step, trouble.error, group_detail({GroupPart::own_group, trouble.problem})};
  };

  const Trouble opened = open();
  if (opened.problem != GroupProblem::none) return nothing(Step::group_parent, opened);
  bool useful = limits.own_group != Need::off;
  for (const PartFile& file : kFiles) {
    if (!(limits.*file.limit)) continue;
    const Trouble trouble = enable(file.controller);
    if (trouble.problem == GroupProblem::none) {
      useful = true;
      continue;
    }
    not_applied(applied.part(file.part), trouble.problem, trouble.error);
    if (required(limits.*file.limit))
      return {Step::group_controller, trouble.error, group_detail({file.part, trouble.problem})};
  }
  if (!useful) return {};

  const std::string name = std::to_string(next_++);
  const int made = own_->make_below(name.c_str(), kGuestMode);
  if (made != 0) return nothing(Step::group_create, {write_problem(made), made});
  core::Result<GroupFolder> folder = own_->open_below(name.c_str());
  if (!folder.ok()) {
    (void)own_->remove_below(name.c_str());
    return nothing(Step::group_create, {GroupProblem::kernel_refused, folder.error().sys_errno});
  }
  const Failure failure = apply(limits, folder.value(), applied);
  if (failure.step != Step::none) {
    (void)own_->remove_below(name.c_str());
    return failure;
  }
  applied.path = path_ + "/" + name;
  applied.group_kill = ::faccessat(folder.value().fd().get(), "cgroup.kill", F_OK, 0) == 0;
  group = ControlGroup(own_, std::move(folder).value(), name);
  return {};
}

}  // namespace heddle::jail

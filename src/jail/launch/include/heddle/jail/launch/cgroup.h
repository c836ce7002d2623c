// Control groups, cgroup v2 (cgroups(7); admin-guide/cgroup-v2.rst of the kernel): the supervisor's folder of groups
// and one group a guest. Nothing is ever created but folders: control files are opened as they are, below a folder
// whose file system was seen to be cgroup2, and no symbolic link is followed.
//
//   PARENT/heddle/<pid>-<start time of the supervisor>/<number of the guest>
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "heddle/core/fd.h"
#include "heddle/core/result.h"
#include "heddle/jail/confine/step.h"
#include "heddle/jail/launch/group.h"

namespace heddle::jail {

/// Where a supervisor makes its groups.
struct GroupChoice {
  enum class Parent : std::uint8_t {
    found,   ///< a group that is delegated to us, or, for root, the root of the cgroup2 mount
    folder,  ///< the one named here
    none,    ///< no groups
  };
  enum class Host : std::uint8_t {
    stays,
    /// Where our own group is delegated and holds nobody but host and supervisor, both move to "heddle-host" below it:
    /// the kernel lets no group that holds processes hand controllers down.
    may_move,
  };
  Parent parent = Parent::found;
  Host host = Host::stays;
  std::string folder;
};

/// An open group folder. Names are single components.
class GroupFolder {
 public:
  GroupFolder() = default;
  explicit GroupFolder(core::Fd fd) noexcept : fd_(std::move(fd)) {}

  /// Errc::unsupported unless the folder is of a cgroup2 file system (fstatfs(2), CGROUP2_SUPER_MAGIC).
  [[nodiscard]] static core::Result<GroupFolder> open(const std::string& path);
  [[nodiscard]] core::Result<GroupFolder> open_below(const char* name) const;
  /// 0, or the errno.
  [[nodiscard]] int make_below(const char* name, mode_t mode = 0755) const noexcept;
  [[nodiscard]] int remove_below(const char* name) const noexcept;

  /// A control file that exists; never makes one. Writes are one pwrite(2).
  [[nodiscard]] core::Result<std::string> read(const char* file) const;
  [[nodiscard]] int write(const char* file, std::string_view text) const noexcept;

  /// SIGKILL for all processes in the group, with those that are just being forked: cgroup.kill (Linux 5.14), or where
  /// there is none freeze_and_kill(). Does not wait for their end.
  void kill() const noexcept;
  void freeze_and_kill() const noexcept;
  [[nodiscard]] bool has_processes() const;

  [[nodiscard]] const core::Fd& fd() const noexcept { return fd_; }
  [[nodiscard]] bool valid() const noexcept { return fd_.valid(); }

 private:
  core::Fd fd_;
};

/// One guest's group.
class ControlGroup {
 public:
  ControlGroup() = default;
  ControlGroup(std::shared_ptr<const GroupFolder> parent, GroupFolder folder, std::string name)
      : parent_(std::move(parent)), folder_(std::move(folder)), name_(std::move(name)) {}

  [[nodiscard]] bool valid() const noexcept { return folder_.valid(); }
  [[nodiscard]] const GroupFolder& folder() const noexcept { return folder_; }
  [[nodiscard]] CgroupUsage usage() const;
  /// True when the group is gone; false while processes in it are still dying: kill() has been sent, try again.
  [[nodiscard]] bool remove() noexcept;

 private:
  std::shared_ptr<const GroupFolder> parent_;
  GroupFolder folder_;
  std::string name_;
};

/// The detail of a failed group step, and back.
struct GroupDetail {
  GroupPart part = GroupPart::own_group;
  GroupProblem problem = GroupProblem::none;
};
[[nodiscard]] int group_detail(const GroupDetail& detail) noexcept;
[[nodiscard]] GroupDetail read_group_detail(int detail) noexcept;

/// The supervisor's groups. One thread.
class GroupTree {
 public:
  explicit GroupTree(GroupChoice choice) : choice_(std::move(choice)) {}
  GroupTree(const GroupTree&) = delete;
  GroupTree& operator=(const GroupTree&) = delete;
  /// Removes the supervisor's own folder; the guests' must be gone.
  ~GroupTree();

  /// Kills and removes what supervisors that have ended have left behind below our parent (JAIL-12). Somebody else's
  /// living supervisor is known by its pid with start time, and by the lock that it holds on its folder. Gives how many
  /// groups it removed.
  unsigned sweep() noexcept;

  /// A group with these limits. Step::none with an empty group: nothing could be applied and nothing was required;
  /// `applied` says why. Otherwise the step that failed, with group_detail() as its detail, and no group.
  [[nodiscard]] Failure make(const GroupLimits& limits, ControlGroup& group, AppliedCgroup& applied);

 private:
  struct Trouble {
    GroupProblem problem = GroupProblem::none;
    int error = 0;
  };
  struct Parent {
    GroupFolder folder;
    std::string path;
    enum class Members : std::uint8_t { others, ourselves } members = Members::others;
  };

  [[nodiscard]] Trouble locate(Parent& parent) const;
  [[nodiscard]] Trouble locate_folder(Parent& parent) const;
  [[nodiscard]] Trouble locate_found(Parent& parent) const;
  [[nodiscard]] Trouble locate_delegated(const std::string& own, Parent& parent) const;
  [[nodiscard]] Trouble move_host(const Parent& parent) const;
  [[nodiscard]] Trouble open();
  [[nodiscard]] Trouble enable(const char* controller) const;
  [[nodiscard]] Failure apply(const GroupLimits& limits, const GroupFolder& group, AppliedCgroup& applied) const;

  GroupChoice choice_;
  std::string path_;    // of own_
  std::string name_;    // of own_, below heddle_
  GroupFolder parent_;  // where "heddle" is
  GroupFolder heddle_;
  std::shared_ptr<const GroupFolder> own_;
  std::uint64_t next_ = 1;
};

}  // namespace heddle::jail

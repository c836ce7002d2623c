#include "namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace heddle::jail {
namespace {

// uapi/linux/mount.h: it and sys/mount.h exclude each other.
constexpr unsigned kFsopenCloexec = 1;
constexpr unsigned kFsconfigSetString = 1;
constexpr unsigned kFsconfigCreate = 6;
constexpr unsigned kFsmountCloexec = 1;
constexpr unsigned kMountAttributes = 0x1 | 0x2 | 0x4 | 0x8;  // RDONLY, NOSUID, NODEV, NOEXEC
constexpr unsigned kMoveFromEmptyPath = 0x4;                  // MOVE_MOUNT_F_EMPTY_PATH

struct Flag {
  Namespace which;
  unsigned flag;
};
constexpr Flag kFlags[] = {
    {Namespace::user, CLONE_NEWUSER}, {Namespace::pid, CLONE_NEWPID}, {Namespace::mount, CLONE_NEWNS},
    {Namespace::ipc, CLONE_NEWIPC},   {Namespace::uts, CLONE_NEWUTS}, {Namespace::network, CLONE_NEWNET},
};

Failure failed(Step step) { return Failure{step, errno, 0}; }

Failure write_file(Step step, int folder, const char* name, const char* text, std::size_t size, int detail) {
  const long fd = ::syscall(SYS_openat, folder, name, O_WRONLY | O_CLOEXEC, 0);
  if (fd < 0) return Failure{step, errno, detail};
  const long put = ::syscall(SYS_write, fd, text, size);
  const int error = put < 0 ? errno : EIO;
  ::syscall(SYS_close, fd);
  if (put != static_cast<long>(size)) return Failure{step, error, detail};
  return {};
}

char* append_number(char* at, std::uint32_t number) {
  char digits[10];
  unsigned count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count != 0) *at++ = digits[--count];
  return at;
}

Failure write_map(int folder, const char* name, std::uint32_t id, int detail) {
  char text[32];
  char* end = append_number(text, id);
  *end++ = ' ';
  end = append_number(end, id);
  *end++ = ' ';
  *end++ = '1';
  return write_file(Step::map_ids, folder, name, text, static_cast<std::size_t>(end - text), detail);
}

}  // namespace

unsigned clone_flags(NamespaceSet set, Creator creator) noexcept {
  unsigned flags = 0;
  for (const Flag& flag : kFlags) {
    if (set.has(flag.which)) flags |= flag.flag;
  }
  return creator == Creator::root ? flags & ~static_cast<unsigned>(CLONE_NEWUSER) : flags;
}

Step failed_clone(int error) noexcept {
  // EAGAIN and ENOMEM are about processes and memory. The rest is a limit (ENOSPC, EUSERS), a kernel without them
  // (EINVAL) or somebody who refuses (EPERM, EACCES, ENOSYS).
  return error == EAGAIN || error == ENOMEM ? Step::clone : Step::namespaces;
}

bool refuses_namespaces(const Failure& failure) noexcept {
  return is_namespace_step(failure.step) && failure.error != 0;  // 0: ended by a signal
}

Failure open_map_folder(int& folder) noexcept {
  folder = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, "/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
  return folder < 0 ? failed(Step::map_folder) : Failure{};
}

Failure make_mounts_private() noexcept {
  return ::syscall(SYS_mount, nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0 ? failed(Step::root_private)
                                                                                       : Failure{};
}

Failure enter_empty_root() noexcept {
  const long context = ::syscall(SYS_fsopen, "tmpfs", kFsopenCloexec);
  if (context < 0 || ::syscall(SYS_fsconfig, context, kFsconfigSetString, "mode", "0555", 0) < 0 ||
      ::syscall(SYS_fsconfig, context, kFsconfigCreate, nullptr, nullptr, 0) < 0) {
    return failed(Step::root_create);
  }
  const long root = ::syscall(SYS_fsmount, context, kFsmountCloexec, kMountAttributes);
  if (root < 0) return failed(Step::root_create);
  // Over the old root: so no folder of the host's needs to exist, and both are left by one name.
  if (::syscall(SYS_move_mount, root, "", AT_FDCWD, "/", kMoveFromEmptyPath) < 0) return failed(Step::root_mount);
  if (::syscall(SYS_fchdir, root) < 0 || ::syscall(SYS_pivot_root, ".", ".") < 0) return failed(Step::root_pivot);
  // The old root now lies on top of the new one.
  if (::syscall(SYS_umount2, ".", MNT_DETACH) < 0 || ::syscall(SYS_fchdir, root) < 0) return failed(Step::root_detach);
  return {};
}

Failure unshare_user() noexcept {
  return ::syscall(SYS_unshare, CLONE_NEWUSER) < 0 ? failed(Step::user_namespace) : Failure{};
}

Failure write_maps(int folder, std::uint32_t user, std::uint32_t group) noexcept {
  const Failure groups = write_file(Step::map_groups, folder, "setgroups", "deny", 4, 0);
  if (groups.step != Step::none) return groups;
  const Failure users = write_map(folder, "uid_map", user, 0);
  return users.step != Step::none ? users : write_map(folder, "gid_map", group, 1);
}

}  // namespace heddle::jail

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "attacker.h"

namespace heddle::attacker {
namespace {

int read_file(const std::string& path) { return outcome(::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY)); }
int read_legacy(const std::string& path) { return outcome(::syscall(SYS_open, path.c_str(), O_RDONLY)); }
int read_openat2(const std::string& path) {
  struct {
    std::uint64_t flags = O_RDONLY;
    std::uint64_t mode = 0;
    std::uint64_t resolve = 0;
  } how;
  return outcome(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how));
}
int create_file(const std::string& path) {
  return outcome(::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT, 0600));
}
int make_folder(const std::string& path) { return outcome(::syscall(SYS_mkdir, path.c_str(), 0700)); }
int list_folder(const std::string&) { return outcome(::syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY)); }
int look_at_file(const std::string& path) {
  struct stat info {};
  return outcome(::syscall(SYS_newfstatat, AT_FDCWD, path.c_str(), &info, 0));
}
int change_mode(const std::string& path) { return outcome(::syscall(SYS_chmod, path.c_str(), 0600)); }
// Before Landlock's ABI 3 this took reading for all that happens.
int truncate_by_reading(const std::string& path) {
  return outcome(::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_TRUNC));
}
// Parameter: how often. The last answer counts.
int change_mode_often(const std::string& times) {
  long result = 0;
  for (int i = 0; i < std::atoi(times.c_str()); ++i) result = ::syscall(SYS_chmod, "/", 0755);
  return outcome(result);
}
int remove_file(const std::string& path) { return outcome(::syscall(SYS_unlinkat, AT_FDCWD, path.c_str(), 0)); }
// Writes to where stdout would be: works, and goes nowhere.
int write_stdout(const std::string&) { return outcome(::syscall(SYS_write, 1, "escaped\n", 8)); }
// TIOCSTI pushes input into a terminal. The kernel takes the command as 32 bits: set upper bits must not get it past a
// filter.
int push_terminal(const std::string&) {
  return outcome(::syscall(SYS_ioctl, 0, (std::uint64_t{1} << 32) | TIOCSTI, "x"));
}
int terminal_size(const std::string&) {
  struct winsize size {};
  return outcome(::syscall(SYS_ioctl, 0, TIOCGWINSZ, &size));
}
int mount_tmpfs(const std::string& path) {
  const int result = outcome(::syscall(SYS_mount, "none", path.c_str(), "tmpfs", 0, nullptr));
  if (result == 0) ::umount2(path.c_str(), MNT_DETACH);  // the control cleans up
  return result;
}
int new_mount(const std::string&) { return outcome(::syscall(SYS_fsopen, "tmpfs", 0)); }
int change_root(const std::string&) { return outcome(::syscall(SYS_chroot, "/")); }

}  // namespace

// Parameter: a path.
const Attack kFileAttacks[] = {
    {"read_file", "read a file", read_file},
    {"read_legacy", "read a file with open(2)", read_legacy},
    {"read_openat2", "read a file with openat2(2)", read_openat2},
    {"create_file", "create a file", create_file},
    {"make_folder", "make a folder", make_folder},
    {"list_folder", "list the root folder", list_folder},
    {"look_at_file", "ask whether a file exists", look_at_file},
    {"change_mode", "change a file's mode", change_mode},
    {"truncate_by_reading", "truncate a file by opening it for reading", truncate_by_reading},
    {"chmod_often", "change a folder's mode many times", change_mode_often},
    {"remove_file", "remove a file", remove_file},
    {"write_stdout", "write to stdout", write_stdout},
    {"push_terminal", "push input into a terminal, upper argument bits set", push_terminal},
    {"terminal_size", "ask for the terminal's size", terminal_size},
    {"mount_tmpfs", "mount a file system", mount_tmpfs},
    {"new_mount", "mount by the new API", new_mount},
    {"change_root", "change the root folder", change_root},
    {nullptr, nullptr, nullptr},
};

}  // namespace heddle::attacker

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
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
int write_file(const std::string& path) {
  return outcome(::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK));
}
// Whatever folder is open here, or can be opened, becomes the working folder by its name in /proc.
int enter_descriptor(const std::string&) {
  (void)::syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY);
  long last = -1;
  for (int fd = 3; fd < 64; ++fd) {
    last = ::syscall(SYS_chdir, ("/proc/self/fd/" + std::to_string(fd)).c_str());
    if (last == 0) return 0;
  }
  return outcome(last);
}
// Of a folder F that is granted, beside which lies F/../file that is not. Each is tried in turn; the best outcome
// counts.
int leave_folder(const std::string& folder) {
  const std::string outside = folder + "/../file";
  return outcome(::syscall(SYS_openat, AT_FDCWD, outside.c_str(), O_RDONLY));
}
int follow_link(const std::string& folder) {
  return outcome(::syscall(SYS_openat, AT_FDCWD, (folder + "/link").c_str(), O_RDONLY));
}
int plant_link(const std::string& folder) {
  const std::string planted = folder + "/planted";
  const int result = outcome(::syscall(SYS_symlink, "/etc/passwd", planted.c_str()));
  if (result == 0) ::unlink(planted.c_str());  // the control cleans up
  return result;
}
int link_in(const std::string& folder) {
  const std::string linked = folder + "/linked";
  const int result = outcome(::syscall(SYS_link, (folder + "/../file").c_str(), linked.c_str()));
  if (result == 0) ::unlink(linked.c_str());
  return result;
}
int rename_in(const std::string& folder) {
  const std::string outside = folder + "/../file";
  const std::string renamed = folder + "/renamed";
  const int result = outcome(::syscall(SYS_rename, outside.c_str(), renamed.c_str()));
  if (result == 0) ::rename(renamed.c_str(), outside.c_str());
  return result;
}
int rename_out(const std::string& folder) {
  const std::string inside = folder + "/inside";
  const std::string outside = folder + "/../escaped";
  const int result = outcome(::syscall(SYS_rename, inside.c_str(), outside.c_str()));
  if (result == 0) ::rename(outside.c_str(), inside.c_str());
  return result;
}
// Opens a folder, says so by making FOLDER/ready, waits until somebody has moved it, and reads what lies beside it.
int read_beside_moved(const std::string& folder) {
  const long open = ::syscall(SYS_openat, AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (open < 0) return errno;
  const long ready = ::syscall(SYS_openat, AT_FDCWD, (folder + "/ready").c_str(), O_WRONLY | O_CREAT, 0666);
  if (ready < 0) return errno;
  struct stat info {};
  const timespec pause{0, 5'000'000};
  for (int tries = 0; tries < 600 && ::stat(folder.c_str(), &info) == 0; ++tries) ::nanosleep(&pause, nullptr);
  if (::stat(folder.c_str(), &info) == 0) return ETIMEDOUT;
  return outcome(::syscall(SYS_openat, open, "../file", O_RDONLY));
}
// A hole of 64 GiB.
int make_sparse(const std::string& path) {
  const long file = ::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT, 0600);
  if (file < 0) return errno;
  ::signal(SIGXFSZ, SIG_IGN);
  const int result = outcome(::syscall(SYS_ftruncate, file, std::int64_t{64} << 30));
  ::unlink(path.c_str());
  return result;
}
int make_strange_name(const std::string& path) {
  const std::string strange = path + "-\xff\xfe\x1b[31m";
  const int result = create_file(strange);
  if (result == 0) ::unlink(strange.c_str());
  return result;
}
int make_many_files(const std::string& path) {
  int result = 0;
  for (int number = 0; number < 2000 && result == 0; ++number) {
    const std::string name = path + "-" + std::to_string(number);
    const long made = ::syscall(SYS_openat, AT_FDCWD, name.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    result = outcome(made);
    if (made < 0) continue;
    ::syscall(SYS_close, made);
    ::unlink(name.c_str());
  }
  return result;
}
int open_many_files(const std::string&) {
  long last = 0;
  long highest = 2;
  for (int number = 0; number < 600 && last >= 0; ++number) {
    last = ::syscall(SYS_dup, 1);
    if (last > highest) highest = last;
  }
  const int result = outcome(last);
  if (highest > 5) ::syscall(SYS_close, highest);  // one is needed to report with
  return result;
}
int paste_terminal(const std::string&) { return outcome(::syscall(SYS_ioctl, 0, TIOCLINUX, "\3")); }
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
    {"write_file", "open a file for writing", write_file},
    {"enter_descriptor", "enter a folder by its name in /proc/self/fd", enter_descriptor},
    {"leave_folder", "leave a folder by ..", leave_folder},
    {"follow_link", "follow a symbolic link out of a folder", follow_link},
    {"plant_link", "make a symbolic link", plant_link},
    {"link_in", "link a file into a folder", link_in},
    {"rename_in", "rename a file into a folder", rename_in},
    {"rename_out", "rename a file out of a folder", rename_out},
    {"read_beside_moved", "read beside a folder that was moved away", read_beside_moved},
    {"sparse_file", "make a huge sparse file", make_sparse},
    {"strange_name", "make a file whose name is no text", make_strange_name},
    {"many_files", "make many small files", make_many_files},
    {"open_files", "open files without end", open_many_files},
    {"paste_terminal", "paste into a terminal (TIOCLINUX)", paste_terminal},
    {"write_stdout", "write to stdout", write_stdout},
    {"push_terminal", "push input into a terminal, upper argument bits set", push_terminal},
    {"terminal_size", "ask for the terminal's size", terminal_size},
    {"mount_tmpfs", "mount a file system", mount_tmpfs},
    {"new_mount", "mount by the new API", new_mount},
    {"change_root", "change the root folder", change_root},
    {nullptr, nullptr, nullptr},
};

}  // namespace heddle::attacker

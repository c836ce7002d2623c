// What Landlock does not decide about, and what the kernel counts for all processes of a user.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "attacker.h"

namespace heddle::attacker {
namespace {

// linux/fcntl.h, which fcntl.h excludes.
constexpr int kSetLease = 1024;
constexpr int kNotify = 1026;
constexpr int kSetPipeSize = 1031;
constexpr unsigned long kNotifyOfNewNames = 0x4;  // DN_CREATE
constexpr unsigned kAllEvents = 0xfff;            // IN_ALL_EVENTS
constexpr unsigned kReportFid = 0x200;            // FAN_REPORT_FID
constexpr std::uint64_t kOfAnOpening = 0x20;      // FAN_OPEN

// No attribute of that name is an answer about it.
int attribute_outcome(long result) { return result < 0 && errno == ENODATA ? 0 : outcome(result); }

int watch_folder(const std::string& path) {
  const long watcher = ::syscall(SYS_inotify_init1, O_CLOEXEC);
  if (watcher < 0) return errno;
  return outcome(::syscall(SYS_inotify_add_watch, watcher, path.c_str(), kAllEvents));
}
int mark_folder(const std::string& path) {
  const long marker = ::syscall(SYS_fanotify_init, kReportFid, O_RDONLY);
  if (marker < 0) return errno;
  return outcome(::syscall(SYS_fanotify_mark, marker, 1UL, kOfAnOpening, AT_FDCWD, path.c_str()));
}
int on_opened(const std::string& path, int command, unsigned long argument) {
  const long file = ::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const int result = outcome(::syscall(SYS_fcntl, file, command, argument));
  ::syscall(SYS_close, file);
  return result;
}
int notify_folder(const std::string& path) { return on_opened(path, kNotify, kNotifyOfNewNames); }
int lease_file(const std::string& path) { return on_opened(path, kSetLease, F_RDLCK); }
int lock_record(const std::string& path) {
  struct flock lock {};
  lock.l_type = F_RDLCK;
  return on_opened(path, F_SETLK, reinterpret_cast<unsigned long>(&lock));
}
int lock_file(const std::string& path) {
  const long file = ::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  return outcome(::syscall(SYS_flock, file, LOCK_EX | LOCK_NB));
}
int read_attribute(const std::string& path) {
  char value[64];
  return attribute_outcome(::syscall(SYS_getxattr, path.c_str(), "security.heddle", value, sizeof value));
}
int list_attributes(const std::string& path) {
  char names[256];
  return outcome(::syscall(SYS_llistxattr, path.c_str(), names, sizeof names));
}
int handle_of(const std::string& path) {
  struct {
    unsigned bytes = 128;
    int type = 0;
    unsigned char handle[128] = {};
  } handle;
  int mount = 0;
  return outcome(::syscall(SYS_name_to_handle_at, AT_FDCWD, path.c_str(), &handle, &mount, 0));
}
// Neither read nor write: no right of Landlock's is asked for, and the file is open.
int open_neither(const std::string& path) {
  return outcome(::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_ACCMODE | O_CLOEXEC));
}
int read_link(const std::string& path) {
  char target[256];
  return outcome(::syscall(SYS_readlink, path.c_str(), target, sizeof target));
}
int may_read(const std::string& path) { return outcome(::syscall(SYS_access, path.c_str(), R_OK)); }
int file_system_of(const std::string& path) {
  struct statfs info {};
  return outcome(::syscall(SYS_statfs, path.c_str(), &info));
}
int enter_folder(const std::string& path) { return outcome(::syscall(SYS_chdir, path.c_str())); }

int grow_pipe(const std::string&) {
  int ends[2];
  if (::syscall(SYS_pipe2, ends, O_CLOEXEC) != 0) return errno;
  return outcome(::syscall(SYS_fcntl, ends[0], kSetPipeSize, 1UL << 20));
}

// Never armed: it is counted from its making.
int make_timer() {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMIN;
  int timer = 0;
  return outcome(::syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer));
}
// Parameter: how many.
int make_timers(const std::string& count) {
  int result = 0;
  for (int made = 0; made < std::atoi(count.c_str()) && result == 0; ++made) result = make_timer();
  return result;
}
int queue_signal_to_itself() {
  siginfo_t info{};
  info.si_code = SI_QUEUE;
  return outcome(::syscall(SYS_rt_sigqueueinfo, ::getpid(), SIGRTMIN, &info));
}
int queue_signals(const std::string& count) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGRTMIN);
  ::sigprocmask(SIG_BLOCK, &one, nullptr);
  int result = 0;
  for (int sent = 0; sent < std::atoi(count.c_str()) && result == 0; ++sent) result = queue_signal_to_itself();
  return result;
}
// Parameter: a folder that it may write. Takes what it can get, in itself and in children, makes FOLDER/ready and holds
// all of it until somebody has removed that.
int hold_all(const std::string& folder) {
  (void)make_timers("200000");  // more than any host's user has
  for (int child = 0; child < 8; ++child) {
    if (::syscall(SYS_fork) != 0) continue;
    ::alarm(60);
    for (int ends[2]; ::pipe(ends) == 0;) {
    }
    (void)queue_signals("100000");
    for (;;) ::pause();
  }
  const timespec pause{0, 20'000'000};
  for (int waited = 0; waited < 25; ++waited) ::nanosleep(&pause, nullptr);
  const std::string ready = folder + "/ready";
  const long made = ::syscall(SYS_openat, AT_FDCWD, ready.c_str(), O_WRONLY | O_CREAT, 0666);
  if (made < 0) return errno;
  ::syscall(SYS_close, made);
  struct stat info {};
  for (int tries = 0; tries < 1500 && ::stat(ready.c_str(), &info) == 0; ++tries) ::nanosleep(&pause, nullptr);
  return ::stat(ready.c_str(), &info) == 0 ? ETIMEDOUT : 0;
}

// Parameter: a file that it may write. Leaves three that fork and end, fork and end, each in a session of its own and
// with a byte for the file, for some seconds.
int leave_runners(const std::string& path, int children) {
  timespec begin{};
  ::clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int runner = 0; runner < 3; ++runner) {
    if (::syscall(SYS_fork) != 0) continue;
    for (timespec now = begin; now.tv_sec < begin.tv_sec + 5; ::clock_gettime(CLOCK_MONOTONIC, &now)) {
      ::syscall(SYS_setsid);
      const long file = ::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0666);
      if (file < 0 || ::syscall(SYS_write, file, "x", 1) != 1) ::_exit(1);
      ::syscall(SYS_close, file);
      int born = 0;
      long child = 0;
      while (born < children && (child = ::syscall(SYS_fork)) > 0) ++born;
      if (child != 0 && born > 0) ::_exit(0);
    }
    ::_exit(0);
  }
  const timespec pause{0, 300'000'000};
  ::nanosleep(&pause, nullptr);
  return 0;
}
int leave_and_fork(const std::string& path) { return leave_runners(path, 1); }
// As many as it may have. Never free.
int leave_and_multiply(const std::string& path) { return leave_runners(path, 2); }

}  // namespace

// Parameter: a path, or how many.
const Attack kSharedAttacks[] = {
    {"watch_folder", "watch a folder (inotify)", watch_folder},
    {"mark_folder", "watch a folder (fanotify)", mark_folder},
    {"notify_folder", "watch a folder (dnotify)", notify_folder},
    {"lease_file", "take a lease on a file", lease_file},
    {"lock_record", "lock a part of a file", lock_record},
    {"lock_file", "lock a file", lock_file},
    {"read_attribute", "read an extended attribute", read_attribute},
    {"list_attributes", "list extended attributes", list_attributes},
    {"handle_of", "ask for a file's handle", handle_of},
    {"open_neither", "open a file for neither reading nor writing", open_neither},
    {"read_link", "read where a link leads", read_link},
    {"may_read", "ask whether a file may be read", may_read},
    {"file_system_of", "ask about a file system", file_system_of},
    {"enter_folder", "enter a folder", enter_folder},
    {"grow_pipe", "make a pipe larger", grow_pipe},
    {"make_timers", "make timers", make_timers},
    {"queue_signals", "queue signals for itself", queue_signals},
    {"leave_and_fork", "leave processes that fork again and again", leave_and_fork},
    {"leave_and_multiply", "leave processes that multiply", leave_and_multiply},
    {"hold_all", "hold what the kernel counts per user", hold_all},
    {nullptr, nullptr, nullptr},
};

}  // namespace heddle::attacker

// PID 1 of a guest kernel, and the only program there that is not a test: mounts what tests need, moves to a root of
// its own (the first root cannot be pivoted away from), runs the programs of /run.list one after the other as root or
// as an ordinary user, and powers off. Any other process that runs it (as /bin/true) ends at once.
//
// /run.list: "root|user PROGRAM [ARGUMENT]…" a line, words without spaces. The second serial line, which the kernel
// does not write to, carries what the programs print and, tab-separated:
//   kernel RELEASE, program USER NAME how-it-ended, left USER NAME COUNT (processes that it left behind), done
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr unsigned kUser = 1000;
constexpr time_t kProgramSeconds = 600;
constexpr const char* kNewRoot = "/new";
constexpr const char* kPayload = "/payload";
const std::string kGroups = "/sys/fs/cgroup/";

[[noreturn]] void power_off() {
  ::sync();
  ::reboot(RB_POWER_OFF);
  ::_exit(1);  // a panic, which ends the machine too
}

[[noreturn]] void fail(const char* what) {
  std::printf("init failed\t%s: %s\n", what, std::strerror(errno));
  std::fflush(stdout);
  power_off();
}

void must(bool done, const char* what) {
  if (!done) fail(what);
}

// The tests say what is missing; a file system that this kernel lacks ends nothing.
void mount_at(const char* type, const char* where, const char* options = nullptr) {
  ::mkdir(where, 0755);
  if (::mount(type, where, type, 0, options) != 0) std::printf("no %s\t%s\n", type, std::strerror(errno));
}

void move_to_own_root() {
  must(::mkdir(kNewRoot, 0755) == 0 && ::mount("tmpfs", kNewRoot, "tmpfs", 0, "mode=0755") == 0, "mount a root");
  std::error_code error;
  const auto options = std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks;
  std::filesystem::copy(kPayload, kNewRoot, options, error);
  errno = error.value();
  must(!error, "copy the payload");
  std::filesystem::remove_all(kPayload, error);  // memory that tests may want; not to have it back is no failure
  must(::chdir(kNewRoot) == 0 && ::mount(".", "/", nullptr, MS_MOVE, nullptr) == 0 && ::chroot(".") == 0 &&
           ::chdir("/") == 0,
       "move to the root");
}

void mount_all() {
  mount_at("proc", "/proc");
  mount_at("sysfs", "/sys");
  mount_at("devtmpfs", "/dev");
  mount_at("tmpfs", "/dev/shm", "mode=1777");
  mount_at("securityfs", "/sys/kernel/security");
  mount_at("cgroup2", "/sys/fs/cgroup");
  ::mkdir("/tmp", 0);
  must(::chmod("/tmp", 01777) == 0, "make /tmp");
}

void loopback_up() {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP;
  if (fd < 0 || ::ioctl(fd, SIOCSIFFLAGS, &request) != 0) std::printf("no loopback\t%s\n", std::strerror(errno));
  ::close(fd);
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  return static_cast<bool>(file.flush());
}

// A delegated cgroup for each user, as systemd's Delegate=yes with DelegateSubgroup=host makes it: marked, the user
// owns the folders and the files that move processes, and the program starts in the lower one.
void delegate_group(const std::string& who, unsigned uid) {
  const std::string group = kGroups + "heddle-" + who;
  for (const char* controller : {"+memory", "+pids", "+cpu"}) {
    if (!write_file(kGroups + "cgroup.subtree_control", controller)) std::printf("no controller\t%s\n", controller + 1);
  }
  ::mkdir(group.c_str(), 0755);
  if (::setxattr(group.c_str(), "user.delegate", "1", 1, 0) != 0) std::printf("no mark\t%s\n", std::strerror(errno));
  ::mkdir((group + "/host").c_str(), 0755);
  for (const char* controller : {"+memory", "+pids", "+cpu"}) write_file(group + "/cgroup.subtree_control", controller);
  for (const std::string& folder : {group, group + "/host"}) {
    for (const char* owned : {"", "/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads"}) {
      (void)!::chown((folder + owned).c_str(), uid, uid);
    }
  }
}

void become(const std::string& who, unsigned uid) {
  must(write_file(kGroups + "heddle-" + who + "/host/cgroup.procs", "0") || ::access(kGroups.c_str(), F_OK) != 0,
       "enter the cgroup");
  if (uid == 0) return;
  must(::setgid(uid) == 0 && ::setgroups(0, nullptr) == 0 && ::setuid(uid) == 0, "become the user");
}

std::vector<pid_t> others() {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 1) continue;
    char target[16];
    // Kernel threads have no program; zombies neither, but those are gone once reaped.
    if (::readlink((entry.path() / "exe").c_str(), target, sizeof target) > 0) found.push_back(pid);
  }
  return found;
}

// Orphans come to us too: all are reaped.
std::string wait_for(pid_t program) {
  sigset_t child{};
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  const time_t end = std::time(nullptr) + kProgramSeconds;
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid == program) {
      if (WIFEXITED(status)) return "exit " + std::to_string(WEXITSTATUS(status));
      return "signal " + std::to_string(WTERMSIG(status));
    }
    if (pid > 0) continue;
    const time_t now = std::time(nullptr);
    if (now >= end) return "time-out";
    const timespec left{end - now, 0};
    (void)::sigtimedwait(&child, nullptr, &left);
  }
}

void run(const std::string& line) {
  std::istringstream words(line);
  std::string who;
  std::vector<std::string> arguments;
  words >> who;
  for (std::string word; words >> word;) arguments.push_back(word);
  if (arguments.empty()) return;
  const unsigned uid = who == "root" ? 0 : kUser;
  delegate_group(who, uid);
  std::fflush(stdout);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setsid();
    become(who, uid);
    sigset_t none{};
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::setenv("HEDDLE_USER", who.c_str(), 1);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  const std::string name = std::filesystem::path(arguments[0]).filename();
  const std::string ended = pid < 0 ? "not started" : wait_for(pid);
  std::printf("program\t%s\t%s\t%s\n", who.c_str(), name.c_str(), ended.c_str());
  std::printf("left\t%s\t%s\t%zu\n", who.c_str(), name.c_str(), others().size());
  std::fflush(stdout);
  ::kill(-1, SIGKILL);
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
}

void open_result_line() {
  const int line = ::open("/dev/ttyS1", O_RDWR | O_NOCTTY);
  if (line < 0) power_off();
  termios settings{};
  if (::tcgetattr(line, &settings) == 0) {
    ::cfmakeraw(&settings);
    ::tcsetattr(line, TCSANOW, &settings);
  }
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, 0);
  ::dup2(line, 1);
  ::dup2(line, 2);
  if (line > 2) ::close(line);
  if (nothing > 2) ::close(nothing);
}

}  // namespace

int main() {
  if (::getpid() != 1) return 0;
  ::umask(022);
  ::mkdir("/dev", 0755);
  ::mount("devtmpfs", "/dev", "devtmpfs", 0, nullptr);
  open_result_line();
  sigset_t child{};
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);
  utsname system{};
  ::uname(&system);
  std::printf("kernel\t%s\n", system.release);
  ::umount2("/dev", MNT_DETACH);
  move_to_own_root();
  mount_all();
  loopback_up();
  ::setenv("PATH", "/bin", 1);
  ::setenv("HOME", "/tmp", 1);
  std::ifstream list("/run.list");
  for (std::string line; std::getline(list, line);) run(line);
  std::printf("done\n");
  std::fflush(stdout);
  ::tcdrain(1);
  power_off();
}

// heddle-supervisor: started by a host, never by hand. See supervisor.h.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "supervisor.h"

namespace {

constexpr int kUsage = 64;
constexpr int kBroken = 70;
constexpr int kInterface = 71;

void say(const char* text) {
  // Nothing is left to do about a failed write.
  [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, text, std::strlen(text));
}

bool is_control_socket(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

// One descriptor a guest: as many as the hard limit lets it have.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // a spawn beyond it fails by itself, and says so
}

// Of guests that are given no user namespace this spares each the same work: it is inherited. What a guest must not
// have it drops by itself, and is not started where it cannot; so no failure here is one.
void empty_bounding_set() {
  if (::geteuid() != 0) return;
  for (int capability = 0; ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0;) ++capability;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace heddle;
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    [[maybe_unused]] const ssize_t put =
        ::write(STDOUT_FILENO, "heddle-supervisor " HEDDLE_VERSION "\n", sizeof "heddle-supervisor " HEDDLE_VERSION);
    return 0;
  }
  if (!is_control_socket(jail::kControlFd)) {
    say("heddle-supervisor: this program is started by heddle, not by hand\n");
    return kUsage;
  }
  // They came without close-on-exec, which is how they got here.
  if (::fcntl(jail::kControlFd, F_SETFD, FD_CLOEXEC) != 0 || ::fcntl(jail::kHostFd, F_SETFD, FD_CLOEXEC) != 0) {
    return kInterface;
  }
  // What a guest leaves falls to this process (strays.h).
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return kInterface;
  raise_descriptor_limit();
  empty_bounding_set();
  supervisor::Supervisor supervisor{core::Fd(jail::kControlFd), core::Fd(jail::kHostFd)};
  return supervisor.run().ok() ? 0 : kBroken;
}

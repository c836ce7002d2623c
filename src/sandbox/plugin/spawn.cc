#include "spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace heddle::sandbox::plugin {
namespace {

constexpr int kAbove = 16;  // where the descriptors to hand on lie, clear of the numbers that they get

struct Actions {
  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};
  bool made = false;
  Actions() {
    made = ::posix_spawn_file_actions_init(&files) == 0;
    made = ::posix_spawnattr_init(&attributes) == 0 && made;
  }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  ~Actions() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
};

}  // namespace

core::Result<void> send_knock(const core::Fd& calls, Knock knock, const core::Fd* socket) {
  std::array<char, kKnockBytes> bytes{};
  bytes[0] = static_cast<char>(knock.kind);
  std::memcpy(bytes.data() + 1, &knock.id, sizeof knock.id);
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (socket != nullptr) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    const int raw = socket->get();
    std::memcpy(CMSG_DATA(rights), &raw, sizeof raw);
  }
  for (;;) {
    // Never waits: a process that does not even take calls is broken.
    if (::sendmsg(calls.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return {};
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET)
      return core::make_error(core::Errc::disconnected, "call a backend's process");
    return core::system_error("call a backend's process");
  }
}

core::Result<Received> receive_knock(const core::Fd& calls) {
  std::array<char, kKnockBytes> bytes{};
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t got = -1;
  do {
    got = ::recvmsg(calls.get(), &header, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return core::system_error("wait for calls");
  if (got == 0) return core::make_error(core::Errc::disconnected, "wait for calls");
  Received received;
  for (cmsghdr* one = CMSG_FIRSTHDR(&header); one != nullptr; one = CMSG_NXTHDR(&header, one)) {
    if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
    int raw = -1;
    std::memcpy(&raw, CMSG_DATA(one), sizeof raw);
    received.socket = core::Fd(raw);
  }
  received.knock.kind = static_cast<Knock::Kind>(bytes[0]);
  std::memcpy(&received.knock.id, bytes.data() + 1, sizeof received.knock.id);
  return received;
}

core::Result<pid_t> spawn_server(const ServerCommand& command, const core::Fd& calls, const core::Fd* memory) {
  HEDDLE_ASSIGN(const core::Fd high_calls, calls.duplicate(kAbove));
  core::Fd high_memory;
  if (memory != nullptr) {
    HEDDLE_ASSIGN(high_memory, memory->duplicate(kAbove));
  }
  Actions actions;
  if (!actions.made) return core::make_error(core::Errc::exhausted, "start a backend's process");
  ::posix_spawn_file_actions_addopen(&actions.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions.files, STDERR_FILENO, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions.files, high_calls.get(), kCallsFd);
  if (memory != nullptr) {
    ::posix_spawn_file_actions_adddup2(&actions.files, high_memory.get(), kMemoryFd);
  }
  ::posix_spawn_file_actions_addclosefrom_np(&actions.files, memory != nullptr ? kMemoryFd + 1 : kMemoryFd);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&actions.attributes, &none);
  ::posix_spawnattr_setpgroup(&actions.attributes, 0);
  ::posix_spawnattr_setflags(&actions.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> words{command.program};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int failed =
      ::posix_spawn(&pid, command.program.c_str(), &actions.files, &actions.attributes, argv.data(), environ);
  if (failed != 0) return core::system_error(failed, "start a backend's process", command.program);
  return pid;
}

}  // namespace heddle::sandbox::plugin

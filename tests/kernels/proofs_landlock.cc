// What Landlock alone decides on this kernel, with the ruleset that Heddle makes: a child of ours enforces it and
// tries. `not enforced` says which other layer Heddle relies on; that this layer does it is shown by the attacks.
#include <fcntl.h>
#include <linux/random.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "heddle/jail/confine/landlock.h"
#include "proofs.h"

namespace heddle::kernels {
namespace {

constexpr int kNoRuleset = 125;

// The ABI from which Heddle's ruleset has Landlock do it: from there on a kernel of any name that does not is a FAIL.
constexpr int kNever = 1000;

int outcome(long result) { return result < 0 ? errno : 0; }

// 0 or the errno that `action` met, in a child under deny-all, but for reading `readable`.
int under_landlock(const std::function<int()>& action, const char* readable) {
  return in_child([&] {
    const core::Fd ruleset(jail::landlock_deny_all(jail::landlock_abi()));
    if (!ruleset.valid() || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return kNoRuleset;
    if (readable != nullptr) {
      const core::Fd object(::open(readable, O_PATH | O_CLOEXEC));
      if (jail::landlock_allow(ruleset.get(), object.get(), jail::kLandlockReadFile) < 0) return kNoRuleset;
    }
    if (jail::landlock_enforce(ruleset.get()) < 0) return kNoRuleset;
    return action();
  });
}

// `refusals`: what the action meets when Landlock stops it. `allowed`: what it meets when nothing does.
Finding decide(int since, const std::function<int()>& action, std::initializer_list<int> refusals, int allowed,
               const char* other_layer, const char* readable = nullptr) {
  const int free = in_child(action);
  if (free != allowed) return fail("without Landlock it ends in " + core::errno_text(free));
  const int jailed = under_landlock(action, readable);
  const int abi = jail::landlock_abi();
  if (jailed == kNoRuleset && abi < 0) return not_enforced("no Landlock: no guest");
  if (jailed == allowed && abi >= since) return fail("Landlock's ABI " + std::to_string(abi) + " can, and does not");
  if (jailed == allowed) return not_enforced(other_layer);
  for (const int refusal : refusals) {
    if (jailed == refusal) return yes();
  }
  return fail("it ends in " + core::errno_text(jailed));
}

sockaddr_in loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(9);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int connect_unix(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  std::size_t size = offsetof(sockaddr_un, sun_path) + name.size();
  if (name[0] == '@') {
    address.sun_path[0] = '\0';
  } else {
    ++size;
  }
  const core::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return outcome(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size)));
}

}  // namespace

Finding landlock_files(const World& world) {
  const std::string file = world.folder() + "/file";
  return decide(
      1, [file] { return outcome(::open(file.c_str(), O_RDONLY | O_CLOEXEC)); }, {EACCES}, 0, "nothing");
}

Finding landlock_truncate(const World& world) {
  const std::string file = world.folder() + "/file";
  return decide(
      3, [file] { return outcome(::truncate(file.c_str(), 6)); }, {EACCES}, 0, "seccomp");
}

// Of a device that it may read: what a program asks of it by ioctl(2).
Finding landlock_devices(const World&) {
  const auto action = [] {
    int bits = 0;
    const core::Fd device(::open("/dev/random", O_RDONLY | O_CLOEXEC));
    return device.valid() ? outcome(::ioctl(device.get(), RNDGETENTCNT, &bits)) : ENODEV;
  };
  return decide(5, action, {EACCES}, 0, "seccomp", "/dev/random");
}

Finding landlock_tcp(const World&) {
  const auto action = [] {
    const sockaddr_in address = loopback();
    const core::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return outcome(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  };
  return decide(4, action, {EACCES}, ECONNREFUSED, "seccomp");
}

Finding landlock_udp(const World&) {
  const auto action = [] {
    const sockaddr_in address = loopback();
    const core::Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return outcome(::sendto(fd.get(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&address), sizeof address));
  };
  return decide(kNever, action, {EACCES}, 0, "seccomp");
}

Finding landlock_abstract_sockets(const World&) {
  const std::string name = "@heddle-prey-" + std::to_string(::getpid());
  return decide(
      6, [name] { return connect_unix(name); }, {EPERM, EACCES}, 0, "seccomp");
}

Finding landlock_socket_files(const World& world) {
  const std::string name = world.folder() + "/stream";
  return decide(
      kNever, [name] { return connect_unix(name); }, {EPERM, EACCES}, 0, "seccomp");
}

Finding landlock_signals(const World&) {
  const pid_t host = ::getpid();
  return decide(
      6, [host] { return outcome(::kill(host, 0)); }, {EPERM}, 0, "seccomp");
}

// Pitfall: execute of a memory file is no right of Landlock's. init, which is static, ends at once when it is not
// PID 1.
Finding landlock_memory_files(const World&) {
  const core::Fd program(::open(HEDDLE_KERNEL_INIT, O_RDONLY | O_CLOEXEC));
  if (!program.valid()) return fail("no " HEDDLE_KERNEL_INIT);
  const auto action = [&program] {
    const core::Fd memory(static_cast<int>(::syscall(SYS_memfd_create, "x", 0U)));
    if (!memory.valid()) return errno;
    char buffer[16U << 10];
    off_t at = 0;
    for (ssize_t got = 0; (got = ::pread(program.get(), buffer, sizeof buffer, at)) > 0; at += got) {
      if (::write(memory.get(), buffer, static_cast<std::size_t>(got)) != got) return EIO;
    }
    char name[] = "init";
    char* arguments[] = {name, nullptr};
    char* none[] = {nullptr};
    return outcome(::syscall(SYS_execveat, memory.get(), "", arguments, none, AT_EMPTY_PATH));
  };
  return decide(kNever, action, {EACCES, EPERM}, 0, "seccomp");
}

}  // namespace heddle::kernels

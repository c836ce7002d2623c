#include "native_attacks.h"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "heddle/jail/launch/spawn.h"
#include "heddle/jail/supervisor.h"
#include "heddle/wire/channel.h"

namespace heddle::demo {
namespace {

struct Attack {
  const char* tried;
  const char* stage;
  const char* name;
  const char* parameter;
  int expected;  // an errno, or minus the signal
  const char* refused_by;
};

// SOCKET stands for the path of a socket that the demo listens on.
const Attack kAttacks[] = {
    {"read /etc/passwd", "confined", "read_file", "/etc/passwd", EPERM, "seccomp"},
    {"the same with Landlock alone", "sealed", "read_file", "/etc/passwd", EACCES, "Landlock"},
    {"open an internet socket", "confined", "socket", "2", EPERM, "seccomp"},
    {"connect to a host's UNIX socket", "confined", "connect_unix", "SOCKET", EPERM, "seccomp"},
    {"execute a memfd", "confined", "memfd_exec", "", EPERM, "seccomp"},
    {"execute a program", "confined", "execve", "", EPERM, "seccomp"},
    {"the same with Landlock alone", "sealed", "execve", "", EACCES, "Landlock"},
    {"ptrace", "confined", "ptrace", "", EPERM, "seccomp"},
    {"fork", "confined", "fork", "", EPERM, "seccomp"},
    {"the same without the filter", "sealed", "fork", "", EAGAIN, "RLIMIT_NPROC"},
    {"make memory executable", "confined", "mprotect_exec", "", EPERM, "seccomp"},
    {"set up an io_uring", "confined", "io_uring", "", EPERM, "seccomp"},
    {"a 32-bit system call", "confined", "int80", "", -SIGSYS, "seccomp"},
};

constexpr int kNoAnswer = -1000;
constexpr int kWorked = 0;

// What the attacker says: "armed" first, then how it went. An executed program says so itself.
int read_result(wire::Channel& channel) {
  const core::Deadline deadline = core::Deadline::after(std::chrono::seconds(20));
  for (;;) {
    const auto frame = channel.wait_frame(deadline);
    if (!frame.ok()) return kNoAnswer;
    auto message = wire::as_message(frame.value());
    if (!message.ok()) return kNoAnswer;
    if (message.value().op() == "executed") return kWorked;
    if (message.value().op() != "attack") continue;
    const auto number = message.value().take_number("errno", 4095);
    return number.ok() ? static_cast<int>(number.value()) : kNoAnswer;
  }
}

struct Jailed {
  int result = kNoAnswer;
  bool unnamed = false;    // the filter ended it and nobody could be told why
  std::string refused_by;  // in the denial's own words
};

core::Result<Jailed> attack_jailed(jail::Supervisor& supervisor, const jail::Policy& policy,
                                   const jail::Program& program, const Attack& attack, const std::string& parameter) {
  HEDDLE_ASSIGN(core::FdPair pair, core::stream_pair());
  HEDDLE_ASSIGN(wire::Channel channel, wire::Channel::adopt(std::move(pair.first)));
  HEDDLE_ASSIGN(jail::Guest guest,
                supervisor.spawn(policy, program, {attack.stage, attack.name, parameter}, std::move(pair.second)));
  Jailed jailed;
  jailed.result = read_result(channel);
  HEDDLE_ASSIGN(const std::optional<jail::Death> death, guest.wait(core::Deadline::after(std::chrono::seconds(20))));
  HEDDLE_ASSIGN(const jail::Denials denials, guest.take_denials());
  if (!denials.denials.empty()) {
    jailed.unnamed = !denials.denials.back().number_known;
    jailed.refused_by = jail::to_line(denials.denials.back());
  }
  if (jailed.result == kNoAnswer && death && death->kind == jail::Death::Kind::signalled) jailed.result = -death->code;
  return jailed;
}

core::Result<int> attack_free(const jail::Program& program, const Attack& attack, const std::string& parameter) {
  HEDDLE_ASSIGN(core::FdPair pair, core::stream_pair());
  HEDDLE_ASSIGN(wire::Channel channel, wire::Channel::adopt(std::move(pair.first)));
  jail::SpawnPlan plan;
  plan.confinement = jail::Confinement::helper;
  HEDDLE_ASSIGN(plan.program, program.fd().duplicate());
  plan.arguments = {"attacker", "free", attack.name, parameter};
  plan.descriptors.push_back(std::move(pair.second));
  const jail::SpawnResult child = jail::spawn(std::move(plan));
  if (child.failure.step != jail::Step::none) {
    return core::system_error(child.failure.error, jail::step_name(child.failure.step));
  }
  const int result = read_result(channel);
  if (!child.child.wait_exit(core::Deadline::after(std::chrono::seconds(20)))) (void)child.child.send_signal(SIGKILL);
  (void)child.child.wait_exit(core::Deadline::after(std::chrono::seconds(20)));
  (void)jail::reap(child.child);
  return result;
}

std::string describe(int result) {
  if (result == kWorked) return "IT WORKED";
  if (result == kNoAnswer) return "no answer";
  if (result < 0) return fmt::format("killed: {}", ::strsignal(-result));
  return core::errno_text(result);
}

// A socket of the host's for the attacker to aim at, in a folder that goes with it.
class HostSocket {
 public:
  HostSocket() {
    char folder[] = "/tmp/heddle-demo-XXXXXX";
    if (::mkdtemp(folder) == nullptr) return;
    folder_ = folder;
    socket_ = core::Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path().c_str(), path().size() + 1);
    ready_ = ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
             ::listen(socket_.get(), 8) == 0;
  }
  HostSocket(const HostSocket&) = delete;
  HostSocket& operator=(const HostSocket&) = delete;
  ~HostSocket() {
    ::unlink(path().c_str());
    ::rmdir(folder_.c_str());
  }
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] std::string path() const { return folder_ + "/socket"; }

 private:
  std::string folder_;
  core::Fd socket_;
  bool ready_ = false;
};

core::Result<void> attack_all(const std::string& supervisor_path, const std::string& attacker, Table& table) {
  const HostSocket socket;
  if (!socket.ready()) return core::system_error("make a socket to attack");
  HEDDLE_ASSIGN(const jail::Program program, jail::open_program(attacker));
  jail::SupervisorOptions options;
  options.program = supervisor_path;
  HEDDLE_ASSIGN(jail::Supervisor supervisor, jail::Supervisor::start(options));
  HEDDLE_ASSIGN(const jail::Policy whole, jail::Policy::script());
  // Of the attacks that are made before the filter is on: the empty root of a namespace would answer in Landlock's
  // place.
  HEDDLE_ASSIGN(const jail::Policy no_namespaces, jail::Policy::script({}, {}, jail::NamespaceOrder{}));
  for (const Attack& attack : kAttacks) {
    const std::string parameter = std::strcmp(attack.parameter, "SOCKET") == 0 ? socket.path() : attack.parameter;
    const jail::Policy& policy = std::strcmp(attack.stage, "sealed") == 0 ? no_namespaces : whole;
    HEDDLE_ASSIGN(const Jailed jailed, attack_jailed(supervisor, policy, program, attack, parameter));
    HEDDLE_ASSIGN(const int free, attack_free(program, attack, parameter));
    // Where even the free program is refused (no 32-bit calls, io_uring switched off) the machine itself stands in the
    // way.
    const char* control = free == kWorked ? "" : " (here unjailed too)";
    // Where nobody can be told (a container's own listener), what gets EPERM elsewhere ends the guest.
    const bool as_it_must =
        jailed.result == attack.expected || (attack.expected == EPERM && jailed.result == -SIGSYS && jailed.unnamed);
    table.row(attack.tried, describe(jailed.result) + control,
              jailed.refused_by.empty() ? attack.refused_by : jailed.refused_by, as_it_must);
  }
  return {};
}

}  // namespace

bool run_native_attacks(const std::string& supervisor, const std::string& attacker, Table& table) {
  Table::section("A hostile native program under the worker's policy (unjailed, each of these works)");
  const auto done = attack_all(supervisor, attacker, table);
  if (!done.ok()) fmt::print(stderr, "heddle-demo: {}\n", done.error().message());
  return done.ok();
}

}  // namespace heddle::demo

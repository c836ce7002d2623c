#include "world.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "heddle/core/check.h"
#include "heddle/core/text.h"
#include "heddle/jail/launch/spawn.h"

namespace heddle::kernels {
namespace {

const std::string kSupervisor = HEDDLE_LIBEXEC_DIR "/heddle-supervisor";
const std::string kTestPrograms = HEDDLE_TEST_LIBEXEC_DIR "/";
constexpr std::chrono::seconds kLong{60};  // an emulated machine is slow

core::Fd bound(int type, const std::string& name) {
  core::Fd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  HEDDLE_CHECK(name.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, name.data(), name.size());
  const bool abstract = name[0] == '@';
  const std::size_t size = offsetof(sockaddr_un, sun_path) + name.size() + (abstract ? 0 : 1);
  if (abstract) address.sun_path[0] = '\0';
  HEDDLE_CHECK(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size)) == 0);
  if (!abstract) HEDDLE_CHECK(::chmod(name.c_str(), 0666) == 0);
  if (type == SOCK_STREAM) HEDDLE_CHECK(::listen(fd.get(), 64) == 0);
  return fd;
}

std::string abstract_name() { return "@heddle-prey-" + std::to_string(::getpid()); }

// What the attacker said after "armed".
Attempt read_attempt(wire::Channel& channel) {
  Attempt attempt;
  wire::Message message = next_message(channel);
  if (message.op() != "armed") {
    attempt.how = "the attacker said " + message.op();
    return attempt;
  }
  message = next_message(channel);
  if (message.op() == "executed") return {Attempt::Result::worked, "executed"};
  if (message.op() != "attack") return {Attempt::Result::refused, ""};  // its death says how
  const auto error = message.take_number("errno");
  if (!error.ok()) return attempt;
  if (error.value() == 0) return {Attempt::Result::worked, "worked"};
  return {Attempt::Result::refused, core::errno_text(static_cast<int>(error.value()))};
}

}  // namespace

const char* verdict_name(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::yes:
      return "yes";
    case Verdict::refused:
      return "refused";
    case Verdict::not_enforced:
      return "not enforced";
    case Verdict::skipped:
      return "skipped";
    case Verdict::fail:
      break;
  }
  return "FAIL";
}

Finding yes(std::string note) { return {Verdict::yes, std::move(note)}; }
Finding not_enforced(std::string note) { return {Verdict::not_enforced, std::move(note)}; }
Finding skipped(std::string note) { return {Verdict::skipped, std::move(note)}; }
Finding fail(std::string note) { return {Verdict::fail, std::move(note)}; }

Finding not_started(const core::Error& error) {
  if (error.code != core::Errc::unsupported || error.step.empty()) return fail(error.message());
  return {Verdict::refused, error.message()};
}

wire::Message next_message(wire::Channel& channel) {
  const auto frame = channel.wait_frame(core::Deadline::after(kLong));
  if (!frame.ok()) return wire::Message("gone");
  auto message = wire::as_message(frame.value());
  return message.ok() ? std::move(message).value() : wire::Message("unreadable");
}

int in_child(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

World::World() {
  const char* kernel = std::getenv("HEDDLE_KERNEL");
  kernel_ = kernel != nullptr ? kernel : "";
  char folder[] = "/tmp/heddle-prey-XXXXXX";
  HEDDLE_CHECK(::mkdtemp(folder) != nullptr);
  folder_ = folder;
  HEDDLE_CHECK(::chmod(folder, 0777) == 0);  // no permission of the file system's may be what refuses
  lay_out_prey();
  stream_ = bound(SOCK_STREAM, folder_ + "/stream");
  datagrams_ = bound(SOCK_DGRAM, folder_ + "/datagrams");
  abstract_ = bound(SOCK_STREAM, abstract_name());
}

World::~World() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void World::lay_out_prey() const {
  const std::string file = folder_ + "/file";
  std::ofstream(file) << "secret";
  HEDDLE_CHECK(::chmod(file.c_str(), 0666) == 0);
  ::mkdir((folder_ + "/mount").c_str(), 0777);
  for (const char* made : {"/created", "/made", "/bound"}) {
    ::unlink((folder_ + made).c_str());
    ::rmdir((folder_ + made).c_str());
  }
}

std::string World::parameter(const std::string& word) const {
  if (word == "PID") return std::to_string(::getpid());
  if (word == "ABSTRACT") return abstract_name();
  return word.rfind("./", 0) == 0 ? folder_ + word.substr(1) : word;
}

core::Result<jail::Supervisor> World::start_supervisor() const {
  jail::SupervisorOptions options;
  options.program = kSupervisor;
  options.start_timeout = kLong;
  return jail::Supervisor::start(options);
}

core::Result<Started> World::start_guest(jail::Supervisor& supervisor, const std::string& program,
                                         const std::vector<std::string>& arguments, const jail::Limits& limits) const {
  HEDDLE_ASSIGN(const jail::Policy policy, jail::Policy::script(limits));
  HEDDLE_ASSIGN(const jail::Program opened, jail::open_program(kTestPrograms + program));
  HEDDLE_ASSIGN(core::FdPair pair, core::stream_pair());
  HEDDLE_ASSIGN(wire::Channel channel, wire::Channel::adopt(std::move(pair.first)));
  core::Result<jail::Guest> guest = supervisor.spawn(policy, opened, arguments, std::move(pair.second));
  if (!guest.ok()) {
    // JAIL-11: an error means that no guest ran: it would have spoken.
    core::Error error = guest.error();
    if (next_message(channel).op() != "gone") error.code = core::Errc::protocol;
    return error;
  }
  return Started{std::move(guest).value(), std::move(channel)};
}

Attempt World::attack_free(const std::string& name, const std::string& parameter) const {
  Attempt attempt;
  core::Result<core::FdPair> pair = core::stream_pair();
  const auto program = jail::open_program(kTestPrograms + "heddle-test-attacker");
  if (!pair.ok() || !program.ok()) return attempt;
  jail::SpawnPlan plan;
  plan.confinement = jail::Confinement::helper;
  auto opened = program.value().fd().duplicate();
  if (!opened.ok()) return attempt;
  plan.program = std::move(opened).value();
  plan.arguments = {"attacker", "free", name, parameter};
  plan.descriptors.push_back(std::move(pair.value().second));
  const jail::SpawnResult child = jail::spawn(std::move(plan));
  if (child.failure.step != jail::Step::none) {
    attempt.how = jail::step_name(child.failure.step);
    return attempt;
  }
  auto channel = wire::Channel::adopt(std::move(pair.value().first));
  if (channel.ok()) attempt = read_attempt(channel.value());
  if (!child.child.wait_exit(core::Deadline::after(kLong))) attempt = {Attempt::Result::broken, "it does not end"};
  (void)jail::reap(child.child);
  return attempt;
}

Finding World::attacks_refused(const char* stage, const std::vector<Attack>& attacks) const {
  auto supervisor = start_supervisor();
  if (!supervisor.ok()) return fail(supervisor.error().message());
  unsigned controls = 0;
  for (const Attack& attack : attacks) {
    const std::string name = std::string(attack.name) + " " + attack.parameter;
    const Attempt free = attack_free(attack.name, parameter(attack.parameter));
    lay_out_prey();
    const bool must =
        attack.control == Attack::Control::works || (attack.control == Attack::Control::as_root && ::geteuid() == 0);
    if (free.result == Attempt::Result::broken || (must && free.result != Attempt::Result::worked)) {
      return fail("without a jail " + name + " does not work either: " + free.how);
    }
    controls += free.result == Attempt::Result::worked ? 1 : 0;
    auto started =
        start_guest(supervisor.value(), "heddle-test-attacker", {stage, attack.name, parameter(attack.parameter)});
    if (!started.ok()) return not_started(started.error());
    const Attempt jailed = read_attempt(started.value().channel);
    const auto death = started.value().guest.wait(core::Deadline::after(kLong));
    if (!death.ok() || !death.value()) return fail(name + ": the attacker does not end");
    if (jailed.result != Attempt::Result::refused) return fail(name + ": " + jailed.how);
    // A crash is no refusal: SIGSYS is the filter's, SIGXFSZ the limit's.
    const jail::Death& end = *death.value();
    const bool stopped = end.kind == jail::Death::Kind::signalled && (end.code == SIGSYS || end.code == SIGXFSZ);
    if (jailed.how.empty() && !stopped) return fail(name + ": ended with " + std::to_string(end.code));
  }
  return yes(std::to_string(attacks.size()) + " attacks, " + std::to_string(controls) + " controls");
}

}  // namespace heddle::kernels

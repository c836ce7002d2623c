// The hostile program: confines itself as far as it is told, then tries one attack and says on descriptor 3 how it
// went. It speaks with raw system calls, as injected code would.
//
//   heddle-test-attacker STAGE ATTACK [PARAMETER]
//     STAGE  free      no jail at all: the control
//            launched  as the supervisor started it, before confine_self()
//            sealed    with the second Landlock ruleset, without the filter
//            confined  as a worker runs
//            narrowed  and with a second filter, as a plugin host runs
//            thread    the same; the attack in a thread that was there before the second filter
//            program   as the stub starts a program: no channel, the outcome as a line on standard output
//   → {"op":"attack","name":ATTACK,"errno":N}, 0 for success; or it is ended by SIGSYS. As a line: "errno N"
//
//   heddle-test-attacker STAGE facts
//   → {"op":"facts", …}: what it was started with, looked at before confine_self()
//
//   heddle-test-attacker executed
//   → {"op":"executed"}, or without a channel the line "executed": what a successful exec attack runs
#include "attacker.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <future>
#include <string_view>
#include <thread>

#include "heddle/core/clock.h"
#include "heddle/core/text.h"
#include "heddle/jail/confine/confine.h"
#include "heddle/jail/confine/landlock.h"
#include "heddle/wire/channel.h"

namespace heddle::attacker {

int outcome(long result) { return result < 0 ? errno : 0; }

const Attack* find_attack(const std::string& name) {
  for (const Attack* table : {kFileAttacks, kSocketAttacks, kProcessAttacks, kMemoryAttacks, kSharedAttacks}) {
    for (const Attack* attack = table; attack->name != nullptr; ++attack) {
      if (name == attack->name) return attack;
    }
  }
  return nullptr;
}

namespace {

constexpr int kUsage = 64;
constexpr std::chrono::seconds kLong{20};

void say(wire::Channel& channel, const wire::Message& message) {
  channel.queue(message);
  (void)channel.wait_flushed(core::Deadline::after(kLong));
}

bool is_null_device(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3);
}

std::uint64_t limit(int resource) {
  rlimit64 value{};
  if (::syscall(SYS_prlimit64, 0, resource, nullptr, &value) != 0 || value.rlim_cur != value.rlim_max)
    return UINT64_MAX;
  return value.rlim_max;
}

wire::Message facts(char** environment) {
  wire::Message message("facts");
  std::string open;
  for (int fd = 0; fd < 1024; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) open += std::to_string(fd) + " ";
  }
  std::uint64_t variables = 0;
  while (environment[variables] != nullptr) ++variables;
  char folder[4096] = {};
  if (::getcwd(folder, sizeof folder) == nullptr) folder[0] = '\0';
  const mode_t mask = ::umask(077);
  ::umask(mask);
  message.set("descriptors", open).set("variables", variables).set("folder", core::bound_text(folder));
  message.set("umask", static_cast<std::uint32_t>(mask));
  message.set("own_session", ::getsid(0) == ::getpid()).set("own_group", ::getpgrp() == ::getpid());
  message.set("terminal", ::open("/dev/tty", O_RDWR | O_CLOEXEC) >= 0);
  message.set("null_stdio", is_null_device(0) && is_null_device(1) && is_null_device(2));
  message.set("uid", static_cast<std::uint32_t>(::getuid())).set("gid", static_cast<std::uint32_t>(::getgid()));
  message.set("groups", static_cast<std::uint32_t>(::getgroups(0, nullptr)));
  message.set("data", limit(RLIMIT_DATA)).set("files", limit(RLIMIT_NOFILE)).set("processes", limit(RLIMIT_NPROC));
  message.set("file_bytes", limit(RLIMIT_FSIZE)).set("core", limit(RLIMIT_CORE)).set("locked", limit(RLIMIT_MEMLOCK));
  message.set("queues", limit(RLIMIT_MSGQUEUE)).set("stack", limit(RLIMIT_STACK)).set("cpu", limit(RLIMIT_CPU));
  return message;
}

bool reach(std::string_view stage) {
  if (stage == "free" || stage == "launched") return true;
  if (stage == "confined") return jail::try_confine_self().failure.step == jail::Step::none;
  if (stage == "narrowed" || stage == "thread") {
    return reach("confined") && jail::narrow_self().step == jail::Step::none;
  }
  if (stage != "sealed") return false;
  int abi = 0;
  return jail::seal_files(abi).step == jail::Step::none;
}

void report(wire::Channel& channel, const Attack& attack, int outcome) {
  wire::Message message("attack");
  message.set("name", std::string(attack.name)).set("errno", static_cast<std::uint32_t>(outcome));
  say(channel, message);
}

int attack_from_thread(wire::Channel& channel, const Attack& attack, const std::string& parameter) {
  if (!reach("confined")) return kUsage;
  std::promise<void> narrowed;
  int outcome = 0;
  std::thread thread([&] {
    narrowed.get_future().wait();
    outcome = attack.attempt(parameter);
  });
  if (jail::narrow_self().step != jail::Step::none) ::_exit(kUsage);
  say(channel, wire::Message("armed"));
  narrowed.set_value();
  thread.join();
  report(channel, attack, outcome);
  return 0;
}

int print(const std::string& line) { return core::write_all(core::Fd(::dup(1)), line + "\n").ok() ? 0 : kUsage; }

int run(int argc, char** argv, char** environment) {
  const std::string stage = argc > 1 ? argv[1] : "";
  if (stage == "program") {
    const Attack* attack = argc > 2 ? find_attack(argv[2]) : nullptr;
    if (attack == nullptr) return kUsage;
    return print("errno " + std::to_string(attack->attempt(argc > 3 ? argv[3] : "")));
  }
  if (stage == "executed" && ::fcntl(jail::kChannelFd, F_GETFD) < 0) return print(stage);
  auto adopted = wire::Channel::adopt(core::Fd(jail::kChannelFd));
  if (!adopted.ok()) return kUsage;
  wire::Channel& channel = adopted.value();
  if (stage == "executed") {
    // The second frame on this channel: the program before has said that it is armed.
    const std::string text = wire::Message("executed").text();
    const auto size = static_cast<std::uint32_t>(text.size());
    return core::write_all(channel.fd(), wire::encode_header(wire::FrameType::control, size, 1) + text).ok() ? 0
                                                                                                             : kUsage;
  }
  if (argc < 3) return kUsage;
  const std::string name = argv[2];
  const Attack* attack = find_attack(name);
  if (name == "facts") {
    say(channel, facts(environment));
    return 0;
  }
  if (attack == nullptr) return kUsage;
  const std::string parameter = argc > 3 ? argv[3] : "";
  jail::prepare();
  if (stage == "thread") return attack_from_thread(channel, *attack, parameter);
  if (!reach(stage)) return kUsage;
  say(channel, wire::Message("armed"));  // what is not armed proves nothing
  report(channel, *attack, attack->attempt(parameter));
  return 0;
}

}  // namespace
}  // namespace heddle::attacker

int main(int argc, char** argv, char** environment) { return heddle::attacker::run(argc, argv, environment); }

// A guest program for tests: confines itself as a worker does, says so, and then does what its argument names.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "heddle/core/clock.h"
#include "heddle/jail/confine/confine.h"
#include "heddle/wire/channel.h"

namespace {

using namespace heddle;

constexpr std::chrono::hours kForever{1};
constexpr std::size_t kPiece = 1U << 20;
constexpr std::size_t kPage = 4096;

void send(wire::Channel& channel, const wire::Message& message) {
  channel.queue(message);
  (void)channel.wait_flushed(core::Deadline::after(kForever));
}

// Processes that nothing but a control group ends with this one: own sessions, no parent-death signal. Gives how many
// there are when the next one is refused, or `most`.
std::uint32_t breed(std::uint32_t most) {
  for (std::uint32_t born = 0; born < most; ++born) {
    const pid_t pid = ::fork();
    if (pid < 0) return born;
    if (pid > 0) continue;
    ::setsid();
    for (;;) ::pause();
  }
  return most;
}

// Until the kernel ends it.
void eat() {
  for (;;) {
    auto* piece = static_cast<volatile char*>(std::malloc(kPiece));
    if (piece == nullptr) ::_exit(4);
    for (std::size_t at = 0; at < kPiece; at += kPage) piece[at] = 1;
  }
}

// Returns when the host has closed the channel.
void idle(wire::Channel& channel) {
  while (channel.wait_frame(core::Deadline::after(kForever)).ok()) {
  }
}

}  // namespace

// Arguments: "confined" | "bare" (says ready without confining itself) | "spin" (confined, then busy for ever)
//   | "narrowed" (and its second filter loaded)
//   | "mute" (a filter that allows everything, and nothing said to the supervisor)
//   | "deaf" (confined, every signal blocked, never reads) | "eat" (confined, then takes memory without end)
//   | "family" (not confined, three children) | "breed" (not confined, children until refused, then status 9)
int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "confined";
  auto channel = wire::Channel::adopt(core::Fd(jail::kChannelFd));
  if (!channel.ok()) return 2;
  jail::prepare();
  wire::Message ready("ready");
  if (mode == "family") ready.set("children", breed(3));
  if (mode == "breed") ready.set("children", breed(64));
  if (mode == "mute") {
    sock_filter all[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    const sock_fprog program{1, all};
    if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0U, &program) != 0) return 4;
  } else if (mode != "bare" && mode != "family" && mode != "breed") {
    jail::ConfineResult result = jail::try_confine_self();
    if (mode == "narrowed" && result.failure.step == jail::Step::none) result.failure = jail::narrow_self();
    if (result.failure.step != jail::Step::none) {
      wire::Message refusal("refused");
      refusal.set("step", static_cast<std::uint32_t>(result.failure.step));
      refusal.set("errno", static_cast<std::uint32_t>(result.failure.error));
      send(channel.value(), refusal);
      return 3;
    }
    ready.set("abi", static_cast<std::uint32_t>(result.report.landlock_abi)).set("mdwe", result.report.no_exec_gain);
  }
  send(channel.value(), ready);
  if (mode == "breed") return 9;
  if (mode == "eat") {
    (void)channel.value().wait_frame(core::Deadline::after(kForever));  // until the host has looked
    eat();
  }
  if (mode == "deaf") {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    for (;;) ::poll(nullptr, 0, -1);
  }
  if (mode == "spin") {
    for (volatile bool spinning = true; spinning;) {
    }
  }
  idle(channel.value());
  return 0;
}

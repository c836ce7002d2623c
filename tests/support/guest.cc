// A guest program for tests: confines itself as a worker does, says so, and then does what its argument names.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "heddle/core/clock.h"
#include "heddle/jail/confine/confine.h"
#include "heddle/wire/channel.h"

namespace {

using namespace heddle;

constexpr std::chrono::hours kForever{1};

void send(wire::Channel& channel, const wire::Message& message) {
  channel.queue(message);
  (void)channel.wait_flushed(core::Deadline::after(kForever));
}

// Returns when the host has closed the channel.
void idle(wire::Channel& channel) {
  while (channel.wait_frame(core::Deadline::after(kForever)).ok()) {
  }
}

}  // namespace

// Arguments: "confined" | "bare" (says ready without confining itself) | "spin" (confined, then busy for ever)
//   | "mute" (a filter that allows everything, and nothing said to the supervisor)
//   | "deaf" (confined, every signal blocked, never reads)
int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "confined";
  auto channel = wire::Channel::adopt(core::Fd(jail::kChannelFd));
  if (!channel.ok()) return 2;
  jail::prepare();
  wire::Message ready("ready");
  if (mode == "mute") {
    sock_filter all[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    const sock_fprog program{1, all};
    if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0U, &program) != 0) return 4;
  } else if (mode != "bare") {
    const jail::ConfineResult result = jail::try_confine_self();
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

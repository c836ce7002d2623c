// The guest of notify_bench.cc: confines itself as a worker does and then, at each message, makes one call that its
// filter answers by itself and one that the supervisor answers, and says in nanoseconds what they took.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "heddle/core/clock.h"
#include "heddle/jail/confine/confine.h"
#include "heddle/wire/channel.h"

namespace {

using namespace heddle;

// The call must be refused: a measurement of anything else is worth nothing.
std::uint64_t time_refused(long number) {
  const core::TimePoint before = core::Clock::now();
  const long result = ::syscall(number, 0, 0);
  const core::Duration took = core::Clock::now() - before;
  if (result != -1 || errno != EPERM) ::_exit(3);
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
}

}  // namespace

int main() {
  jail::prepare();
  auto adopted = wire::Channel::adopt(core::Fd(jail::kChannelFd));
  if (!adopted.ok() || !jail::confine_self().ok()) return 1;
  wire::Channel& channel = adopted.value();
  channel.queue(wire::Message("ready"));
  while (channel.wait_flushed(core::Deadline::never()).ok() && channel.wait_frame(core::Deadline::never()).ok()) {
    wire::Message took("took");
    took.set("refused", time_refused(SYS_getrusage)).set("notified", time_refused(SYS_kill));
    channel.queue(took);
  }
  return 0;
}

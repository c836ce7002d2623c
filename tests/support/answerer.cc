// A guest for tests of what all guests share: confines itself, says that it is ready, and answers what it is asked.
//
//   host → it   ask what, number      | ping
//   it → host   answer number         | loaded | pong
//
//   "echo" answers; "wrong" answers another call; "late" answers, and once more unasked; "load" takes its time and says
//   loaded, and nothing else; "try" opens a file first; "data" sends ten bytes first; "exit" ends it; "hang" is busy
//   for ever; "yield" is busy until SIGUSR1, and answers then
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "heddle/jail/confine/confine.h"
#include "heddle/wire/channel.h"
#include "heddle/wire/hello.h"

namespace heddle {
namespace {

volatile std::sig_atomic_t told_to_yield = 0;

void say(wire::Channel& channel, const wire::Message& message) {
  channel.queue(message);
  if (!channel.wait_flushed(core::Deadline::never()).ok()) ::_exit(1);
}

void be_busy_until_told(bool ever) {
  while (ever || told_to_yield == 0) asm volatile("");
}

void answer(wire::Channel& channel, wire::Message message) {
  if (message.op() == "ping") return say(channel, wire::pong_message(wire::read_ping(message).value()));
  const std::string what = message.take_string("what").value();
  const std::uint64_t number = message.take_number("number").value();
  const wire::Message answer = wire::Message("answer").set("number", what == "wrong" ? number + 1 : number);
  if (what == "load") {
    for (volatile int i = 0; i < 100'000'000;) i = i + 1;
    return say(channel, wire::Message("loaded"));
  }
  if (what == "exit") ::_exit(3);
  if (what == "data") channel.queue_data("0123456789");
  if (what == "try") (void)::open("/etc/shadow", O_RDONLY | O_CLOEXEC);
  if (what == "hang" || what == "yield") be_busy_until_told(what == "hang");
  if (what == "late") channel.queue(answer);  // both at once
  say(channel, answer);
}

int run() {
  jail::prepare();
  auto adopted = wire::Channel::adopt(core::Fd(jail::kChannelFd));
  if (!adopted.ok()) return 1;
  wire::Channel channel = std::move(adopted).value();
  struct sigaction action {};
  action.sa_handler = [](int) { told_to_yield = 1; };
  if (::sigaction(SIGUSR1, &action, nullptr) != 0 || !jail::confine_self().ok()) return 1;
  channel.queue(wire::ready_message());
  for (;;) {
    const auto frame = channel.wait_frame(core::Deadline::never());
    if (!frame.ok()) return 0;
    answer(channel, wire::as_message(frame.value()).value());
  }
}

}  // namespace
}  // namespace heddle

int main() { return heddle::run(); }

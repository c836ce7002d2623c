// What a refused call costs when the supervisor is told of it, beside one that the filter refuses by itself.
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "heddle/jail/supervisor.h"
#include "heddle/wire/channel.h"
#include "sample.h"

namespace heddle::bench {
namespace {

constexpr std::uint32_t kCalls = 5'000;

wire::Message next(wire::Channel& channel) {
  const wire::Frame frame = must(channel.wait_frame(core::Deadline::after(std::chrono::seconds(30))));
  return must(wire::as_message(frame));
}

void run() {
  jail::SupervisorOptions options;
  options.program = HEDDLE_LIBEXEC_DIR "/heddle-supervisor";
  jail::Supervisor supervisor = must(jail::Supervisor::start(options));
  const jail::Policy policy = must(jail::Policy::script({}, {jail::Notifications::required, kCalls + 1}));
  const jail::Program program = must(jail::open_program(HEDDLE_NOTIFY_GUEST));
  core::FdPair ends = must(core::stream_pair());
  wire::Channel channel = must(wire::Channel::adopt(std::move(ends.first)));
  jail::Guest guest = must(supervisor.spawn(policy, program, {}, std::move(ends.second)));
  if (next(channel).op() != "ready") std::exit(1);
  must(guest.verify_confined());

  Sample refused("a call that the filter refuses");
  Sample notified("one that the supervisor refuses");
  for (std::uint32_t i = 0; i < kCalls; ++i) {
    channel.queue(wire::Message("go"));
    must(channel.wait_flushed(core::Deadline::after(std::chrono::seconds(30))));
    wire::Message took = next(channel);
    refused.add(std::chrono::nanoseconds(must(took.take_number("refused"))));
    notified.add(std::chrono::nanoseconds(must(took.take_number("notified"))));
  }
  if (must(guest.take_denials()).total != kCalls) std::exit(1);
  print_row(refused);
  print_row(notified, refused);
}

}  // namespace
}  // namespace heddle::bench

int main() {
  heddle::bench::print_heading();
  heddle::bench::run();
  return 0;
}

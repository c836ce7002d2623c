// A host in miniature: starts a supervisor and guests, prints "supervisor PID" and "guest PID" lines and "up", then
// sleeps until it is killed. For tests of what is left behind.
//
//   heddle-test-host SUPERVISOR GUEST-PROGRAM MODE COUNT [forked]
//
// forked: a child that shares the control socket and knows nothing of it outlives the host for a while.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "heddle/jail/supervisor.h"
#include "heddle/wire/channel.h"

namespace {

using namespace heddle;

int fail(const core::Error& error) {
  std::fprintf(stderr, "heddle-test-host: %s\n", error.message().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 64;
  jail::SupervisorOptions options;
  options.program = argv[1];
  auto supervisor = jail::Supervisor::start(options);
  if (!supervisor.ok()) return fail(supervisor.error());
  std::printf("supervisor %d\n", supervisor.value().pid());
  const auto policy = jail::Policy::script();
  if (!policy.ok()) return fail(policy.error());
  const auto program = jail::open_program(argv[2]);
  if (!program.ok()) return fail(program.error());

  std::vector<jail::Guest> guests;
  std::vector<wire::Channel> channels;
  for (int i = 0; i < std::atoi(argv[4]); ++i) {
    auto pair = core::stream_pair();
    if (!pair.ok()) return fail(pair.error());
    auto channel = wire::Channel::adopt(std::move(pair.value().first));
    if (!channel.ok()) return fail(channel.error());
    auto guest = supervisor.value().spawn(policy.value(), program.value(), {argv[3]}, std::move(pair.value().second));
    if (!guest.ok()) return fail(guest.error());
    const auto frame = channel.value().wait_frame(core::Deadline::after(std::chrono::seconds(20)));
    if (!frame.ok()) return fail(frame.error());
    std::printf("guest %d\n", guest.value().pid());
    guests.push_back(std::move(guest).value());
    channels.push_back(std::move(channel).value());
  }
  if (argc > 5) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::sleep(30);
      ::_exit(0);
    }
    std::printf("child %d\n", child);
  }
  std::printf("up\n");
  std::fflush(stdout);
  for (;;) ::pause();
}

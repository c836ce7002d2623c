// A guest that says that it is ready, has confined nothing, and would do as it is told.
#include "heddle/jail/confine/confine.h"
#include "heddle/wire/channel.h"
#include "heddle/wire/hello.h"

int main() {
  using namespace heddle;
  auto channel = wire::Channel::adopt(core::Fd(jail::kChannelFd));
  if (!channel.ok()) return 1;
  channel.value().queue(wire::ready_message());
  (void)channel.value().wait_flushed(core::Deadline::after(std::chrono::seconds(10)));
  return channel.value().wait_frame(core::Deadline::after(std::chrono::seconds(60))).ok() ? 2 : 0;
}

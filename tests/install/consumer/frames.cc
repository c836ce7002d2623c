// A frame goes over a socket pair and comes out: core and wire, linked from an installed Heddle.
#include <chrono>
#include <cstdio>

#include "heddle/core/clock.h"
#include "heddle/core/fd.h"
#include "heddle/wire/channel.h"

namespace {

heddle::core::Result<std::string> round_trip() {
  HEDDLE_ASSIGN(auto pair, heddle::core::stream_pair());
  HEDDLE_ASSIGN(auto near, heddle::wire::Channel::adopt(std::move(pair.first)));
  HEDDLE_ASSIGN(auto far, heddle::wire::Channel::adopt(std::move(pair.second)));
  near.queue(heddle::wire::Message("greet").set("name", "consumer"));
  const auto deadline = heddle::core::Deadline::after(std::chrono::seconds(10));
  HEDDLE_TRY(near.wait_flushed(deadline));
  HEDDLE_ASSIGN(auto frame, far.wait_frame(deadline));
  HEDDLE_ASSIGN(auto message, heddle::wire::as_message(frame));
  return message.take_string("name");
}

}  // namespace

int main() {
  const auto name = round_trip();
  if (!name.ok()) {
    std::fprintf(stderr, "%s\n", name.error().message().c_str());
    return 1;
  }
  return name.value() == "consumer" ? 0 : 1;
}

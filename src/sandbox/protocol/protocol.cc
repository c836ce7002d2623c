#include "heddle/sandbox/protocol/protocol.h"

#include <array>

namespace heddle::sandbox::protocol {
namespace {

constexpr std::array<const char*, 7> kEndings = {"ok",      "threw", "memory", "output", "inputTooLarge",
                                                 "stopped", "fault"};

core::Error refuse(std::string_view what) {
  return core::make_error(core::Errc::protocol, "read the worker's protocol", what);
}

core::Result<std::uint32_t> take_u32(wire::Message& message, std::string_view name) {
  HEDDLE_ASSIGN(const std::uint64_t number, message.take_number(name, UINT32_MAX));
  return static_cast<std::uint32_t>(number);
}

}  // namespace

wire::Message to_message(const RunOrder& order) {
  wire::Message message("run");
  message.set("run", order.run)
      .set("scriptBytes", order.script_bytes)
      .set("inputBytes", order.input_bytes)
      .set("memoryBytes", order.memory_bytes)
      .set("outputBytes", order.output_bytes);
  return message;
}

wire::Message to_message(const Done& done) {
  wire::Message message("done");
  message.set("run", done.run).set("ending", kEndings[static_cast<std::size_t>(done.ending)]);
  if (done.ending == Ending::ok) message.set("valueBytes", done.value_bytes);
  if (done.ending == Ending::threw) {
    if (done.name) message.set("name", *done.name);
    message.set("message", done.message).set("line", done.line).set("column", done.column);
  }
  return message;
}

core::Result<RunOrder> read_run(wire::Message message) {
  HEDDLE_TRY(message.expect("run"));
  RunOrder order;
  HEDDLE_ASSIGN(order.run, take_u32(message, "run"));
  HEDDLE_ASSIGN(order.script_bytes, message.take_number("scriptBytes"));
  HEDDLE_ASSIGN(order.input_bytes, message.take_number("inputBytes"));
  HEDDLE_ASSIGN(order.memory_bytes, message.take_number("memoryBytes"));
  HEDDLE_ASSIGN(order.output_bytes, message.take_number("outputBytes"));
  HEDDLE_TRY(message.finish());
  return order;
}

core::Result<Done> read_done(wire::Message message) {
  HEDDLE_TRY(message.expect("done"));
  Done done;
  HEDDLE_ASSIGN(done.run, take_u32(message, "run"));
  HEDDLE_ASSIGN(const std::string ending, message.take_string("ending"));
  std::size_t index = 0;
  while (index < kEndings.size() && ending != kEndings[index]) ++index;
  if (index == kEndings.size()) return refuse("an unknown ending");
  done.ending = static_cast<Ending>(index);
  if (done.ending == Ending::ok) {
    HEDDLE_ASSIGN(done.value_bytes, message.take_number("valueBytes"));
  }
  if (done.ending == Ending::threw) {
    if (message.has("name")) {
      HEDDLE_ASSIGN(done.name, message.take_string("name"));
    }
    HEDDLE_ASSIGN(done.message, message.take_string("message"));
    HEDDLE_ASSIGN(done.line, take_u32(message, "line"));
    HEDDLE_ASSIGN(done.column, take_u32(message, "column"));
  }
  HEDDLE_TRY(message.finish());
  return done;
}

}  // namespace heddle::sandbox::protocol

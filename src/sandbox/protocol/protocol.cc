#include "heddle/sandbox/protocol/protocol.h"

#include <array>

namespace heddle::sandbox::protocol {
namespace {

constexpr std::array<const char*, 5> kLevels = {"log", "info", "warn", "error", "debug"};
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
      .set("outputBytes", order.output_bytes)
      .set("consoleBytes", order.console_bytes);
  return message;
}

wire::Message to_message(const ConsolePiece& piece) {
  wire::Message message("console");
  message.set("run", piece.run)
      .set("level", kLevels.at(piece.level))
      .set("text", piece.text)
      .set("more", piece.more)
      .set("cut", piece.cut);
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
  if (!done.hint.empty()) message.set("hint", done.hint);
  if (!done.note.empty()) message.set("note", done.note);
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
  HEDDLE_ASSIGN(order.console_bytes, message.take_number("consoleBytes"));
  HEDDLE_TRY(message.finish());
  return order;
}

core::Result<ConsolePiece> read_console(wire::Message message) {
  HEDDLE_TRY(message.expect("console"));
  ConsolePiece piece;
  HEDDLE_ASSIGN(piece.run, take_u32(message, "run"));
  HEDDLE_ASSIGN(const std::string level, message.take_string("level"));
  while (piece.level < kLevels.size() && level != kLevels.at(piece.level)) ++piece.level;
  if (piece.level == kLevels.size()) return refuse("an unknown level");
  HEDDLE_ASSIGN(piece.text, message.take_string("text"));
  HEDDLE_ASSIGN(piece.more, message.take_bool("more"));
  HEDDLE_ASSIGN(piece.cut, message.take_bool("cut"));
  HEDDLE_TRY(message.finish());
  return piece;
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
  if (message.has("hint")) {
    HEDDLE_ASSIGN(done.hint, message.take_string("hint"));
  }
  if (message.has("note")) {
    HEDDLE_ASSIGN(done.note, message.take_string("note"));
  }
  HEDDLE_TRY(message.finish());
  return done;
}

}  // namespace heddle::sandbox::protocol

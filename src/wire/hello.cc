#include "heddle/wire/hello.h"

#include "heddle/core/text.h"

namespace heddle::wire {
namespace {

using core::Errc;

core::Result<std::uint32_t> read_numbered(Message message, std::string_view op) {
  HEDDLE_TRY(message.expect(op));
  HEDDLE_ASSIGN(const std::uint64_t number, message.take_number("number", UINT32_MAX));
  HEDDLE_TRY(message.finish());
  return static_cast<std::uint32_t>(number);
}

core::Result<void> take_failed(Message& message, core::Error& told) {
  HEDDLE_TRY(message.expect("failed"));
  HEDDLE_ASSIGN(const std::string step, message.take_string("step"));
  HEDDLE_ASSIGN(const std::uint64_t error, message.take_number("errno", 4095));
  HEDDLE_ASSIGN(const std::string context, message.take_string("context"));
  HEDDLE_TRY(message.finish());
  told = core::Error{Errc::confinement, static_cast<int>(error), core::bound_text(core::printable_line(step), 128),
                     core::bound_text(core::printable_line(context), 512)};
  return {};
}

}  // namespace

Message ready_message() { return Message("ready").set("version", HEDDLE_VERSION); }

Message failed_message(std::string_view step, int sys_errno, std::string_view context) {
  return Message("failed")
      .set("step", step)
      .set("errno", static_cast<std::uint32_t>(sys_errno))
      .set("context", context);
}

Message failed_message(const core::Error& error) { return failed_message(error.step, error.sys_errno, error.context); }

core::Result<void> accept_ready(Message message, std::string_view program) {
  if (message.op() == "failed") return read_failed(std::move(message));
  HEDDLE_TRY(message.expect("ready"));
  HEDDLE_ASSIGN(const std::string version, message.take_string("version"));
  if (version != HEDDLE_VERSION) {
    const std::string name(program.substr(program.rfind('/') + 1));
    return core::make_error(Errc::untrusted_program, "start " + name,
                            std::string(program) + " is of version " +
                                core::bound_text(core::printable_line(version), 64) +
                                " and this is " HEDDLE_VERSION ": install both from one release, or build both anew");
  }
  return message.finish();
}

core::Error read_failed(Message message) {
  core::Error told;
  core::Result<void> taken = take_failed(message, told);
  return taken.ok() ? told : std::move(taken).error();
}

Message ping_message(std::uint32_t number) { return Message("ping").set("number", number); }
Message pong_message(std::uint32_t number) { return Message("pong").set("number", number); }
core::Result<std::uint32_t> read_ping(Message message) { return read_numbered(std::move(message), "ping"); }
core::Result<std::uint32_t> read_pong(Message message) { return read_numbered(std::move(message), "pong"); }

}  // namespace heddle::wire

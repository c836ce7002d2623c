// heddle-sandbox-worker: the engine in a process of its own that can do nothing but answer its host.
//
// Started by heddle-supervisor with the channel at descriptor 3 and its filter, sealed, at 4. It makes the engine,
// confines itself and only then reads for the first time. Whatever fails on the way is reported by name and nothing is
// run.
#include <memory>
#include <string>

#include "heddle/core/text.h"
#include "heddle/engine/engine.h"
#include "heddle/jail/confine/confine.h"
#include "heddle/sandbox/protocol/protocol.h"
#include "heddle/wire/channel.h"
#include "heddle/wire/hello.h"

namespace heddle {
namespace {

namespace protocol = sandbox::protocol;

// Exit codes are for a person with a debugger; the host learns all it needs from the channel.
enum class Exit { host_gone = 0, no_channel = 10, not_confined = 11, no_engine = 12, bad_order = 13 };

protocol::Ending to_ending(engine::Ending ending) {
  switch (ending) {
    case engine::Ending::ok:
      return protocol::Ending::ok;
    case engine::Ending::threw:
      return protocol::Ending::threw;
    case engine::Ending::memory:
      return protocol::Ending::memory;
    case engine::Ending::output:
      return protocol::Ending::output;
    case engine::Ending::input_too_large:
      return protocol::Ending::input_too_large;
    case engine::Ending::stopped:
      return protocol::Ending::stopped;
    case engine::Ending::fault:
      return protocol::Ending::fault;
  }
  return protocol::Ending::fault;
}

Exit report_failure(wire::Channel& channel, const wire::Message& failed, Exit code) {
  channel.queue(failed);
  // The host may be gone already; there is nobody else to tell.
  (void)channel.wait_flushed(core::Deadline::after(std::chrono::seconds(5)));
  return code;
}

core::Result<void> read_bytes(wire::Channel& channel, std::string& into, std::uint64_t total) {
  into.clear();
  into.reserve(total);
  while (into.size() < total) {
    HEDDLE_ASSIGN(wire::Frame frame, channel.wait_frame(core::Deadline::never()));
    if (frame.type != wire::FrameType::data) return core::make_error(core::Errc::protocol, "read a script", "not data");
    into += frame.payload;
  }
  return {};
}

// Sends each line as it is written, so that it is there whatever becomes of the run.
class HostConsole final : public engine::ConsoleSink {
 public:
  HostConsole(wire::Channel& channel, std::uint32_t run) : channel_(channel), run_(run) {}

  void line(engine::ConsoleLevel level, std::string_view text, bool cut) noexcept override {
    do {
      std::string piece = core::bound_text_bytes(text, protocol::kConsolePieceBytes);
      text.remove_prefix(piece.size());
      channel_.queue(protocol::to_message(
          {run_, static_cast<std::uint32_t>(level), std::move(piece), !text.empty(), cut && text.empty()}));
    } while (!text.empty());
    // A host that is gone is noticed when the run has ended.
    (void)channel_.wait_flushed(core::Deadline::never());
  }

 private:
  wire::Channel& channel_;
  const std::uint32_t run_;
};

core::Result<void> serve_run(wire::Channel& channel, engine::Engine& engine, const protocol::RunOrder& order,
                             std::string& body) {
  channel.grant(order.script_bytes + order.input_bytes);
  HEDDLE_TRY(read_bytes(channel, body, order.script_bytes + order.input_bytes));
  const std::string_view script = std::string_view(body).substr(0, order.script_bytes);
  const std::string_view input = std::string_view(body).substr(order.script_bytes);

  HostConsole console(channel, order.run);
  engine::RunResult result =
      engine.run(order.run, script, input, {order.memory_bytes, order.output_bytes, order.console_bytes}, &console);

  protocol::Done done;
  done.run = order.run;
  done.ending = to_ending(result.ending);
  done.value_bytes = result.value.size();
  if (result.has_name) done.name = std::move(result.name);
  done.message = std::move(result.message);
  done.line = result.line;
  done.column = result.column;
  done.hint = std::move(result.hint);
  done.note = std::move(result.note);
  if (done.ending == protocol::Ending::ok) channel.queue_data(result.value);
  channel.queue(protocol::to_message(done));
  return channel.wait_flushed(core::Deadline::never());
}

core::Result<void> serve(wire::Channel& channel, engine::Engine& engine) {
  std::string body;  // kept from run to run, so that small runs allocate nothing
  for (;;) {
    HEDDLE_ASSIGN(const wire::Frame frame, channel.wait_frame(core::Deadline::never()));
    HEDDLE_ASSIGN(const wire::Message message, wire::as_message(frame));
    if (message.op() == "ping") {
      HEDDLE_ASSIGN(const std::uint32_t number, wire::read_ping(message));
      channel.queue(wire::pong_message(number));
      HEDDLE_TRY(channel.wait_flushed(core::Deadline::never()));
    } else {
      HEDDLE_ASSIGN(const protocol::RunOrder order, protocol::read_run(message));
      HEDDLE_TRY(serve_run(channel, engine, order, body));
      if (body.capacity() > (std::size_t{4} << 20)) std::string().swap(body);
    }
  }
}

Exit run() {
  jail::prepare();
  auto adopted = wire::Channel::adopt(core::Fd(jail::kChannelFd));
  if (!adopted.ok()) return Exit::no_channel;
  wire::Channel channel = std::move(adopted).value();

  auto made = engine::Engine::create();
  if (!made.ok()) {
    const core::Error& error = made.error();
    return report_failure(channel, wire::failed_message("create the engine", error.sys_errno, error.message()),
                          Exit::no_engine);
  }
  const std::unique_ptr<engine::Engine> engine = std::move(made).value();
  const auto stops = engine::install_stop_signals(*engine, protocol::kSoftStopSignal, protocol::kHardStopSignal);
  if (!stops.ok()) {
    const core::Error& error = stops.error();
    return report_failure(channel, wire::failed_message("install signals", error.sys_errno, error.message()),
                          Exit::no_engine);
  }

  const auto confined = jail::confine_self();
  if (!confined.ok()) return report_failure(channel, wire::failed_message(confined.error()), Exit::not_confined);

  channel.queue(wire::ready_message());
  const auto ended = serve(channel, *engine);
  return ended.error().code == core::Errc::disconnected ? Exit::host_gone : Exit::bad_order;
}

}  // namespace
}  // namespace heddle

int main() { return static_cast<int>(heddle::run()); }

// A worker that has turned against its host: built once for each way to start badly, and otherwise told by the "script"
// how to misbehave. It confines itself as the real one does (unless it is the one that does not), so that the host
// talks to it.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "heddle/jail/confine/confine.h"
#include "heddle/sandbox/protocol/protocol.h"
#include "heddle/wire/channel.h"
#include "heddle/wire/hello.h"

namespace heddle {
namespace {

namespace protocol = sandbox::protocol;

#define ROGUE_NONE 0
#define ROGUE_NEVER_READY 1
#define ROGUE_OTHER_VERSION 2
#define ROGUE_UNCONFINED 3
#define ROGUE_SPEAKS_FIRST 4
#define ROGUE_FAILED_STEP 5
#define ROGUE_EXITS 6

constexpr int kSpare = 7;  // a descriptor to send along

[[noreturn]] void wait_for_ever() {
  for (;;) {
    // Reading nothing and saying nothing: what a process can still do is use the CPU.
    asm volatile("");
  }
}

void send_bytes(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::send(jail::kChannelFd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put > 0) bytes.remove_prefix(static_cast<std::size_t>(put));
    if (put == 0 || (put < 0 && errno != EAGAIN && errno != EINTR)) ::_exit(1);
  }
}

std::string frame(wire::FrameType type, std::uint32_t sequence, std::string_view payload) {
  return wire::encode_header(type, static_cast<std::uint32_t>(payload.size()), sequence) + std::string(payload);
}

void send_with_descriptor(const std::string& bytes) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  cmsghdr* message = CMSG_FIRSTHDR(&header);
  message->cmsg_level = SOL_SOCKET;
  message->cmsg_type = SCM_RIGHTS;
  message->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(message), &kSpare, sizeof kSpare);
  (void)::sendmsg(jail::kChannelFd, &header, MSG_NOSIGNAL);
}

// `sequence` is that of the next frame from this side.
void misbehave(const std::string& how, std::uint32_t run, std::uint32_t sequence) {
  const auto control = [&](const std::string& text) { return frame(wire::FrameType::control, sequence, text); };
  const auto done = [&](std::uint32_t of, const char* rest) {
    return R"({"op":"done","run":)" + std::to_string(of) + "," + rest + "}";
  };
  if (how == "exit") ::_exit(3);
  if (how == "tries" || how == "tries for ever") {
    do {
      (void)::open("/etc/shadow", O_RDONLY | O_CLOEXEC);
    } while (how == "tries for ever");
    send_bytes(control(done(run, R"("ending":"memory")")));
  }
  if (how == "abort") __builtin_trap();
  if (how == "hang") wait_for_ever();
  if (how == "garbage") send_bytes("HTTP/1.1 200 OK\r\n\r\n");
  if (how == "huge frame") send_bytes(wire::encode_header(wire::FrameType::control, UINT32_MAX, sequence));
  if (how == "wrong sequence")
    send_bytes(frame(wire::FrameType::control, sequence + 1, done(run, R"("ending":"memory")")));
  if (how == "wrong run") send_bytes(control(done(run + 1, R"("ending":"memory")")));
  if (how == "unknown field") send_bytes(control(done(run, R"("ending":"memory","extra":1)")));
  if (how == "unknown op") send_bytes(control(R"({"op":"give me a shell"})"));
  if (how == "stopped unasked") send_bytes(control(done(run, R"("ending":"stopped")")));
  if (how == "descriptor") send_with_descriptor(control(done(run, R"("ending":"memory")")));
  if (how == "not JSON" || how == "not UTF-8" || how == "size lie") {
    const std::string value = how == "not JSON" ? "{\"a\":" : how == "not UTF-8" ? "\"\xFF\xFF\"" : "[1]  ";
    send_bytes(frame(wire::FrameType::data, sequence, value));
    send_bytes(
        frame(wire::FrameType::control, sequence + 1,
              done(run, how == "size lie" ? R"("ending":"ok","valueBytes":3)" : R"("ending":"ok","valueBytes":5)")
                  .replace(0, 0, "")));
  }
  const auto console = [&](std::uint32_t of, const std::string& text, const char* cut) {
    return control(R"({"op":"console","run":)" + std::to_string(of) + R"(,"level":"log","more":false,"cut":)" + cut +
                   R"(,"text":")" + text + "\"}");
  };
  if (how == "console of another run") send_bytes(console(run + 1, "x", "false"));
  if (how == "console flood") {
    for (int i = 0; i < 3; ++i, ++sequence) send_bytes(console(run, std::string(30'000, 'x'), "false"));
  }
  if (how == "console after the cut") {
    for (int i = 0; i < 2; ++i, ++sequence) send_bytes(console(run, "x", "true"));
  }
  if (how == "console, then exit") {
    send_bytes(console(run, "a\\u0000b", "false"));
    ::_exit(3);
  }
  if (how == "flood") {
    for (;;) send_bytes(frame(wire::FrameType::data, sequence++, std::string(65536, 'x')));
  }
  if (how == "huge text") {
    send_bytes(control(done(run, (R"("ending":"threw","line":1,"column":1,"name":"N","message":")" +
                                  std::string(50'000, 'm') + "\\u001b[31m\"")
                                     .c_str())));
  }
  if (how == "speaks later") {
    send_bytes(control(done(run, R"("ending":"memory")")) +
               frame(wire::FrameType::control, sequence + 1, done(run + 1, R"("ending":"memory")")));
  }
}

int run() {
  if (::dup2(STDIN_FILENO, kSpare) != kSpare) return 1;
  jail::prepare();
  auto adopted = wire::Channel::adopt(core::Fd(jail::kChannelFd));
  if (!adopted.ok()) return 1;
  wire::Channel channel = std::move(adopted).value();

  if (ROGUE == ROGUE_EXITS) return 7;
  if (ROGUE == ROGUE_FAILED_STEP) {
    channel.queue(wire::failed_message("filter_load", 22, "told to"));
    return channel.wait_flushed(core::Deadline::never()).ok() ? 0 : 1;
  }
  if (ROGUE != ROGUE_UNCONFINED && !jail::confine_self().ok()) return 1;
  if (ROGUE == ROGUE_NEVER_READY) wait_for_ever();
  if (ROGUE == ROGUE_SPEAKS_FIRST) {
    channel.queue(wire::pong_message(1));
    if (!channel.wait_flushed(core::Deadline::never()).ok()) return 1;
    wait_for_ever();
  }
  channel.queue(ROGUE == ROGUE_OTHER_VERSION ? wire::Message("ready").set("version", "0.0.0-other")
                                             : wire::ready_message());
  for (std::uint32_t sequence = 1;; sequence += 2) {
    const auto order = channel.wait_frame(core::Deadline::never());
    if (!order.ok()) return 0;
    auto read = protocol::read_run(wire::as_message(order.value()).value());
    if (!read.ok()) return 1;
    channel.grant(UINT32_MAX);
    std::string body;
    while (body.size() < read.value().script_bytes + read.value().input_bytes) {
      const auto part = channel.wait_frame(core::Deadline::never());
      if (!part.ok()) return 0;
      body += part.value().payload;
    }
    misbehave(body.substr(0, read.value().script_bytes), read.value().run, sequence);
  }
}

}  // namespace
}  // namespace heddle

int main() { return heddle::run(); }

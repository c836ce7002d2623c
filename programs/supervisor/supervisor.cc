#include "supervisor.h"

#include <signal.h>
#include <sys/epoll.h>

#include <cerrno>

namespace heddle::supervisor {
namespace {

using core::Errc;

// Keys of the epoll set; guests' ids start at 1 and never reach these.
constexpr std::uint64_t kControlKey = UINT64_MAX;
constexpr std::uint64_t kHostKey = UINT64_MAX - 1;

wire::Message refusal(const jail::Failure& failure) {
  wire::Message reply("failed");
  reply.set("step", static_cast<std::uint32_t>(failure.step));
  reply.set("errno", static_cast<std::uint32_t>(failure.error));
  reply.set("detail", static_cast<std::uint32_t>(failure.detail));
  return reply;
}

}  // namespace

core::Result<void> Supervisor::watch(const core::Fd& fd, std::uint64_t id) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0) return core::system_error("epoll_ctl");
  return {};
}

core::Result<void> Supervisor::run() {
  epoll_ = core::Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return core::system_error("epoll_create1");
  HEDDLE_TRY(watch(control_, kControlKey));
  HEDDLE_TRY(watch(host_.fd(), kHostKey));
  for (;;) {
    epoll_event event{};
    const int ready = ::epoll_wait(epoll_.get(), &event, 1, -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return core::system_error("epoll_wait");
    if (event.data.u64 == kHostKey) return {};
    if (event.data.u64 != kControlKey) {
      look_at(event.data.u64);
      continue;
    }
    const core::Result<void> served = serve();
    if (!served.ok() && served.error().code == Errc::disconnected) return {};
    HEDDLE_TRY(served);
  }
}

core::Result<void> Supervisor::serve() {
  HEDDLE_ASSIGN(jail::Packet packet, jail::receive_packet(control_, core::Deadline::never()));
  const std::string op = packet.message.op();
  if (op == "spawn") return spawn(std::move(packet));
  if (op == "status") return status(packet.message);
  if (op == "close") return close(packet.message);
  if (op == "hello") return hello(packet.message);
  return core::make_error(Errc::protocol, "read a request", "unknown request " + op);
}

// Answers with its own version whatever the host's is: the host decides, and can say both.
core::Result<void> Supervisor::hello(wire::Message& request) {
  wire::Message reply("hello");
  reply.set("version", HEDDLE_VERSION).set("protocol", jail::kControlProtocol);
  (void)request;
  return jail::send_packet(control_, reply, {});
}

core::Result<void> Supervisor::spawn(jail::Packet packet) {
  HEDDLE_ASSIGN(jail::SpawnPlan plan, jail::decode_spawn(std::move(packet)));
  jail::SpawnResult spawned = jail::spawn(std::move(plan));
  if (spawned.failure.step != jail::Step::none) return jail::send_packet(control_, refusal(spawned.failure), {});

  const std::uint64_t id = next_id_++;
  Guest& guest = guests_[id];
  guest.process = std::move(spawned.child);
  HEDDLE_TRY(watch(guest.process.fd(), id));
  wire::Message reply("spawned");
  reply.set("id", id).set("pid", static_cast<std::uint32_t>(spawned.pid));
  return jail::send_packet(control_, reply, {&guest.process.fd()});
}

core::Result<Supervisor::Guest*> Supervisor::find(wire::Message& request, std::uint64_t& id) {
  HEDDLE_ASSIGN(id, request.take_number("id"));
  HEDDLE_TRY(request.finish());
  const auto guest = guests_.find(id);
  if (guest == guests_.end() || guest->second.forgotten) {
    return core::make_error(Errc::protocol, "read a request", "unknown guest " + std::to_string(id));
  }
  return &guest->second;
}

core::Result<void> Supervisor::status(wire::Message& request) {
  std::uint64_t id = 0;
  HEDDLE_ASSIGN(Guest * guest, find(request, id));
  look_at(id);
  wire::Message reply("status");
  jail::encode_ending(guest->ending, reply);
  return jail::send_packet(control_, reply, {});
}

// Never waits: a guest in the middle of a system call may take a while to die. It is reaped when it has.
core::Result<void> Supervisor::close(wire::Message& request) {
  std::uint64_t id = 0;
  HEDDLE_ASSIGN(Guest * guest, find(request, id));
  look_at(id);
  wire::Message reply("closed");
  jail::encode_ending(guest->ending, reply);
  if (guest->ending.state == jail::Ending::State::alive) {
    (void)guest->process.send_signal(SIGKILL);  // fails only when it has ended meanwhile
    guest->forgotten = true;
  } else {
    guests_.erase(id);
  }
  return jail::send_packet(control_, reply, {});
}

void Supervisor::look_at(std::uint64_t id) {
  const auto found = guests_.find(id);
  if (found == guests_.end()) return;
  Guest& guest = found->second;
  if (guest.ending.state == jail::Ending::State::alive) guest.ending = jail::reap(guest.process);
  if (guest.ending.state == jail::Ending::State::alive) return;
  // Leaves the set; the descriptor stays open until the host has closed the guest.
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, guest.process.fd().get(), nullptr);
  if (guest.forgotten) guests_.erase(found);
}

void Supervisor::end_all() {
  for (auto& [id, guest] : guests_) {
    if (guest.ending.state == jail::Ending::State::alive) (void)guest.process.send_signal(SIGKILL);
  }
  for (auto& [id, guest] : guests_) {
    while (guest.ending.state == jail::Ending::State::alive) {
      (void)guest.process.wait_exit(core::Deadline::never());
      guest.ending = jail::reap(guest.process);
    }
  }
  guests_.clear();
}

}  // namespace heddle::supervisor

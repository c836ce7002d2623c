#include "link.h"

#include <poll.h>
#include <signal.h>

#include <cerrno>
#include <chrono>

#include "process_status.h"

namespace heddle::jail {
namespace {

using core::Errc;
constexpr std::chrono::seconds kEndGrace{10};

std::string describe(const Ending& ending) {
  if (ending.state != Ending::State::ended) return "it has ended";
  return std::string(ending.signalled ? "it was ended by signal " : "it exited with status ") +
         std::to_string(ending.code);
}

}  // namespace

core::Result<Packet> Link::ask(const wire::Message& request, const std::vector<const core::Fd*>& descriptors,
                               core::Deadline deadline, unsigned looks) {
  const std::lock_guard lock(mutex_);
  if (!socket_.valid()) return broken(core::make_error(Errc::disconnected, "", ""));
  const core::Result<void> sent = send_locked(request, descriptors, deadline);
  // A request that cannot be sent as it is leaves the connection whole.
  if (!sent.ok() && sent.error().code != Errc::disconnected && sent.error().code != Errc::timed_out) {
    return sent.error();
  }
  core::Result<Packet> reply = sent.ok() ? receive_packet(socket_, deadline, looks) : sent.error();
  if (reply.ok()) return reply;
  // Whatever it was, requests and replies no longer match.
  return broken(reply.error());
}

core::Result<void> Link::tell(const wire::Message& request) noexcept {
  const std::lock_guard lock(mutex_);
  if (!socket_.valid()) return broken(core::make_error(Errc::disconnected, "", ""));
  core::Result<void> sent = send_locked(request, {}, core::Deadline::after(request_timeout_));
  if (!sent.ok()) return broken(sent.error());
  return sent;
}

// Requests without a reply may fill the queue of a supervisor that hangs; send(2) would wait for ever.
core::Result<void> Link::send_locked(const wire::Message& request, const std::vector<const core::Fd*>& descriptors,
                                     core::Deadline deadline) {
  for (;;) {
    pollfd item{socket_.get(), POLLOUT, 0};
    const int ready = ::poll(&item, 1, deadline.poll_ms());
    if (ready > 0) return send_packet(socket_, request, descriptors);
    if (ready < 0 && errno != EINTR) return core::system_error("poll");
    if (deadline.passed()) return core::make_error(Errc::timed_out, "send a control packet");
  }
}

core::Error Link::broken(const core::Error& cause) {
  if (cause.code == Errc::timed_out) (void)process_.send_signal(SIGKILL);
  end_locked();
  core::Error error = core::make_error(
      Errc::disconnected, "ask heddle-supervisor",
      death_ + ", and its guests with it; nothing of theirs is left. Start a new one; if it happens again, report it");
  if (cause.code == Errc::timed_out) error.context = "it did not answer in time and was ended; " + error.context;
  if (cause.code == Errc::protocol)
    error.context = "it sent what cannot be read (" + cause.context + "); " + error.context;
  return error;
}

core::Result<void> Link::read_outer_filters() {
  HEDDLE_ASSIGN(const ProcessStatus status, read_status(pid_, process_));
  outer_filters_ = status.seccomp_filters;
  return {};
}

void Link::end() noexcept {
  const std::lock_guard lock(mutex_);
  end_locked();
}

void Link::end_locked() noexcept {
  if (!process_.valid()) return;
  socket_.reset();
  if (!process_.wait_exit(core::Deadline::after(kEndGrace))) {
    (void)process_.send_signal(SIGKILL);
    (void)process_.wait_exit(core::Deadline::never());
  }
  death_ = describe(reap(process_));
  process_ = core::Pidfd();
}

core::Result<std::uint32_t> Link::take_identity() {
  const std::lock_guard lock(identity_mutex_);
  for (std::uint32_t tried = 0; tried < identity_count; ++tried) {
    const std::uint32_t identity = first_identity + next_identity_;
    next_identity_ = (next_identity_ + 1) % identity_count;
    if (identities_.insert(identity).second) return identity;
  }
  return core::make_error(Errc::exhausted, "choose a user id for a guest",
                          "all " + std::to_string(identity_count) + " are in use; configure a wider range");
}

void Link::give_back_identity(std::uint32_t identity) noexcept {
  const std::lock_guard lock(identity_mutex_);
  identities_.erase(identity);
}

}  // namespace heddle::jail

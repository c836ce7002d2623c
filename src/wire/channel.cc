#include "heddle/wire/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace heddle::wire {
namespace {

using core::Errc;

constexpr std::size_t kReadBytes = 64U << 10;

core::Error gone(std::string_view what) { return core::make_error(Errc::disconnected, "talk to the peer", what); }

// Closes every descriptor that came with a message. True when there was any, or when the kernel had to drop some.
bool close_passed_descriptors(msghdr& header) {
  bool any = (header.msg_flags & MSG_CTRUNC) != 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int raw = -1;
      std::memcpy(&raw, CMSG_DATA(part) + i * sizeof raw, sizeof raw);
      const core::Fd closed(raw);
      any = true;
    }
  }
  return any;
}

}  // namespace

core::Result<Channel> Channel::adopt(core::Fd socket) {
  HEDDLE_TRY(core::set_nonblocking(socket));
  return Channel(std::move(socket));
}

void Channel::queue(const Message& message) {
  const std::string payload = message.text();
  HEDDLE_CHECK(payload.size() <= kMaxControlBytes);
  output_ += encode_header(FrameType::control, static_cast<std::uint32_t>(payload.size()), sequence_++);
  output_ += payload;
}

void Channel::queue_data(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kMaxDataBytes);
    output_ += encode_header(FrameType::data, static_cast<std::uint32_t>(part.size()), sequence_++);
    output_ += part;
    bytes.remove_prefix(part.size());
  }
}

core::Result<bool> Channel::flush() {
  while (sent_ < output_.size()) {
    const ssize_t put =
        ::send(socket_.get(), output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (put < 0 && (errno == EPIPE || errno == ECONNRESET)) return gone("it closed the connection");
    if (put < 0) return core::system_error("send a frame");
    sent_ += static_cast<std::size_t>(put);
  }
  output_.clear();
  if (output_.capacity() > (std::size_t{1} << 20)) output_.shrink_to_fit();
  sent_ = 0;
  return true;
}

core::Result<std::optional<Frame>> Channel::receive() {
  for (;;) {
    HEDDLE_ASSIGN(std::optional<Frame> frame, decoder_.next());
    if (frame) return frame;
    if (ended_) {
      return gone(decoder_.at_boundary() ? "it closed the connection" : "it closed the connection within a frame");
    }
    char buffer[kReadBytes];
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 4)];
    iovec part{buffer, sizeof buffer};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const ssize_t got = ::recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::optional<Frame>();
    if (got < 0 && errno != ECONNRESET) return core::system_error("receive a frame");
    if (got >= 0 && close_passed_descriptors(header)) {
      return core::make_error(Errc::protocol, "read a frame", "a descriptor came along");
    }
    if (got <= 0) {
      ended_ = true;
    } else {
      decoder_.feed(std::string_view(buffer, static_cast<std::size_t>(got)));
    }
  }
}

core::Result<Frame> Channel::wait_frame(core::Deadline deadline) {
  for (;;) {
    HEDDLE_ASSIGN(std::optional<Frame> frame, receive());
    if (frame) return std::move(*frame);
    if (deadline.passed()) return core::make_error(Errc::timed_out, "wait for a frame");
    HEDDLE_ASSIGN(const bool all_sent, flush());
    pollfd item{socket_.get(), static_cast<short>(all_sent ? POLLIN : POLLIN | POLLOUT), 0};
    if (::poll(&item, 1, deadline.poll_ms()) < 0 && errno != EINTR) return core::system_error("poll");
  }
}

core::Result<void> Channel::wait_flushed(core::Deadline deadline) {
  for (;;) {
    HEDDLE_ASSIGN(const bool all_sent, flush());
    if (all_sent) return {};
    if (deadline.passed()) return core::make_error(Errc::timed_out, "send a frame", "the peer does not read");
    pollfd item{socket_.get(), POLLOUT, 0};
    if (::poll(&item, 1, deadline.poll_ms()) < 0 && errno != EINTR) return core::system_error("poll");
  }
}

core::Result<Message> as_message(const Frame& frame) {
  if (frame.type != FrameType::control) {
    return core::make_error(Errc::protocol, "read a message", "data where a control frame was due");
  }
  return Message::parse(frame.payload);
}

}  // namespace heddle::wire

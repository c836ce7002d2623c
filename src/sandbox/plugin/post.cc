#include "post.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <utility>

namespace heddle::sandbox::plugin {
namespace {

constexpr std::uint64_t kMaxBodyBytes = std::uint64_t{1} << 30;

// Until the socket or `ended` has something; false when the deadline has passed.
bool wait(int socket, short events, int ended, core::Deadline deadline) {
  for (;;) {
    std::array<pollfd, 2> entries{{{socket, events, 0}, {ended, POLLIN, 0}}};
    const int ready = ::poll(entries.data(), entries.size(), deadline.poll_ms());
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
    if (ready == 0 && deadline.passed()) return false;
  }
}

bool has_ended(int ended) {
  pollfd entry{ended, POLLIN, 0};
  return ended >= 0 && ::poll(&entry, 1, 0) == 1;
}

core::Error late() { return core::make_error(core::Errc::timed_out, "talk to a backend's process"); }
core::Error gone() { return core::make_error(core::Errc::disconnected, "talk to a backend's process"); }

}  // namespace

core::Result<Post> Post::adopt(core::Fd socket) {
  HEDDLE_ASSIGN(wire::Channel channel, wire::Channel::adopt(std::move(socket)));
  return Post(std::move(channel));
}

core::Result<void> Post::send(std::string_view word, std::string_view body, core::Deadline deadline, int ended) {
  channel_.queue(wire::Message(word).set("bytes", std::uint64_t{body.size()}));
  channel_.queue_data(body);
  for (;;) {
    HEDDLE_ASSIGN(const bool sent, channel_.flush());
    if (sent) return {};
    if (has_ended(ended)) return gone();
    if (!wait(fd(), POLLOUT, ended, deadline)) return late();
  }
}

core::Result<std::optional<Letter>> Post::try_receive() {
  for (;;) {
    HEDDLE_ASSIGN(auto frame, channel_.receive());
    if (!frame) return std::optional<Letter>();
    if (!half_) {
      HEDDLE_ASSIGN(auto message, wire::as_message(*frame));
      HEDDLE_ASSIGN(missing_, message.take_number("bytes", kMaxBodyBytes));
      HEDDLE_TRY(message.finish());
      channel_.grant(missing_);
      half_ = Letter{message.op(), {}};
    } else if (frame->type != wire::FrameType::data || frame->payload.empty()) {
      return core::make_error(core::Errc::protocol, "read from a backend's process", "a letter without its body");
    } else {
      half_->body += frame->payload;
      missing_ -= frame->payload.size();
    }
    if (missing_ == 0) return std::exchange(half_, std::nullopt);
  }
}

core::Result<Letter> Post::receive(core::Deadline deadline, int ended) {
  for (;;) {
    const bool over = has_ended(ended);  // looked at first: what it sent before its end counts
    HEDDLE_ASSIGN(auto letter, try_receive());
    if (letter) return *std::move(letter);
    if (over) return gone();
    if (!wait(fd(), POLLIN, ended, deadline)) return late();
  }
}

}  // namespace heddle::sandbox::plugin

// Channel: frames over one end of a UNIX stream socket, without ever blocking (WIRE-4).
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "heddle/core/clock.h"
#include "heddle/core/fd.h"
#include "heddle/wire/decoder.h"
#include "heddle/wire/message.h"

namespace heddle::wire {

/// Owns the socket and makes it non-blocking. Not thread-safe. Never raises SIGPIPE (MSG_NOSIGNAL).
///
/// Errors are final: Errc::disconnected when the peer is gone (WIRE-3), Errc::protocol when it broke the format or sent
/// a descriptor (WIRE-2); received descriptors are closed. The owner then ends the guest.
class Channel {
 public:
  [[nodiscard]] static core::Result<Channel> adopt(core::Fd socket);

  [[nodiscard]] const core::Fd& fd() const noexcept { return socket_; }

  /// Queues frames; data is cut into frames of at most kMaxDataBytes. A control payload must be within
  /// kMaxControlBytes.
  void queue(const Message& message);
  void queue_data(std::string_view bytes);

  /// Sends what the socket takes now. True when nothing is left; false means: wait for POLLOUT and call again.
  [[nodiscard]] core::Result<bool> flush();
  [[nodiscard]] bool has_output() const noexcept { return sent_ < output_.size(); }

  /// The next frame if a whole one is there, reading from the socket as needed; nothing means: wait for POLLIN. Frames
  /// that came before a disconnect are delivered before it is reported.
  [[nodiscard]] core::Result<std::optional<Frame>> receive();

  /// Blocks until a frame has come or the deadline has passed (Errc::timed_out); flushes queued output meanwhile.
  [[nodiscard]] core::Result<Frame> wait_frame(core::Deadline deadline);

  /// Blocks until all queued output is sent, or the deadline has passed (Errc::timed_out).
  [[nodiscard]] core::Result<void> wait_flushed(core::Deadline deadline);

  /// Credit for the peer's data frames: see Decoder.
  void grant(std::uint64_t bytes) noexcept { decoder_.grant(bytes); }
  void revoke() noexcept { decoder_.revoke(); }

 private:
  explicit Channel(core::Fd socket) : socket_(std::move(socket)) {}

  core::Fd socket_;
  Decoder decoder_;
  std::string output_;
  std::size_t sent_ = 0;
  std::uint32_t sequence_ = 0;
  bool ended_ = false;
};

/// The frame's payload as a Message; Errc::protocol when it is a data frame or does not parse.
[[nodiscard]] core::Result<Message> as_message(const Frame& frame);

}  // namespace heddle::wire

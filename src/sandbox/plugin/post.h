// Letters between a host and a backend's process: a word, and a body of bytes, in the frames of docs/formats/wire.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "heddle/core/clock.h"
#include "heddle/core/fd.h"
#include "heddle/core/result.h"
#include "heddle/wire/channel.h"

namespace heddle::sandbox::plugin {

struct Letter {
  std::string word;
  std::string body;
};

/// One end of one connection. One thread at a time. Errors are those of wire::Channel, and final.
class Post {
 public:
  [[nodiscard]] static core::Result<Post> adopt(core::Fd socket);

  [[nodiscard]] int fd() const noexcept { return channel_.fd().get(); }

  /// Blocks until it is sent. `ended`, where it is a descriptor, becomes readable when the peer is gone.
  [[nodiscard]] core::Result<void> send(std::string_view word, std::string_view body, core::Deadline deadline,
                                        int ended = -1);
  /// Blocks until a whole letter has come.
  [[nodiscard]] core::Result<Letter> receive(core::Deadline deadline, int ended = -1);
  /// What has come, without blocking.
  [[nodiscard]] core::Result<std::optional<Letter>> try_receive();

 private:
  explicit Post(wire::Channel channel) : channel_(std::move(channel)) {}

  wire::Channel channel_;
  std::optional<Letter> half_;  // its body is still coming
  std::uint64_t missing_ = 0;
};

}  // namespace heddle::sandbox::plugin

// Relay: bytes from one descriptor to another as poll(2) allows, with a ceiling.
#pragma once

#include <poll.h>

#include <cstdint>
#include <string>

#include "heddle/core/fd.h"

namespace heddle::cli {

/// One direction. Not thread-safe. Keeps at most one chunk, and writes no more at a time than a pipe that is ready
/// takes without blocking. `to` that nobody reads any more closes `from`, so that the writer learns of it.
class Relay {
 public:
  Relay() = default;
  Relay(core::Fd from, core::Fd to, std::uint64_t ceiling)
      : from_(std::move(from)), to_(std::move(to)), left_(ceiling) {}

  [[nodiscard]] bool open() const { return from_.valid() || to_.valid(); }
  /// More came than the ceiling, and what was within it has been passed on.
  [[nodiscard]] bool over() const { return over_ && chunk_.empty(); }
  /// What to wait for: one of the two descriptors, or none (fd -1).
  [[nodiscard]] pollfd wanted() const;
  /// After poll(2) reported something about wanted().
  void step();
  void close();

 private:
  void take();
  void put();

  core::Fd from_;
  core::Fd to_;
  std::uint64_t left_ = 0;
  std::string chunk_;
  bool over_ = false;
};

}  // namespace heddle::cli

// Something on the host's loopback address that a script must not reach.
#pragma once

#include <cstdint>

#include "heddle/core/fd.h"

namespace heddle::sandbox::conformance {

class Listener {
 public:
  [[nodiscard]] static core::Result<Listener> open();
  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// True once a connection has arrived.
  [[nodiscard]] bool was_reached() const;

 private:
  Listener(core::Fd socket, std::uint16_t port) : socket_(std::move(socket)), port_(port) {}
  core::Fd socket_;
  std::uint16_t port_;
};

}  // namespace heddle::sandbox::conformance

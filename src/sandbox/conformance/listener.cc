#include "listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace heddle::sandbox::conformance {

core::Result<Listener> Listener::open() {
  core::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (!socket.valid() || ::bind(socket.get(), plain, size) != 0 || ::listen(socket.get(), 1) != 0 ||
      ::getsockname(socket.get(), plain, &size) != 0) {
    return core::system_error("listen on the loopback address for the network probe");
  }
  return Listener(std::move(socket), ntohs(address.sin_port));
}

bool Listener::was_reached() const {
  pollfd entry{socket_.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

}  // namespace heddle::sandbox::conformance

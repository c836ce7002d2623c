#include "event.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>

namespace heddle::sandbox::spi {

Event::Event(Start start) noexcept : fd_(::eventfd(start == Start::raised ? 1U : 0U, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Event::~Event() { close(); }

void Event::close() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Event::raise() const noexcept {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then it is readable.
  [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);
}

bool Event::wait(long milliseconds) const noexcept {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  for (;;) {
    pollfd entry{fd_, POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    const int ready = ::poll(&entry, 1, left > 0 ? static_cast<int>(left) : 0);
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

}  // namespace heddle::sandbox::spi

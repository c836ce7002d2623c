#include "interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>

#include "heddle/core/check.h"

namespace heddle::cli {

core::Result<std::unique_ptr<Interrupt>> Interrupt::start(Signals& signals, const Output& output) {
  return watching(signals, output.fd());
}

core::Result<std::unique_ptr<Interrupt>> Interrupt::start(Signals& signals) {
  return watching(signals, -1);  // which poll(2) passes over
}

core::Result<std::unique_ptr<Interrupt>> Interrupt::watching(Signals& signals, int output) {
  std::unique_ptr<Interrupt> made(new Interrupt);
  made->end_ = core::Fd(::eventfd(0, EFD_CLOEXEC));
  if (!made->end_.valid()) return core::system_error("eventfd");
  made->thread_ = std::thread([self = made.get(), &signals, output] { self->watch(signals, output); });
  return made;
}

Interrupt::~Interrupt() { (void)end(); }

Interrupt::Cause Interrupt::end() noexcept {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    HEDDLE_CHECK(::write(end_.get(), &one, sizeof one) == static_cast<ssize_t>(sizeof one));
    thread_.join();
  }
  return cause();
}

void Interrupt::watch(Signals& signals, int output) noexcept {
  // Of standard output only what poll(2) always reports: POLLERR, a pipe without a reader; POLLHUP, a terminal that
  // left.
  std::array<pollfd, 3> fds{{{end_.get(), POLLIN, 0}, {signals.fd(), POLLIN, 0}, {output, 0, 0}}};
  for (;;) {
    if (::poll(fds.data(), fds.size(), -1) < 0) continue;  // EINTR; nothing else is possible with these
    if (fds[0].revents != 0) return;
    if (fds[1].revents != 0 && signals.take()) {
      cause_.store(Cause::signal, std::memory_order_release);
      break;
    }
    if (fds[2].revents != 0) {
      cause_.store(Cause::reader_gone, std::memory_order_release);
      break;
    }
  }
  stop_.request_stop();
  // The second signal has its default action in this thread, which is therefore there until the end.
  while (::poll(fds.data(), 1, -1) <= 0) {
  }
}

}  // namespace heddle::cli

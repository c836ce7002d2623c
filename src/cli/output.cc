#include "output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace heddle::cli {
namespace {

constexpr std::size_t kFileChunk = 256U << 10;

}  // namespace

core::Result<Output> Output::open(int fd) {
  Output output(core::Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 3)));
  struct stat status = {};
  if (!output.fd_.valid() || ::fstat(output.fd(), &status) != 0)
    return core::system_error("write the result", "standard output");
  // A pipe that is writable takes PIPE_BUF bytes without blocking (pipe(7)). The description is shared with whoever
  // else holds the pipe, so O_NONBLOCK is not ours to set.
  output.chunk_ = S_ISREG(status.st_mode) ? kFileChunk : PIPE_BUF;
  output.terminal_ = ::isatty(output.fd()) == 1;
  return output;
}

bool Output::write_some(std::size_t most) {
  const ssize_t wrote = ::write(fd_.get(), queue_.data() + written_, std::min(most, pending()));
  if (wrote >= 0) {
    written_ += static_cast<std::size_t>(wrote);
    if (written_ >= queue_.size() - written_) {  // moving what is left costs no more than what was written
      queue_.erase(0, written_);
      written_ = 0;
    }
    if (queue_.empty() && queue_.capacity() > 4 * kFileChunk) queue_.shrink_to_fit();
    return true;
  }
  if (errno == EINTR) return true;
  if (errno == EAGAIN) return false;
  state_ = errno == EPIPE ? State::broken_pipe : State::failed;
  error_ = core::system_error("write the result", "standard output");
  return false;
}

void Output::write_ready() {
  if (state_ == State::good && pending() > 0) (void)write_some(chunk_);
}

void Output::finish() {
  while (state_ == State::good && pending() > 0) {
    if (write_some(kFileChunk)) continue;
    if (state_ != State::good) return;
    pollfd wait{fd_.get(), POLLOUT, 0};
    if (::poll(&wait, 1, -1) < 0 && errno != EINTR) state_ = State::failed;
  }
  if (state_ != State::good || !fd_.valid()) return;
  if (::close(fd_.release()) != 0 && errno != EINTR) {
    state_ = State::failed;
    error_ = core::system_error("close the result", "standard output");
  }
}

}  // namespace heddle::cli

#include "output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "json.h"

namespace heddle::cli {
namespace {

constexpr std::size_t kFileChunk = 256U << 10;

}  // namespace

Output Output::of(int fd) {
  Output output(core::Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 3)), fd == STDERR_FILENO ? "standard error" : "standard output");
  struct stat status = {};
  const int mode = output.fd_.valid() ? ::fcntl(output.fd(), F_GETFL) : -1;
  if (mode < 0 || (mode & O_ACCMODE) == O_RDONLY || ::fstat(output.fd(), &status) != 0) {
    output.state_ = State::failed;
    output.error_ =
        core::system_error(EBADF, "write the output",
                           std::string(output.name_) + " is closed, or open for reading only; send it to a file");
    return output;
  }
  // A pipe that is writable takes PIPE_BUF bytes without blocking (pipe(7)), where nobody else writes to it.
  output.regular_ = S_ISREG(status.st_mode);
  output.chunk_ = output.regular_ ? kFileChunk : PIPE_BUF;
  output.terminal_ = ::isatty(output.fd()) == 1;
  return output;
}

core::Result<Output> Output::open(int fd) {
  Output output = of(fd);
  if (output.state_ == State::failed) return std::move(output.error_);
  return output;
}

void Output::add_json(std::string_view json) { add(terminal_ ? terminal_safe_json(json) : std::string(json)); }

void Output::fail(int error) {
  state_ = error == EPIPE ? State::broken_pipe : State::failed;
  error_ = core::system_error(error, "write the output", name_);
}

bool Output::write_some(std::size_t most) {
  const char* const bytes = queue_.data() + written_;
  const std::size_t size = std::min(most, pending());
  const ssize_t wrote = regular_ ? ::write(fd_.get(), bytes, size) : writer_.write(fd_.get(), bytes, size);
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
  if (errno != EAGAIN) fail(errno);
  return false;
}

void Output::write_ready() {
  if (waits()) (void)write_some(chunk_);
}

void Output::finish() {
  while (waits()) {
    if (write_some(chunk_)) continue;
    if (state_ != State::good) return;
    pollfd wait{fd_.get(), POLLOUT, 0};
    if (::poll(&wait, 1, -1) < 0 && errno != EINTR) fail(errno);
  }
  if (state_ != State::good || !fd_.valid()) return;
  if (::close(fd_.release()) != 0 && errno != EINTR) fail(errno);
}

}  // namespace heddle::cli

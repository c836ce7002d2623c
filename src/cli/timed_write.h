// TimedWriter: write(2) that gives up after a moment. poll(2) saying "writable" does not mean that write(2) returns: a
// terminal with little room or in ^S, a pipe that somebody else fills meanwhile. The descriptor's O_NONBLOCK belongs to
// all who share its description, so it is not ours to set.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstddef>
#include <optional>
#include <utility>

namespace heddle::cli {

/// Used by the thread that writes first. SIGALRM is its signal; no other code of the command uses it.
class TimedWriter {
 public:
  TimedWriter() = default;
  TimedWriter(TimedWriter&& other) noexcept : timer_(std::exchange(other.timer_, std::nullopt)) {}
  TimedWriter& operator=(TimedWriter&& other) noexcept {
    std::swap(timer_, other.timer_);
    return *this;
  }
  TimedWriter(const TimedWriter&) = delete;
  TimedWriter& operator=(const TimedWriter&) = delete;
  ~TimedWriter();

  /// As write(2); -1 with EAGAIN when nothing could be written within a few hundredths of a second, or a signal came.
  /// Where the kernel has no timer to give it waits as write(2) does.
  [[nodiscard]] ssize_t write(int fd, const char* bytes, std::size_t size);

 private:
  std::optional<timer_t> timer_;
};

}  // namespace heddle::cli

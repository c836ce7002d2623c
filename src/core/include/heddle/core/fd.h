// Fd: an owned file descriptor. Every descriptor of Heddle's is one of these and is close-on-exec from birth.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/core/result.h"

namespace heddle::core {

/// Owns a descriptor and closes it once. Move-only; no conversion to bool or int. Not thread-safe, as an int is not.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int raw) noexcept : raw_(raw) {}
  Fd(Fd&& other) noexcept : raw_(std::exchange(other.raw_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      raw_ = std::exchange(other.raw_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] bool valid() const noexcept { return raw_ >= 0; }
  [[nodiscard]] int get() const noexcept { return raw_; }
  [[nodiscard]] int release() noexcept { return std::exchange(raw_, -1); }
  void reset() noexcept;  // closes, ignoring EINTR: Linux has freed the number by then (close(2))

  /// A second descriptor for the same open file, close-on-exec, numbered `lowest` or above (fcntl(2), F_DUPFD_CLOEXEC).
  [[nodiscard]] Result<Fd> duplicate(int lowest = 3) const;

 private:
  int raw_ = -1;
};

struct FdPair {
  Fd first;
  Fd second;
};

/// A connected pair of UNIX stream sockets, close-on-exec (socketpair(2)).
[[nodiscard]] Result<FdPair> stream_pair();

/// A pipe, close-on-exec: first reads, second writes (pipe2(2)).
[[nodiscard]] Result<FdPair> pipe_pair();

[[nodiscard]] Result<void> set_nonblocking(const Fd& fd);

/// A sealed, read-only memory file with these bytes: what the receiver reads is what was written (memfd_create(2),
/// F_SEAL_*).
[[nodiscard]] Result<Fd> sealed_memory(const char* name, std::string_view bytes);

/// Everything up to end of file; Errc::too_large once more than `ceiling` bytes have come. EINTR is retried.
[[nodiscard]] Result<std::string> read_all(const Fd& fd, std::size_t ceiling);

/// All bytes, or the error; EINTR is retried, short writes are continued. For blocking descriptors.
[[nodiscard]] Result<void> write_all(const Fd& fd, std::string_view bytes);

}  // namespace heddle::core

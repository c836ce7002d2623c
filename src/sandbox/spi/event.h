// An event descriptor that is readable once it has been raised (eventfd(2)).
#pragma once

namespace heddle::sandbox::spi {

class Event {
 public:
  enum class Start { clear, raised };
  explicit Event(Start start = Start::clear) noexcept;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();

  /// False when no descriptor could be had.
  [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int fd() const noexcept { return fd_; }
  void raise() const noexcept;
  /// Nobody waits any more: gives the descriptor back.
  void close() noexcept;
  /// Waits at most this long; true when raised.
  [[nodiscard]] bool wait(long milliseconds) const noexcept;

 private:
  int fd_;
};

}  // namespace heddle::sandbox::spi

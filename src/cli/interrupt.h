// Interrupt: for commands that wait for something else than poll(2), a stop token in the place of the loop's signals.
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>
#include <thread>

#include "output.h"
#include "signals.h"

namespace heddle::cli {

/// A thread that requests a stop at the first signal, or when nobody reads standard output any more, even while nothing
/// is being written. A second signal ends the process. Outlived by what it was made with.
class Interrupt {
 public:
  [[nodiscard]] static core::Result<std::unique_ptr<Interrupt>> start(Signals& signals, const Output& output);
  /// Of signals alone.
  [[nodiscard]] static core::Result<std::unique_ptr<Interrupt>> start(Signals& signals);
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  enum class Cause : int { none, signal, reader_gone };
  [[nodiscard]] Cause cause() const noexcept { return cause_.load(std::memory_order_acquire); }
  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
  /// Ends the thread; a signal that comes from now on is for whoever reads the Signals next.
  Cause end() noexcept;

 private:
  Interrupt() = default;
  static core::Result<std::unique_ptr<Interrupt>> watching(Signals& signals, int output);
  void watch(Signals& signals, int output) noexcept;

  std::stop_source stop_;
  std::atomic<Cause> cause_{Cause::none};
  core::Fd end_;  // readable when the thread is to end
  std::thread thread_;
};

}  // namespace heddle::cli

// Output: standard output or standard error as a queue that is written when poll(2) says so, so that a slow reader
// never keeps the deadlines of runs, or Ctrl-C, from being noticed. What could not be written is known to the end.
#pragma once

#include <string>
#include <string_view>

#include "heddle/core/fd.h"
#include "timed_write.h"

namespace heddle::cli {

class Output {
 public:
  /// Of a duplicate of `fd`, STDOUT_FILENO or STDERR_FILENO. One that is closed, or cannot be written at all, is
  /// State::failed from the beginning.
  [[nodiscard]] static Output of(int fd);
  /// The same, and the error where there is one.
  [[nodiscard]] static core::Result<Output> open(int fd);

  enum class State { good, broken_pipe, failed };
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const core::Error& error() const { return error_; }  ///< of State::failed
  [[nodiscard]] bool is_terminal() const { return terminal_; }

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::size_t pending() const { return queue_.size() - written_; }
  /// There is something to write, and somebody may take it.
  [[nodiscard]] bool waits() const { return state_ == State::good && pending() > 0; }
  void add(std::string_view bytes) { queue_ += bytes; }
  /// JSON text: as it is, or on a terminal so that it is harmless there (terminal_safe_json()).
  void add_json(std::string_view json);
  /// Writes what a descriptor that poll(2) found writable takes, and gives up after a moment where it takes nothing.
  void write_ready();
  /// poll(2) found an error on the descriptor: nobody reads it any more.
  void reader_gone() {
    if (state_ == State::good) state_ = State::broken_pipe;
  }
  /// Writes everything, however long that takes, and closes: some file systems report a full disk only then.
  void finish();

 private:
  Output(core::Fd fd, const char* name) : fd_(std::move(fd)), name_(name) {}
  bool write_some(std::size_t most);
  void fail(int error);

  core::Fd fd_;
  const char* name_;
  TimedWriter writer_;
  std::string queue_;
  std::size_t written_ = 0;
  std::size_t chunk_ = 0;  // the most that one write(2) may take
  bool regular_ = false;   // a file: write(2) waits for a disk only
  bool terminal_ = false;
  State state_ = State::good;
  core::Error error_;
};

}  // namespace heddle::cli

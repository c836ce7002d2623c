// Output: standard output as a queue that is written when poll(2) says so, so that a slow reader never keeps the
// deadlines of runs, or Ctrl-C, from being noticed.
#pragma once

#include <string>
#include <string_view>

#include "heddle/core/fd.h"

namespace heddle::cli {

class Output {
 public:
  /// Of a duplicate of `fd`.
  [[nodiscard]] static core::Result<Output> open(int fd);

  enum class State { good, broken_pipe, failed };
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const core::Error& error() const { return error_; }  ///< of State::failed
  [[nodiscard]] bool is_terminal() const { return terminal_; }

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::size_t pending() const { return queue_.size() - written_; }
  void add(std::string_view bytes) { queue_ += bytes; }
  /// Writes what a descriptor that poll(2) found writable takes without blocking.
  void write_ready();
  /// poll(2) found an error on the descriptor: nobody reads it any more.
  void reader_gone() {
    if (state_ == State::good) state_ = State::broken_pipe;
  }
  /// Writes everything, blocking, and closes: some file systems report a full disk only then.
  void finish();

 private:
  explicit Output(core::Fd fd) : fd_(std::move(fd)) {}
  bool write_some(std::size_t most);

  core::Fd fd_;
  std::string queue_;
  std::size_t written_ = 0;
  std::size_t chunk_ = 0;  // the most that one write(2) may take
  bool terminal_ = false;
  State state_ = State::good;
  core::Error error_;
};

}  // namespace heddle::cli

// Relay: bytes of a guest's pipe to an Output, or of a descriptor of ours to a guest's pipe, as poll(2) allows.
#pragma once

#include <poll.h>

#include <cstdint>
#include <string>

#include "heddle/core/fd.h"
#include "output.h"

namespace heddle::cli {

/// What a guest writes, with a ceiling. Not thread-safe. Takes nothing while `to` still holds something, so at most one
/// chunk is kept. An output that cannot be written any more closes the pipe, so that the guest learns of it.
class OutputRelay {
 public:
  OutputRelay() = default;
  OutputRelay(core::Fd from, Output& to, std::uint64_t ceiling) : from_(std::move(from)), to_(&to), left_(ceiling) {}

  [[nodiscard]] int pipe() const { return from_.get(); }
  /// More came than the ceiling; what was within it is passed on.
  [[nodiscard]] bool over() const { return over_; }
  /// Something of the guest's did not get through, its ceiling aside.
  [[nodiscard]] bool lost() const { return lost_ || (used_ && to_->state() != Output::State::good); }
  /// What to wait for; fd -1 when for nothing.
  [[nodiscard]] pollfd wanted() const;
  /// After poll(2) reported something about wanted().
  void step();
  /// The guest has ended: what the pipe holds now, which is bounded by the kernel, is taken and is the last of it,
  /// whoever has the pipe open still.
  void last();

 private:
  std::size_t take(std::size_t most);

  core::Fd from_;
  Output* to_ = nullptr;
  std::uint64_t left_ = 0;  // below the ceiling
  bool over_ = false;
  bool used_ = false;
  bool lost_ = false;
};

/// What a guest reads. Its end closes the pipe, and a guest that reads no more ends it. A terminal is left alone while
/// it belongs to other processes (a shell's background job): its owner blocks SIGTTIN and looks again from time to
/// time.
class InputRelay {
 public:
  InputRelay() = default;
  InputRelay(core::Fd from, core::Fd to) : from_(std::move(from)), to_(std::move(to)) {}

  [[nodiscard]] int pipe() const { return to_.get(); }
  [[nodiscard]] pollfd wanted() const;
  void step();
  /// Nothing is wanted because somebody else has the terminal.
  [[nodiscard]] bool in_background() const;
  /// Why no more could be read though there was no end; 0 otherwise.
  [[nodiscard]] int error() const { return error_; }

 private:
  void take();
  void put();
  void close();

  core::Fd from_;
  core::Fd to_;
  std::string chunk_;
  int error_ = 0;
};

}  // namespace heddle::cli

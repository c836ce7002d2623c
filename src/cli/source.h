// Source: a file or standard input that is read without ever blocking the command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/core/fd.h"
#include "signals.h"

namespace heddle::cli {

enum class Stdin { open, closed };  ///< what descriptor 0 was when the command began

class Source {
 public:
  /// `path` may be "-". The error names the option and the path, and says so when it is a folder.
  [[nodiscard]] static core::Result<Source> open(std::string_view option, std::string_view path, Stdin stdin_state);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int fd() const { return fd_.get(); }
  /// Of a regular file: what is left to read of it.
  [[nodiscard]] std::optional<std::uint64_t> size() const { return size_; }

  struct Chunk {
    std::string_view bytes;  ///< in the caller's buffer
    enum class State { data, nothing_yet, end } state;
  };
  /// One read(2) of a descriptor that poll(2) found readable.
  [[nodiscard]] core::Result<Chunk> read(char* buffer, std::size_t capacity);

 private:
  Source(core::Fd fd, std::string name, std::optional<std::uint64_t> size)
      : fd_(std::move(fd)), name_(std::move(name)), size_(size) {}

  core::Fd fd_;
  std::string name_;
  std::optional<std::uint64_t> size_;
};

struct Content {
  enum class State { complete, too_large, cancelled } state;
  std::string text;  ///< of State::complete
};
/// All of a source, or the news that it holds more than `ceiling` bytes (no more than that is read), or that a signal
/// came.
[[nodiscard]] core::Result<Content> read_content(Source& source, std::uint64_t ceiling, Signals& signals);

}  // namespace heddle::cli

// Program: a file that is about to be trusted with a part of the boundary, opened once and checked before it is used.
#pragma once

#include <string>
#include <string_view>

#include "heddle/core/fd.h"
#include "heddle/core/result.h"

namespace heddle::jail {

class Program {
 public:
  [[nodiscard]] const core::Fd& fd() const noexcept { return fd_; }
  /// As it was resolved when it was opened, for messages.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  friend core::Result<Program> open_program(const std::string& path);
  Program(core::Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  core::Fd fd_;
  std::string path_;
};

/// Opens a helper program for execution by descriptor. Errc::untrusted_program, with what to do, unless it is a regular
/// file that root, the effective user or the owner of the running executable owns, and neither it nor its folder can be
/// written by anybody else. What was checked is what runs: nobody can swap the file afterwards.
[[nodiscard]] core::Result<Program> open_program(const std::string& path);

/// Where a helper program of this installation lies: ../libexec/heddle/NAME, seen from the folder of the running
/// executable.
[[nodiscard]] core::Result<std::string> helper_path(std::string_view name);

}  // namespace heddle::jail

// ProgramGrants: every path that a policy for one foreign program grants, each opened once. What was looked at is what
// is granted, what is reported, and what a refusal is judged by (JAIL-17).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heddle/jail/unsafe/opened_path.h"
#include "heddle/jail/unsafe/program_policy.h"

namespace heddle::jail {

class ProgramGrants {
 public:
  struct Path {
    OpenedPath object;
    Access access = Access::read;
  };

  /// `program` is readable, and lies at `path`; its bytes choose nothing but which loader may be started, and that
  /// within limits: see loader(). Errors:
  ///   - Errc::not_found or Errc::system, with the path, for one of `needs.paths` that cannot be opened;
  ///   - Errc::invalid_argument for one that a symbolic link in a folder which the policy lets the program write leads
  ///     out of that folder: an earlier run may have made it;
  ///   - Errc::invalid_argument with step() for what cannot be started: no ELF program, or a loader that may not be.
  [[nodiscard]] static core::Result<ProgramGrants> open(core::Fd program, std::string path, const ProgramNeeds& needs);
  /// Error::step of an Error that is about the program and not about the policy.
  [[nodiscard]] static const char* step() noexcept { return "look at the program"; }

  [[nodiscard]] const core::Fd& program() const noexcept { return program_; }
  [[nodiscard]] const std::string& program_path() const noexcept { return program_path_; }
  /// What the program names as its interpreter (ELF PT_INTERP); none for a static one. An absolute path to a regular
  /// ELF file that the guest's user cannot write, and that no line of the policy lets it write. Granted as a file.
  [[nodiscard]] const std::optional<OpenedPath>& loader() const noexcept { return loader_; }
  [[nodiscard]] const std::vector<Path>& paths() const noexcept { return paths_; }

 private:
  ProgramGrants(core::Fd program, std::string path) : program_(std::move(program)), program_path_(std::move(path)) {}
  [[nodiscard]] core::Result<void> open_paths(const ProgramNeeds& needs);
  [[nodiscard]] core::Result<void> open_loader();

  core::Fd program_;
  std::string program_path_;
  std::optional<OpenedPath> loader_;
  std::vector<Path> paths_;
};

}  // namespace heddle::jail

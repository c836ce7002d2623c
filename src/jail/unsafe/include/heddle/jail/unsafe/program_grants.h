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

  /// What is to be started.
  struct Called {
    core::Fd file;     ///< readable
    std::string path;  ///< where it lies
    std::string name;  ///< what a script's interpreter is to open: absolute
  };

  /// The bytes of the program choose nothing but which loader may be started, and that within limits: see loader(). A
  /// script (`#!`) is granted read, and its interpreter is what is started; that must be granted Access::execute like
  /// any program: see ungranted(). Errors:
  ///   - Errc::not_found or Errc::system, with the path, for one of `needs.paths` that cannot be opened;
  ///   - Errc::invalid_argument for one that a symbolic link in a folder which the policy lets the program write leads
  ///     out of that folder: an earlier run may have made it;
  ///   - Errc::invalid_argument for Access::execute with Subprocesses::none, but for what holds a script's interpreter;
  ///   - Errc::invalid_argument with step() for what cannot be started: no ELF program, or a loader that may not be.
  [[nodiscard]] static core::Result<ProgramGrants> open(Called program, const ProgramNeeds& needs);
  /// Error::step of an Error that is about the program and not about the policy.
  [[nodiscard]] static const char* step() noexcept { return "look at the program"; }

  /// What is executed, an ELF program, and where it lies.
  [[nodiscard]] const core::Fd& program() const noexcept { return program_.file; }
  [[nodiscard]] const std::string& program_path() const noexcept { return program_.path; }
  /// A script, and where its interpreter is a script as well, that one too. They are granted read.
  [[nodiscard]] const std::vector<Called>& scripts() const noexcept { return scripts_; }
  /// What stands in place of argv[0] when a script is started (execve(2)): interpreter, its argument, script.
  [[nodiscard]] const std::vector<std::string>& leading() const noexcept { return leading_; }
  /// The interpreter of a script that no line of the policy grants Access::execute. With it no policy is made.
  [[nodiscard]] const std::optional<OpenedPath>& ungranted() const noexcept { return ungranted_; }
  /// What the program names as its interpreter (ELF PT_INTERP); none for a static one. An absolute path to a regular
  /// ELF file that the guest's user cannot write, and that no line of the policy lets it write. Granted as a file.
  [[nodiscard]] const std::optional<OpenedPath>& loader() const noexcept { return loader_; }
  [[nodiscard]] const std::vector<Path>& paths() const noexcept { return paths_; }

  /// Whether a line of the policy grants it.
  [[nodiscard]] bool cover(const OpenedPath& object) const;
  /// Errc::invalid_argument where a symbolic link in a folder that the program may write led out of it to `object`.
  [[nodiscard]] core::Result<void> check_links(const OpenedPath& object) const;

 private:
  explicit ProgramGrants(Called program) : program_(std::move(program)) {}
  [[nodiscard]] core::Result<void> open_interpreters(std::vector<OpenedPath>& interpreters);
  [[nodiscard]] core::Result<void> open_paths(const ProgramNeeds& needs, const std::vector<OpenedPath>& interpreters);
  [[nodiscard]] core::Result<void> open_loader();

  Called program_;
  std::vector<Called> scripts_;
  std::vector<std::string> leading_;
  std::optional<OpenedPath> ungranted_;
  std::optional<OpenedPath> loader_;
  std::vector<Path> paths_;
};

}  // namespace heddle::jail

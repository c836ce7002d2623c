// What `heddle exec` looks at before anything is started: the policy's file and the program.
#pragma once

#include <string>
#include <variant>

#include "heddle/core/fd.h"
#include "heddle/jail/policy_file/policy_file.h"
#include "heddle/jail/unsafe/program_grants.h"
#include "signals.h"

namespace heddle::cli {

/// A program by that name, as execvp(3) finds it: without a slash in each folder of `search`, an empty one among them
/// being the working folder. What is there and may not be executed does not end the search. It opens no pipe and
/// waits for nobody.
struct FoundProgram {
  core::Fd fd;       ///< readable
  std::string path;  ///< where it lies
  std::string name;  ///< how it was found, from the root folder on
};
struct NoProgram {
  int code = 0;  ///< the command's exit code
  std::string what;
};
/// `search`: the caller's PATH; null for the system's own.
[[nodiscard]] std::variant<FoundProgram, NoProgram> find_program(const std::string& name, const char* search);

/// Where a program starts.
struct StartFolder {
  jail::OpenedPath place;
  std::string instead_of;  ///< the caller's folder, where that is not granted; empty: no other was meant
};
/// `wanted`: the policy's; empty: the caller's folder if `grants` cover it, else the root folder.
[[nodiscard]] core::Result<StartFolder> start_folder(const std::string& wanted, const jail::ProgramGrants& grants);

/// A policy for a program. It may come out of a pipe, whose writer is waited for until a signal comes
/// (Errc::cancelled).
[[nodiscard]] core::Result<jail::ProgramFile> load_policy(const std::string& path, Signals& signals);

}  // namespace heddle::cli

// `heddle exec`: a foreign program under a policy file. docs/guide/command.md has its options and exit codes.
#pragma once

#include <string>
#include <vector>

#include "signals.h"

namespace heddle::cli {

/// Exit codes beside the program's own. They are those of env(1) and timeout(1).
inline constexpr int kExitOutputCap = 123;  ///< more output than the policy allows; ended
inline constexpr int kExitWallClock = 124;  ///< longer than the policy allows; ended
inline constexpr int kExitNotRun = 125;     ///< Heddle did not start it: the policy, the host, the boundary
inline constexpr int kExitNoProgram = 126;  ///< found, and cannot be executed
inline constexpr int kExitNotFound = 127;
inline constexpr int kExitSignal = 128;  ///< and the number of the signal that ended the program
inline constexpr int kExitCancelled = 130;

enum class Explain { no, yes };

struct ExecOptions {
  std::string policy;
  Explain explain = Explain::no;
  std::vector<std::string> command;  ///< the program and its arguments; not empty
};

/// Runs it and gives the exit code. Nothing of the program's is left when this returns.
[[nodiscard]] int run_exec(const ExecOptions& options, Signals& signals);

}  // namespace heddle::cli

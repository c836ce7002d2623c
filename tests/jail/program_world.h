// A foreign program started through the stub, from first step to last word.
#pragma once

#include <functional>
#include <optional>

#include "heddle/jail/unsafe/program_grants.h"
#include "world.h"

namespace heddle::jail {

struct ProgramRun {
  std::string program;                 ///< absolute
  std::vector<std::string> arguments;  ///< after the first
  ProgramNeeds needs;
  std::function<void()> after_policy = {};  ///< what happens between the policy and the start
  std::string folder_name = "/";            ///< what the stub is told of its folder, which is the root folder
};

struct ProgramOutcome {
  wire::Message first = wire::Message("none");  ///< what the stub said: failed, or after "go" ended
  std::string output;                           ///< what the program wrote
  std::optional<AppliedPolicy> applied;         ///< of a stub that was ready
  Denials denials;
  Death death;
};

/// What a program without wishes of its own needs on any machine that has tests to run.
ProgramNeeds plain_needs();

/// The policy for one program.
core::Result<Policy> policy_for(const Program& stub, const std::string& program, const ProgramNeeds& needs);

/// The stub is told to go only after it was verified, as a host does it.
core::Result<ProgramOutcome> run_program(Supervisor& supervisor, const ProgramRun& run);

}  // namespace heddle::jail

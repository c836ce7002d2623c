// The policy file of `heddle exec`: TOML, read strictly. docs/guide/policy.md has every key.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/result.h"
#include "heddle/jail/unsafe/program_policy.h"

namespace heddle::cli {

enum class StandardInput { null, inherit };
enum class StandardOutput { null, relay };

struct ExecPolicy {
  jail::ProgramNeeds needs;              ///< the runtime's files among its paths, unless the file says otherwise
  std::vector<jail::PathGrant> granted;  ///< those of the file alone
  std::vector<std::string> environment;  ///< "NAME=value"
  std::string working_directory = "/";
  StandardInput input = StandardInput::null;
  StandardOutput output = StandardOutput::relay;
  StandardOutput errors = StandardOutput::relay;
  std::uint64_t max_output = std::uint64_t{64} << 20;  ///< bytes, of each of the two
  std::chrono::milliseconds wall_clock{0};             ///< 0: no limit
};

/// Errc::invalid_argument names the file, line and column, what is there and what may be there.
[[nodiscard]] core::Result<ExecPolicy> parse_exec_policy(std::string_view text, const std::string& file);

}  // namespace heddle::cli

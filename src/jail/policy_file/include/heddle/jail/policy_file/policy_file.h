// A policy as TOML, read strictly. docs/guide/policy.md has every key.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "heddle/core/result.h"
#include "heddle/jail/policy.h"
#include "heddle/jail/unsafe/program_policy.h"
#include "heddle/jail/unsafe/threaded_policy.h"

namespace heddle::jail {

/// profile = "script": what Policy::script() takes.
struct ScriptFile {
  Limits limits;
  DenialOptions denials;
  NamespaceOrder namespaces{Need::if_available};
};

/// profile = "tool" and "plugin": what ThreadedPolicy::tool() and plugin() take.
struct ToolFile {
  ToolNeeds needs;
};
struct PluginFile {
  PluginNeeds needs;
};

enum class StandardInput : std::uint8_t { null, inherit };
enum class StandardOutput : std::uint8_t { null, relay };

/// profile = "program": what UnsafePolicy::program() takes, and what is around the program.
struct ProgramFile {
  ProgramNeeds needs;                    ///< the runtime's files among its paths, unless the file says otherwise
  std::vector<PathGrant> granted;        ///< those of the file alone
  std::vector<std::string> environment;  ///< "NAME=value"
  std::string working_directory;         ///< empty: not said
  StandardInput input = StandardInput::null;
  StandardOutput output = StandardOutput::relay;
  StandardOutput errors = StandardOutput::relay;
  std::uint64_t max_output = std::uint64_t{64} << 20;  ///< bytes, of each of the two
  std::chrono::milliseconds wall_clock{0};             ///< 0: no limit
};

/// Errc::invalid_argument names the file, line and column, what is there and what may be there. Which profile
/// it is the caller looks at: a host that starts one kind of guest refuses the others.
using PolicyFile = std::variant<ScriptFile, ProgramFile, ToolFile, PluginFile>;
[[nodiscard]] core::Result<PolicyFile> parse_policy(std::string_view text, const std::string& file);

}  // namespace heddle::jail

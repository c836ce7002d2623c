// The profiles `tool` and `plugin`: programs of Heddle's own that confine themselves (confine_self()) and then run
// other people's code in their process. What is weaker than the profile `script`:
//   - Threads, up to the limit of processes; no fork, no other process.
//   - They sleep, and yield the processor.
//   - `plugin`, until narrow_self(): makes UNIX stream sockets and connects them, so that it can reach its editor and
//     gateway from behind its boundary; and loads filters, which can only take more away. Until then none but Heddle's
//     own code may run in it. See PluginNeeds::namespaces.
// All else is a script's: no file, no execve, no executable memory, no socket but the inherited one; a refused call is
// told, or ends the process. docs/guide/syscalls.md has every call.
//
// The programs that these policies are for, the runner and the plugin host, are not there yet, and what only they need
// is not either: no file is granted, a plugin's workspace neither (confine_self() takes all files away); a shared
// object has to be mapped before confine_self(); a tool that is a foreign program (python3, node) runs under the
// profile `program`, whose stub starts it as a child, and may fork.
#pragma once

#include "heddle/jail/policy.h"

namespace heddle::jail {

struct ToolNeeds {
  /// The stack is each thread's, and counts as data.
  Limits limits{256U << 20, 1U << 20, std::chrono::seconds(3600), 64, 64, 0, {}};
  DenialOptions denials;
  NamespaceOrder namespaces{Need::if_available};
};

struct PluginNeeds {
  Limits limits{256U << 20, 1U << 20, std::chrono::seconds(3600), 64, 64, 0, {}};
  DenialOptions denials;
  /// The host's tree, since a socket is reached by its path: filter and Landlock keep its files away, and no ruleset of
  /// Heddle's decides about sockets with a path. With Root::empty a plugin has only what it inherits.
  NamespaceOrder namespaces{Need::if_available, kUsualNamespaces, Root::host};
};

class ThreadedPolicy {
 public:
  /// Errc::invalid_argument for limits under which no program can start. Builds the filters: keep the Policy.
  [[nodiscard]] static core::Result<Policy> tool(const ToolNeeds& needs = {});
  /// The same, with a second_filter() that takes away what only the start needs. It holds from narrow_self() on: the
  /// host asks Guest::verify_narrowed() before it lets the plugin's code run.
  [[nodiscard]] static core::Result<Policy> plugin(const PluginNeeds& needs = {});
};

/// The system calls of the profile `tool`.
[[nodiscard]] SyscallTable tool_syscalls();
/// Of `plugin` before narrow_self(), and what narrow_self() takes away.
[[nodiscard]] SyscallTable plugin_syscalls();
[[nodiscard]] SyscallTable plugin_taken_syscalls();

}  // namespace heddle::jail

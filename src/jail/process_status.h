// What the kernel says about a process: /proc/PID/status (proc(5)).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/core/pidfd.h"
#include "heddle/core/result.h"

namespace heddle::jail {

struct ProcessStatus {
  std::uint32_t uids[4] = {};  ///< real, effective, saved, file system
  unsigned threads = 0;
  unsigned no_new_privs = 0;
  unsigned seccomp_mode = 0;
  unsigned seccomp_filters = 0;
};

/// Every field must be there, once, in its form; Errc::unsupported otherwise (Seccomp_filters: Linux 5.9).
[[nodiscard]] core::Result<ProcessStatus> parse_status(std::string_view text);

[[nodiscard]] core::Error not_confined(const std::string& what);

/// What the kernel must say of a guest before it is sent anything (JAIL-16): confined by itself, beside the filters
/// that the host runs under, alone, and as `user`. Errc::confinement says what is not so.
[[nodiscard]] core::Result<void> judge_confined(const ProcessStatus& status, unsigned outer_filters,
                                                std::uint32_t user);

/// Of the very process that `process` stands for: it is known to have lived after the read, so `pid` was still its own.
/// Errc::not_found when it has ended.
[[nodiscard]] core::Result<ProcessStatus> read_status(pid_t pid, const core::Pidfd& process);

/// The path of its cgroup v2 group, from /proc/PID/cgroup, of the very process as above.
[[nodiscard]] core::Result<std::string> read_group(pid_t pid, const core::Pidfd& process);

}  // namespace heddle::jail

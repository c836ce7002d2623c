// What a guest program of Heddle's does to itself, before it reads the first byte from the host. The supervisor has
// already confined it from outside (session, identity, limits, no_new_privs, first Landlock ruleset); what is left is
// what only a program that has started can give up: execute, and system calls.
#pragma once

#include "heddle/core/result.h"
#include "heddle/jail/confine/step.h"

namespace heddle::jail {

/// Where the supervisor puts the guest's descriptors.
inline constexpr int kChannelFd = 3;  ///< the stream socket to the host
inline constexpr int kFilterFd = 4;   ///< sealed memory: the seccomp programs, as filters.h says

/// What confine_self() has enforced; true for this process when it returns.
struct ConfineReport {
  int landlock_abi = 0;  ///< of the second ruleset: denies every right that this ABI has, execute included
  bool no_exec_gain =
      false;  ///< PR_SET_MDWE (Linux 6.3): memory cannot become executable, said by the memory manager too
  unsigned filter_length = 0;  ///< instructions of the seccomp program
  bool notifies = false;       ///< refused calls are told to the supervisor; otherwise they end the process
};

/// Does once what the C and C++ runtimes do late (first exception, time zone, first random bytes), since afterwards
/// there is no file and no open. Call it first. Single-threaded programs only.
void prepare() noexcept;

/// Confines the calling process for good. Call it from its only thread. On an Error (Errc::confinement, or
/// Errc::unsupported without Landlock; `step` is step_name() of the failed Step) the program must say so on its channel
/// and end: it may be confined in part only.
[[nodiscard]] core::Result<ConfineReport> confine_self() noexcept;

/// The same with the failed step as a value: what a guest program sends to its host.
struct ConfineResult {
  ConfineReport report;
  Failure failure;  ///< step none: success
};
[[nodiscard]] ConfineResult try_confine_self() noexcept;

/// Loads the policy's second filter (ThreadedPolicy's plugin has one) on top of the first, for every thread of the
/// process and for good: what it takes away gets EPERM and is told to nobody, since a process tree has one listener.
/// Once, after confine_self() and before any code runs that is not Heddle's; Step::second_filter when there is none, or
/// it could not be loaded for every thread, and then the program must end. The host asks Guest::verify_narrowed().
[[nodiscard]] Failure narrow_self() noexcept;

/// The second ruleset, which grants nothing: the first of what confine_self() does, by itself, so that tests see what
/// it holds. Step none: done, with the ABI that it is of.
[[nodiscard]] Failure seal_files(int& abi) noexcept;

}  // namespace heddle::jail

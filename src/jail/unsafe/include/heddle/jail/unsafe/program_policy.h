// Policies that are weaker than a script's, in a target of their own (heddle::jail_unsafe): what links it weakens.
//
// The profile `program` is for programs that nobody wrote for Heddle: python3, node, a compiler. What is weaker than
// the profile `script`:
//   - It opens files: those that are granted, by Landlock. Landlock does not hide names: stat(2) of any path that the
//     guest's user may reach tells size and times (landlock(7), "Current limitations").
//   - Memory may become executable, since loaders and JIT compilers need it.
//   - Threads and processes, up to the limit.
//   - About 200 system calls. What is not listed is refused with EPERM and reported, not with death.
//   - execve: see Subprocesses.
#pragma once

#include <string>
#include <vector>

#include "heddle/jail/policy.h"
#include "heddle/jail/program.h"

namespace heddle::jail {

enum class Access : std::uint8_t {
  read,     ///< files and folders below are read
  write,    ///< and written, made, renamed, removed; no symbolic links, sockets, pipes or devices
  execute,  ///< read, and started as programs
};

struct PathGrant {
  std::string path;
  Access access = Access::read;
  std::string where = {};  ///< what says so, for errors: "job.toml:4:9"
};

enum class Subprocesses : std::uint8_t {
  /// The filter refuses execve. Of execveat the supervisor lets the stub's one through and no other. Where there is no
  /// listener (AppliedPolicy::notified) the filter alone decides, and lets execveat through for a program by
  /// descriptor,
  /// as the stub starts it: a guest that calls it like this can start what Landlock lets it execute: itself and its
  /// loader, no other file.
  none,
  /// The program starts others: those that are granted Access::execute.
  allowed,
};

struct ProgramNeeds {
  Limits limits{std::uint64_t{1} << 30, 8U << 20, std::chrono::seconds(600), 256, 64, std::uint64_t{1} << 30, {}};
  /// Required: the end of its pid namespace is what ends all that the program started, wherever it hid.
  NamespaceOrder namespaces{Need::required, kUsualNamespaces, Root::host};
  std::vector<PathGrant> paths;
  Subprocesses subprocesses = Subprocesses::none;
  /// Not off. The quota is for what never comes to an end; programs try much that they can live without.
  DenialOptions denials{Notifications::if_available, 4096, false};
};

/// What a dynamically linked program reads before its own first line: libraries, the loader's cache, locales, time
/// zones, and the devices null, zero, full, random and urandom. Those that exist here.
[[nodiscard]] std::vector<PathGrant> runtime_files();

class UnsafePolicy {
 public:
  /// Grants what `grants` has opened, and execute on `stub`: of `needs` everything but the paths counts here.
  /// Errc::unsupported without Landlock.
  [[nodiscard]] static core::Result<Policy> program(const Program& stub, const class ProgramGrants& grants,
                                                    const ProgramNeeds& needs);
};

/// Whether a program may lock files (flock(2), fcntl(2)). The kernel lets whoever may read a file lock it, and so hold
/// up others who want to write it; a filter cannot tell such a file from one that may be written.
enum class Locks : std::uint8_t {
  none,     ///< what every policy gets that grants no file or folder to be written: nothing is its own to lock
  allowed,  ///< the others; then files that may only be read can be locked too, as long as the program runs
};

/// Whether the supervisor is told of each process that the program makes (Answer::birth).
enum class Births : std::uint8_t {
  free,  ///< the end of its pid namespace ends all of them
  told,  ///< for a program that may be without one: what it leaves can make no more processes, and is then ended
};

/// What of a policy decides about system calls.
struct ProgramCalls {
  Subprocesses subprocesses = Subprocesses::none;
  Locks locks = Locks::none;
  Births births = Births::free;
};

/// The system calls of the profile `program`.
[[nodiscard]] struct SyscallTable program_syscalls(const ProgramCalls& calls);

}  // namespace heddle::jail

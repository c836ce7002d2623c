// Profile: what kind of guest; decides system calls and what Landlock grants. See syscalls.h.
#pragma once

#include <cstdint>

namespace heddle::jail {

enum class Profile : std::uint8_t {
  script,   ///< one of our own static programs: one inherited socket, no file, no thread, no exec, no executable memory
  tool,     ///< our own tool runner: a script's calls, and threads; made by jail/unsafe alone
  plugin,   ///< our own plugin host: a tool's calls, and until narrow_self() connections; made by jail/unsafe alone
  program,  ///< a foreign program behind heddle-exec-stub; made by jail/unsafe alone
};

/// "script": as policies spell it.
[[nodiscard]] const char* profile_name(Profile profile) noexcept;

}  // namespace heddle::jail

// Profile: what kind of guest; decides system calls and what Landlock grants. See syscalls.h.
#pragma once

#include <cstdint>

namespace heddle::jail {

enum class Profile : std::uint8_t {
  script,   ///< one of our own static programs: one inherited socket, no file, no thread, no exec, no executable memory
  program,  ///< a foreign program behind heddle-exec-stub; made by jail/unsafe alone
};

/// "script": as policies spell it.
[[nodiscard]] const char* profile_name(Profile profile) noexcept;

}  // namespace heddle::jail

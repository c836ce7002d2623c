// The table of system calls becomes a seccomp program (seccomp(2)), made by libseccomp on the host's side.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/core/result.h"
#include "heddle/jail/syscalls.h"

namespace heddle::jail {

/// What becomes of a call that no row allows, and of Answer::denied.
enum class Refusal : std::uint8_t {
  notify,  ///< both: SECCOMP_RET_USER_NOTIF
  kill,    ///< SECCOMP_RET_KILL_PROCESS, and EPERM
};

/// An array of struct sock_filter, in bytes. The same whatever the running kernel can do.
[[nodiscard]] core::Result<std::string> build_filter(const SyscallTable& table, Refusal refusal);

/// Both as one text, in the form of heddle/jail/confine/filters.h; `notifying` may be empty.
[[nodiscard]] std::string pack_filters(std::string_view notifying, std::string_view killing);

}  // namespace heddle::jail

// The table of system calls becomes a seccomp program (seccomp(2)), made by libseccomp on the host's side.
#pragma once

#include <string>

#include "heddle/core/result.h"
#include "heddle/jail/syscalls.h"

namespace heddle::jail {

/// An array of struct sock_filter, in bytes.
[[nodiscard]] core::Result<std::string> build_filter(const SyscallTable& table);

}  // namespace heddle::jail

// What the program on the far side of a BackendProcess does.
#pragma once

#include "heddle/sandbox/plugin/backend_file.h"

namespace heddle::sandbox::plugin {

/// Loads the backend of the host's BackendFile and does what the host asks, until the host hangs up. What the backend
/// prints goes to standard error. Gives the exit code; other threads may still be in the backend, so the caller leaves
/// by _exit(2).
[[nodiscard]] int serve_backend();

/// The same with a backend that is linked into this program. For tests.
[[nodiscard]] int serve_backend(const BackendFactory& factory);

}  // namespace heddle::sandbox::plugin

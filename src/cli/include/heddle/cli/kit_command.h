// The commands around sandbox backends: `heddle conformance`, `heddle plugin new sandbox`, `heddle plugin check`.
#pragma once

#include <optional>

namespace heddle::cli {

/// Does what the arguments say and gives the exit code; nothing when they name another command. Installs no signal
/// handlers and leaves those of the process alone.
[[nodiscard]] std::optional<int> run_kit_command(int argc, char** argv);

}  // namespace heddle::cli

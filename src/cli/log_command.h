// `heddle log`, `heddle log verify`, `heddle replay` (docs/guide/journal.md).
#pragma once

#include <string>
#include <vector>

namespace heddle::cli {

/// What is in the journal is not what was written, or the file is no journal.
inline constexpr int kExitDamaged = 21;

/// `args` begins with "log" or "replay". Writes to descriptor 1, complains on 2, gives the exit code. Takes over
/// SIGINT, SIGTERM, SIGHUP and SIGPIPE; call it while the process has one thread.
[[nodiscard]] int run_log(const std::vector<std::string>& args);

}  // namespace heddle::cli

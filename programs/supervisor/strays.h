// What guests leave behind where no pid namespace ends it: processes whose parents have ended fall to the supervisor,
// which is their subreaper (PR_SET_CHILD_SUBREAPER, prctl(2)). So every child that it did not make itself is one.
#pragma once

#include <sys/types.h>

#include <vector>

namespace heddle::supervisor {

/// Kills and reaps all children of this process but `kept`, and what falls to it meanwhile. True when a look found
/// none; false after some looks, with what was found killed: to be called again.
[[nodiscard]] bool end_strays(const std::vector<pid_t>& kept);

}  // namespace heddle::supervisor

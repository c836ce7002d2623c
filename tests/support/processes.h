// What processes this one has started, directly or not, read from /proc: tests prove by it that nothing is left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace heddle::test {

/// Living descendants of this process (zombies too: they are left behind) whose command name starts with `prefix`.
/// Command names are cut to 15 characters by the kernel. Guests that were adopted by another process are found by
/// of_program().
[[nodiscard]] std::vector<pid_t> descendants_named(const std::string& prefix);

/// Every process on the machine whose executable lies below `folder`, whoever its parent is; needs the right to look.
[[nodiscard]] std::vector<pid_t> running_below(const std::string& folder);

/// True when none of them runs any more within the time, though whoever took them as orphans may not have reaped them
/// yet; polls.
[[nodiscard]] bool ended_within(const std::vector<pid_t>& pids, std::chrono::milliseconds time);

/// True when nothing is left of them within the time; polls.
[[nodiscard]] bool gone_within(const std::vector<pid_t>& pids, std::chrono::milliseconds time);

}  // namespace heddle::test

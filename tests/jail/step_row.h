// A step and the failure that the kernel is made to deliver for it.
#pragma once

#include <optional>
#include <vector>

#include "world.h"

namespace heddle::jail {

enum class Who : std::uint8_t { anybody, root, groups };
inline constexpr int kAnyErrno = -1;

struct Row {
  Step step;
  Injection injection;
  Who who = Who::anybody;
  core::Errc code = core::Errc::confinement;
  std::optional<int> reported = {};  // errno that is reported, where it is not the injected one
};

/// Steps that set namespaces up: they end the start only where the policy requires namespaces.
std::vector<Row> namespace_rows();

/// Steps of the supervisor and of the child, whatever the profile but for the two that make the script's own ruleset.
std::vector<Row> spawn_rows();
inline bool makes_ruleset(Step step) { return step == Step::landlock_create || step == Step::landlock_rule; }

/// A spawn that must fail: names the step, and nothing runs.
void expect_refused(const Row& row, const Policy& policy);
void expect_refused(const Row& row, const Policy& policy, const std::string& program,
                    const std::vector<core::Fd>& more);

}  // namespace heddle::jail

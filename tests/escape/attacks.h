// The hostile program, jailed and free, and what of it the policies of Heddle's own programs refuse.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include "host.h"
#include "tests/jail/world.h"

namespace heddle::jail {

inline constexpr int kKilled = -SIGSYS;      // ended by the filter
inline constexpr int kDenied = -1000;        // EPERM and told; kKilled where nobody is told
inline constexpr int kExecuted = 1'000'000;  // an exec attack's success

/// 0 or the errno that the attack reported, kExecuted, or minus the signal that ended it.
int attack_jailed(Supervisor& supervisor, const Policy& policy, const char* stage, const std::string& name,
                  const std::string& parameter);
/// Under the script policy.
int attack_jailed(Supervisor& supervisor, const char* stage, const std::string& name, const std::string& parameter,
                  Need namespaces = Need::if_available);
int attack_free(const std::string& name, const std::string& parameter);

enum class Control : std::uint8_t {
  works,           ///< free, it must work
  works_for_root,  ///< free and as root
  depends,         ///< on the kernel's configuration: nothing is asked of it
};

struct AttackRow {
  const char* name;
  const char* parameter;
  int confined;  ///< under the script policy
  Control control;
};

const std::vector<AttackRow>& attack_rows();

std::string outcome_words(int outcome);
void expect_outcome(int outcome, int expected, const AttackRow& row);

}  // namespace heddle::jail

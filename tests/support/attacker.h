// One attack: tries it, and gives 0 when it worked or the errno that refused it. What the filter kills never returns.
#pragma once

#include <string>

namespace heddle::attacker {

struct Attack {
  const char* name;
  const char* what;  ///< for people
  int (*attempt)(const std::string& parameter);
};

/// A UNIX socket's path, a number, or nothing: what each takes stands at its table.
extern const Attack kFileAttacks[];
extern const Attack kSocketAttacks[];
extern const Attack kProcessAttacks[];
extern const Attack kMemoryAttacks[];
extern const Attack kSharedAttacks[];

/// The tables end with a row without a name. nullptr when there is no such attack.
const Attack* find_attack(const std::string& name);

/// errno when `result` says failure.
int outcome(long result);

}  // namespace heddle::attacker

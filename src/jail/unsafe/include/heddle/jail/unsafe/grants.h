// What of an observed call (Denial::left_to_landlock) a policy grants: the reason that Landlock, or the file's mode,
// must have had. Judged afterwards and from outside, by a path that the program could have changed: for a report, never
// for a decision.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "heddle/jail/denial.h"
#include "heddle/jail/unsafe/program_grants.h"

namespace heddle::jail {

/// Bits that the mode of a file, or of a folder on the way to it, lacks for a user.
struct ModeFault {
  std::string path;
  char who = 'o';          ///< which of the mode's classes the user is in, as chmod(1) has it: u, g, o
  std::string bits;        ///< of "rwx", those that are missing
  bool changeable = true;  ///< by the caller: the owner, or root
};

/// What a program wanted, and whether the policy and the file let it.
struct PathVerdict {
  enum class Reason : std::uint8_t {
    none,     ///< granted, or nothing to be refused
    unknown,  ///< the path could not be read whole, or it names nothing that a grant could: a stream of the program's
              ///< own (/dev/stdout), the terminal that it does not have
    absent,   ///< there is nothing of that name
    not_granted,  ///< no grant covers it: Landlock refused it
    mode,         ///< granted, and the file's mode, or a folder's above it, refuses this user
  };
  Reason reason = Reason::none;
  Access access = Access::read;
  std::string path;       ///< absolute, symbolic links followed; for a report
  std::string grant;      ///< not_granted: what to grant `access`; a folder where something was to be made or removed
  bool mode_too = false;  ///< not_granted: and the mode is against it as well
  std::vector<ModeFault> faults = {};  ///< of the mode, from the top; none where something else than modes refuses it
};

class Grants {
 public:
  /// Of a policy made of `granted`.
  explicit Grants(const ProgramGrants& granted);

  /// `user`: whom the guest runs as; `own_identity`: not the caller.
  [[nodiscard]] PathVerdict judge(const Denial& denial, uid_t user, bool own_identity) const;

  /// Where the program lies that the call was to execute, symbolic links followed; empty where there is no such file,
  /// or it is not known.
  [[nodiscard]] static std::string program_of(const Denial& denial);

 private:
  [[nodiscard]] bool covers(const std::string& path, Access access, bool in_folder) const;

  std::vector<PathGrant> grants_;        // where they lie
  std::vector<std::string> executable_;  // files: the program and its loader
};

}  // namespace heddle::jail

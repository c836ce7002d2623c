// What the tests of the jail share: a supervisor (real, or under injected failures), guests and what they say.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "heddle/jail/supervisor.h"
#include "heddle/wire/channel.h"

namespace heddle::jail {

inline const std::string kSupervisor = HEDDLE_LIBEXEC_DIR "/heddle-supervisor";
inline const std::string kTestPrograms = HEDDLE_TEST_LIBEXEC_DIR "/";

inline constexpr unsigned kAll = ~0U;  ///< for Injection::When::mask

/// One system call that answers with `error` (0: lies that it worked) in the supervisor and its guests.
struct Injection {
  struct When {
    unsigned argument;
    unsigned mask;
    unsigned value;
  };
  long number = 0;
  int error = 0;
  std::vector<When> when;
};

/// What the supervisor finds around itself.
enum class Outer : std::uint8_t {
  nothing,  ///< but the injections
  listens,  ///< a filter with a listener, as a container runtime's: a second listener is EBUSY
};

/// The supervisor's path, standing in for the real one: starts it under these injections. Removed with the object.
class InjectedSupervisor {
 public:
  explicit InjectedSupervisor(const std::vector<Injection>& injections, Outer outer = Outer::nothing);
  InjectedSupervisor(const InjectedSupervisor&) = delete;
  InjectedSupervisor& operator=(const InjectedSupervisor&) = delete;
  ~InjectedSupervisor();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string folder_;
  std::string path_;
};

core::Result<Supervisor> start_supervisor(const std::string& path = kSupervisor, const CgroupOptions& cgroup = {});

/// With HEDDLE_TEST_PREPARED in the environment: has a child ready for the guest. Where that cannot be had, because of
/// a failure that a test injects or of this host, the guest is made from nothing.
void prepare_if_asked(Supervisor& supervisor, const Policy& policy);

/// A guest and the host's end of its channel.
struct Started {
  Guest guest;
  wire::Channel channel;
};
core::Result<Started> start_guest(Supervisor& supervisor, const std::string& program,
                                  const std::vector<std::string>& arguments, const Limits& limits = {},
                                  const DenialOptions& denials = {});

core::Result<Started> start_guest(Supervisor& supervisor, const std::string& program,
                                  const std::vector<std::string>& arguments, const Policy& policy);

/// "bare": without the last steps, which would close its /proc to us as an ordinary user. Ready.
core::Result<Started> start_bare(Supervisor& supervisor, const Policy& policy);

/// The next message, or "gone" when the guest closed or ended without one. Waits long.
wire::Message next_message(wire::Channel& channel);

/// How the guest ended; fails the test when it does not end.
Death wait_death(Guest& guest);

/// Polls until the process no longer exists in any form (reaped), or gives up after some seconds.
bool gone(pid_t pid);

}  // namespace heddle::jail

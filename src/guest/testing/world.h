// What the tests of guests share: a supervisor that can be made to fail, and guests that answer.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "heddle/guest/process.h"

namespace heddle::guest {

/// Stands in for heddle-supervisor at a path of its own; what it becomes is decided at each start.
class StandIn {
 public:
  StandIn();
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;
  ~StandIn();

  [[nodiscard]] jail::SupervisorOptions options() const;
  void be_real() const;
  /// Ends as soon as it is started.
  void be_bad() const;
  /// How often it was started while it was bad.
  [[nodiscard]] int bad_starts() const;

 private:
  void become(const std::string& program) const;
  std::string folder_;
};

/// tests/support/answerer.cc, or a worker that starts badly: "heddle-rogue-exits".
[[nodiscard]] jail::Program test_program(const std::string& name = "heddle-test-answerer");
[[nodiscard]] jail::Policy test_policy();

[[nodiscard]] std::shared_ptr<Host> make_host();

/// Kills every supervisor of this process; none runs any more then, and none of their guests.
void kill_supervisors();

}  // namespace heddle::guest

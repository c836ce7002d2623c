// Witness: to whom a boundary tells what it did around a call, so that it becomes facts. What a guest says about itself
// does not belong here: the kernel's, the supervisor's and the broker's word does.
#pragma once

#include <cstdint>
#include <string>

namespace heddle::effect {

/// Did the guest go on after the refusal, or was it ended for it?
enum class AfterDenial : std::uint8_t { went_on, ended };

/// The kernel refused the guest something.
struct AccessDenial {
  std::string syscall;  ///< "openat"
  std::string object;   ///< a path or an address; empty where the kernel does not tell
  std::string rule;     ///< the policy's name for what refused
  AfterDenial after = AfterDenial::went_on;
};

/// The host refused the guest a connection.
struct EgressDenial {
  std::string host;
  std::uint16_t port = 0;
  std::string address;  ///< empty when none was looked up
  std::string rule;
  std::string reason;
};

/// Thread-safe; used only while the call runs that it was given with.
class Witness {
 public:
  Witness() = default;
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  virtual ~Witness();

  virtual void access_denied(AccessDenial denial) = 0;
  virtual void egress_denied(EgressDenial denial) = 0;
  /// What was really enforced, a JSON value.
  virtual void jail_applied(std::string report_json) = 0;
  /// What the guest wrote to its console, [{"level":…,"text":…}]; `cut`: there was more. It counts against the flow's
  /// bytes. Who does not override it keeps none.
  virtual void console(std::string lines_json, bool cut);
};

}  // namespace heddle::effect

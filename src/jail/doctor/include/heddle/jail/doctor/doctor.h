// Doctor: what a Machine means for Heddle as it is today, layer by layer (JAIL-13).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/jail/doctor/machine.h"

namespace heddle::jail {

struct Layer {
  enum class Need : std::uint8_t {
    required,  ///< without it no script worker starts
    further,   ///< stands behind or beside the required ones
  };
  enum class State : std::uint8_t {
    enforced,   ///< on every script worker that is started here
    available,  ///< this machine has it; this version of Heddle does not apply it
    missing,    ///< this machine does not have it, or does not let us
  };
  const char* id = "";    ///< stable: "landlock_files"
  const char* name = "";  ///< for people
  Need need = Need::further;
  State state = State::missing;
  std::string version;  ///< "ABI 7"; empty where there is none to tell
  std::string reason;   ///< why it is not enforced, and what stands in its place
  std::string advice;   ///< what the operator can do; empty when there is nothing
};

struct Diagnosis {
  std::vector<Layer> layers;   ///< required ones first, in a fixed order
  bool script_worker = false;  ///< every required layer is enforced, and a worker was seen to be
};

/// Which further layers the jail applies to a script worker. Whoever builds one in says so here; a test compares this
/// with a living guest.
struct Applied {
  bool namespaces = false;
  bool notifications = false;
  bool cgroups = false;
};
inline constexpr Applied kApplied{/*namespaces=*/true, /*notifications=*/true, /*cgroups=*/true};

[[nodiscard]] Diagnosis diagnose(const Machine& machine, const Applied& applied = kApplied);

/// "enforced", "available", "missing"; "required", "further": stable.
[[nodiscard]] const char* state_name(Layer::State state) noexcept;
[[nodiscard]] const char* need_name(Layer::Need need) noexcept;

}  // namespace heddle::jail

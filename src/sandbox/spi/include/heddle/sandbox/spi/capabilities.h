// What a backend says about itself. Each word is a promise: the effect decides by it whether the backend may be used,
// and the conformance kit checks it against what the backend does.
#pragma once

#include <cstdint>
#include <string>

namespace heddle::sandbox::spi {

enum class Network : std::uint8_t {
  none = 1,   ///< a script reaches no network at all
  allowlist,  ///< it reaches what the backend's operator listed
  open,       ///< it may reach anything
};

enum class WallClock : std::uint8_t {
  hard = 1,  ///< a run is ended at its deadline or its stop, whatever the script does
  soft,      ///< a script that does not cooperate may run on
};

/// The defaults are the worst case. Claim more only once the kit passes with the claim.
struct Capabilities {
  std::string language;  ///< lower case: "javascript", "python"; required
  Network network = Network::open;
  WallClock wall_clock = WallClock::soft;
  bool memory = false;         ///< Limits::memory_bytes is enforced; without it a script can exhaust the backend's host
  bool cpu = false;            ///< a budget of CPU time is enforced, apart from the wall clock
  bool fresh_per_run = false;  ///< nothing that a run leaves behind is seen by a later one
};

}  // namespace heddle::sandbox::spi

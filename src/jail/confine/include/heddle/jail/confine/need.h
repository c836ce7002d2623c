// How much a policy insists on a layer that not every machine has.
#pragma once

#include <cstdint>

namespace heddle::jail {

enum class Need : std::uint8_t {
  off,           ///< not asked for
  if_available,  ///< used where the host permits it; where it does not, what refused it is reported
  required,      ///< without it the guest is not started
};

}  // namespace heddle::jail

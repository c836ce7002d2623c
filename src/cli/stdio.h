// The three standard streams as the command found them.
#pragma once

#include "heddle/core/result.h"
#include "source.h"

namespace heddle::cli {

/// Opens /dev/null for those of the descriptors 0 to 2 that are closed, before any other is opened: one of ours that
/// took the number of a closed one would be read as input or written to as output. For reading only as 1 and 2, so that
/// what is written there is missed. Gives what 0 was.
[[nodiscard]] core::Result<Stdin> complete_stdio();

}  // namespace heddle::cli

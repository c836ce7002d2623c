// For the stub that starts foreign programs, and nobody else: the filter alone. No second ruleset, since the program is
// still to be executed; memory may become executable.
#pragma once

#include "heddle/jail/confine/step.h"

namespace heddle::jail {

/// Loads the sealed filter at kFilterFd for good and makes the calling process not dumpable. step none: success.
[[nodiscard]] Failure load_filter_only() noexcept;

}  // namespace heddle::jail

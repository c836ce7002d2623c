// For the stub that starts foreign programs, and nobody else: the filter alone. No second ruleset, since the program is
// still to be executed; memory may become executable.
#pragma once

#include "heddle/jail/confine/step.h"

namespace heddle::jail {

/// Loads the sealed filter at kFilterFd for good, hands its listener over kNotifyFd to the supervisor, and makes the
/// calling process not dumpable. Descriptors of the stub's own begin after kNotifyFd. step none: success.
[[nodiscard]] Failure load_filter_only() noexcept;

}  // namespace heddle::jail

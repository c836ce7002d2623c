// Why a host refuses namespaces, in words, and what its operator can do.
#pragma once

#include <string>

#include "heddle/jail/confine/step.h"

namespace heddle::jail {

/// Starts in lower case, ends without a full stop.
[[nodiscard]] std::string why_no_namespaces(const Failure& failure);

}  // namespace heddle::jail

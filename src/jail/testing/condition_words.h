// Conditions on arguments of system calls in words: "`prot` without PROT_EXEC".
#pragma once

#include <string>

#include "heddle/jail/syscalls.h"

namespace heddle::jail {

/// Bits and values that have no name here are numbers.
[[nodiscard]] std::string condition_words(const std::string& call, const Condition& condition);

}  // namespace heddle::jail

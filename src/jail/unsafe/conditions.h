// What the tables of the profiles write their conditions with.
#pragma once

#include "heddle/jail/syscalls.h"

namespace heddle::jail {

inline constexpr std::uint64_t kLow32 = 0xFFFFFFFF;

constexpr Condition is(unsigned argument, std::uint64_t value) { return {argument, kLow32, value}; }

}  // namespace heddle::jail

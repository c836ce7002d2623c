#pragma once

#include <string>

#include "table.h"

namespace heddle::demo {

/// A hostile native program under the worker's own policy, each attack beside its control: the same program without a
/// jail, where it must succeed. False when the jail could not be had.
bool run_native_attacks(const std::string& supervisor, const std::string& attacker, Table& table);

}  // namespace heddle::demo

// A text that is the same for two JSON values exactly when JSON Schema calls them equal.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "work.h"

namespace heddle::effect {

/// Appends the key; false when the work is over, or the text would be longer than `longest`. 1 and 1.0 are equal,
/// 2^63 and a double that is near it are not; the order of members does not count.
bool append_key(const nlohmann::json& value, std::string& out, std::size_t longest, Work& work);

}  // namespace heddle::effect

// A value held against a schema.
#pragma once

#include <string>

#include "schema_node.h"
#include "work.h"

namespace heddle::effect {

/// True when the value has the shape. When not, and the work is not given up, `why` says where and what, in one line
/// that is not bounded: the first difference that was found. Time and memory are bounded by the work and the value.
[[nodiscard]] bool has_shape(const CompiledSchema& schema, const nlohmann::json& value, Work& work, std::string& why);

}  // namespace heddle::effect

// The formats that are checked: those of RFC 3339. Every other one is an annotation, as draft 7 allows (7.2).
#pragma once

#include <string_view>

#include "schema_node.h"

namespace heddle::effect {

[[nodiscard]] bool has_format(Format format, std::string_view text);

}  // namespace heddle::effect

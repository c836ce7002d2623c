#pragma once

#include <string_view>

namespace heddle::sandbox::quickjs {

/// One JSON value in well-formed UTF-8 and nothing else (RFC 8259). Needs no stack for deep nesting.
[[nodiscard]] bool is_json_text(std::string_view text);

}  // namespace heddle::sandbox::quickjs

// Canonical JSON (RFC 8785): one text for one value.
#pragma once

#include <string>
#include <string_view>

#include "heddle/core/result.h"

namespace heddle::effect {

/// Errc::malformed for what is not I-JSON (RFC 7493): a repeated name, a lone surrogate, too deep, not JSON.
[[nodiscard]] core::Result<std::string> canonical_json(std::string_view text);

}  // namespace heddle::effect

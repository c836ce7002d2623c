// What a schema must not do, and what it makes a validator do, found before anything is validated with it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "heddle/core/result.h"

namespace heddle::effect {

struct SchemaUse {
  bool matches_text = false;  ///< pattern, patternProperties or format
  bool unique_items = false;
};

/// Errc::malformed for regular expressions that do not compile, references that leave the document or lead nowhere, and
/// schemas that refer to themselves for the same part of a value, on which a validator would not end.
[[nodiscard]] core::Result<SchemaUse> check_schema(const nlohmann::json& schema);

}  // namespace heddle::effect

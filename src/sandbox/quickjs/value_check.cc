#include "value_check.h"

#include <nlohmann/json.hpp>

namespace heddle::sandbox::quickjs {

bool is_json_text(std::string_view text) { return nlohmann::json::accept(text.begin(), text.end()); }

}  // namespace heddle::sandbox::quickjs

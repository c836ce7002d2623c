// The engine's JSON text made valid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace heddle::engine {

/// JSON text in which every lone surrogate, escaped (`\ud800`) or encoded, became U+FFFD. Everything else is as it was.
[[nodiscard]] std::string storable_json(std::string_view text);

}  // namespace heddle::engine

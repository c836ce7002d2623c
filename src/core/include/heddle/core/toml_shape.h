// What a TOML parser that recurses may be given: a key of 200,000 parts is a table in a table 200,000 times, and ends
// the process when it is taken down (TOML v1.0.0, "Keys").
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace heddle::core {

inline constexpr std::size_t kMostTomlParts = 16;    ///< of a dotted key or of a table's name
inline constexpr std::size_t kMostTomlNesting = 16;  ///< arrays and inline tables in one another

struct TomlFault {
  std::size_t offset = 0;  ///< in bytes
  const char* message = nullptr;
};

/// Where the text is deeper than that. What else is wrong with it is the parser's to say; up to there this reads as
/// the parser does. Takes no stack and no memory.
[[nodiscard]] std::optional<TomlFault> too_deep_toml(std::string_view text) noexcept;

}  // namespace heddle::core

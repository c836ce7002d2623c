// The version of what lies in a journal: its kinds of facts, their fields, and the tables that hold them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/core/result.h"

namespace heddle::journal {

/// Semantic: a new kind or a new optional field raises MINOR, anything else raises MAJOR (JRN-1).
struct SchemaVersion {
  std::uint32_t major_version = 0;
  std::uint32_t minor_version = 0;
  std::uint32_t patch_version = 0;

  friend auto operator<=>(const SchemaVersion&, const SchemaVersion&) = default;  // NOLINT(modernize-use-nullptr)

  [[nodiscard]] std::string text() const;
  /// "1.0.0" and nothing else: no sign, no leading zero, no blank.
  [[nodiscard]] static std::optional<SchemaVersion> parse(std::string_view text);
};

/// What this build writes, and the newest that it understands in full (docs/formats/journal.md).
inline constexpr SchemaVersion kSchema{1, 1, 0};

/// Errc::unsupported, naming both versions, when `found` is of a newer MAJOR than `kSchema`; a newer MINOR is fine.
/// Errc::damaged when `found` is no version.
[[nodiscard]] core::Result<SchemaVersion> readable_schema(std::string_view found);

/// Errc::unsupported for the journal `name`, whose tables are those that builds had before anything was released.
[[nodiscard]] core::Error made_before_release(std::string_view name);

}  // namespace heddle::journal

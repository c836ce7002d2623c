// Shape: what a script's result must look like, a JSON Schema (draft 7) that its caller declares.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/core/result.h"
#include "heddle/effect/core/content_address.h"

namespace heddle::effect {

/// SHA-256 of the schema in canonical JSON (RFC 8785): the same for two texts of one schema. Errc::malformed when it is
/// not JSON, or has a name twice.
[[nodiscard]] core::Result<ContentAddress> shape_hash(std::string_view schema_json);

/// A compiled schema. Immutable, thread-safe.
///
/// Values come from scripts that nobody trusts, so what would let a value keep the validator busy or overflow its stack
/// is a mismatch: where the schema has a regular expression or a format, strings over kMaxMatchedBytes; where it has
/// uniqueItems, arrays over kMaxUniqueItems.
class Shape {
 public:
  static constexpr std::size_t kMaxSchemaBytes = std::size_t{256} << 10;
  static constexpr std::size_t kMaxMatchedBytes = 4096;
  static constexpr std::size_t kMaxUniqueItems = 2048;

  /// Errc::malformed with the reason: not a schema, a regular expression that does not compile, a reference out of the
  /// document or to nowhere, a schema that refers to itself without going deeper into the value.
  [[nodiscard]] static core::Result<Shape> compile(std::string_view schema_json);

  [[nodiscard]] const ContentAddress& hash() const noexcept;

  /// Why the value (compact JSON) does not have the shape, in one bounded line; nothing when it has.
  [[nodiscard]] std::optional<std::string> mismatch(std::string_view value_json) const;

 private:
  struct Compiled;
  explicit Shape(std::shared_ptr<const Compiled> compiled);
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace heddle::effect

// Shape: what a script's result must look like, a JSON Schema (draft 7) that its caller declares.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "heddle/core/clock.h"
#include "heddle/core/result.h"
#include "heddle/effect/core/content_address.h"

namespace heddle::effect {

/// SHA-256 of the schema in canonical JSON (RFC 8785): the same for two texts of one schema. Errc::malformed when it is
/// not JSON, or has a name twice.
[[nodiscard]] core::Result<ContentAddress> shape_hash(std::string_view schema_json);

/// A compiled schema. Immutable, thread-safe.
///
/// Values come from scripts that nobody trusts, and a schema may come with them. What is checked takes time linear in
/// the value but for references and combinations, which can multiply: every check looks at stop and deadline, and has a
/// budget of steps behind them. Regular expressions are ECMAScript's by code points (flag u) and never backtrack; what
/// that rules out (look-around, back references) is refused when the schema is read.
class Shape {
 public:
  static constexpr std::size_t kMaxSchemaBytes = std::size_t{256} << 10;

  /// Errc::malformed says what is wrong and where: not a schema of draft 7, a regular expression that is none, is too
  /// large or needs to backtrack, a reference out of the document or to nowhere, a schema that refers to itself without
  /// going deeper into the value.
  [[nodiscard]] static core::Result<Shape> compile(std::string_view schema_json);

  [[nodiscard]] const ContentAddress& hash() const noexcept;

  struct Verdict {
    enum class Kind : std::uint8_t {
      fits,
      differs,   ///< or cannot be checked within the budget
      given_up,  ///< the stop was requested or the deadline passed: nothing is known
    };
    Kind kind = Kind::given_up;
    std::string why;  ///< differs: where and what, one bounded line
    [[nodiscard]] bool fits() const noexcept { return kind == Kind::fits; }
  };
  /// Of a value as compact JSON.
  [[nodiscard]] Verdict check(std::string_view value_json, const std::stop_token& stop, core::Deadline deadline) const;

 private:
  struct Compiled;
  explicit Shape(std::shared_ptr<const Compiled> compiled);
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace heddle::effect

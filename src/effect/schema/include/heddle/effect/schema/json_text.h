// JSON as text: the form in which a value comes out of a parse and a write, without building it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/json.h"
#include "heddle/core/result.h"

namespace heddle::effect {

enum class JsonVerdict {
  good,
  malformed,  ///< not one JSON value in UTF-8 (RFC 8259), or a number that no double holds
  too_large,  ///< well-formed; its compact text is over the ceiling
  too_deep,   ///< well-formed; nested deeper than core::kMaxJsonDepth
};

struct CompactJson {
  JsonVerdict verdict = JsonVerdict::malformed;
  std::string text;             ///< for `good`
  std::string why;              ///< for `malformed`
  bool repeated_names = false;  ///< an object named a member twice
};

/// The value's round trip: no white space; of members with one name the last value, at the place of the first; numbers
/// in ECMAScript's shortest form, 64-bit integers exactly; an escaped lone surrogate is U+FFFD (JRN-4). Iterative.
[[nodiscard]] CompactJson compact_json(std::string_view text, std::size_t ceiling = std::string::npos);

struct JsonMember {
  std::string name;
  std::string value;  ///< compact JSON text
};
/// The members of an object; Errc::malformed when it is none, or names one twice.
[[nodiscard]] core::Result<std::vector<JsonMember>> split_object(std::string_view text);

/// A finite double as ECMAScript's Number::toString and RFC 8785 write it.
[[nodiscard]] std::string ecmascript_number(double value);

}  // namespace heddle::effect

// A regular expression of a JSON Schema, in ECMAScript's syntax, on an engine that does not backtrack (RE2).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "heddle/core/result.h"

namespace heddle::effect {

/// Immutable, thread-safe. Matches as ECMAScript does with the flag u: by code points, `^` and `$` at the ends of the
/// text, `.` without line ends. A search takes time linear in the text, times program_size() at worst.
class Pattern {
 public:
  static constexpr std::size_t kMaxBytes = 4096;
  static constexpr int kMaxMemory = 1 << 20;  ///< of the compiled program and of what a search keeps

  /// Errc::malformed says what and where: no ECMAScript, too large, or what RE2 has not or understands differently
  /// (look-around, back references, some escapes).
  [[nodiscard]] static core::Result<Pattern> compile(std::string_view source);

  /// Anywhere in the text (well-formed UTF-8).
  [[nodiscard]] bool found_in(std::string_view text) const;
  [[nodiscard]] std::size_t program_size() const noexcept;

 private:
  struct Compiled;
  explicit Pattern(std::shared_ptr<const Compiled> compiled);
  std::shared_ptr<const Compiled> compiled_;
};

/// The same expression in RE2's syntax.
[[nodiscard]] core::Result<std::string> re2_syntax(std::string_view source);

}  // namespace heddle::effect

// SQL that can only come from the source code.
#pragma once

#include <cstddef>

namespace heddle::journal {

/// A statement written out in the source. Nothing that is known only at run time converts to it, so no text of a
/// guest's or user's can ever become SQL; values are bound as parameters.
class Sql {
 public:
  template <std::size_t N>
  consteval Sql(const char (&text)[N]) : text_(text), size_(N - 1) {  // NOLINT(google-explicit-constructor)
    // Reading it is what keeps out arrays that are filled at run time: their address is a constant, their text is not.
    for (std::size_t i = 0; i < size_; ++i) {
      if (text[i] == '\0') has_nul();
    }
    if (text[size_] != '\0') has_no_end();
  }

  [[nodiscard]] constexpr const char* text() const noexcept { return text_; }  ///< ends in NUL
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }

 private:
  static void has_nul() {}  // not constant expressions, so that calling one is an error of the compiler's
  static void has_no_end() {}

  const char* text_;
  std::size_t size_;
};

}  // namespace heddle::journal

// ContentAddress: the SHA-256 of some bytes, by which they are named and recognised.
#pragma once

#include <string>
#include <string_view>

#include "heddle/core/digest/digest.h"
#include "heddle/core/result.h"

namespace heddle::effect {

class ContentAddress {
 public:
  explicit ContentAddress(const core::Digest& digest) noexcept : digest_(digest) {}

  [[nodiscard]] static ContentAddress of(std::string_view bytes);

  /// "sha256:" and 64 lower-case hexadecimal digits, nothing else; Errc::malformed otherwise.
  [[nodiscard]] static core::Result<ContentAddress> parse(std::string_view text);

  [[nodiscard]] const core::Digest& digest() const noexcept { return digest_; }
  [[nodiscard]] std::string hex() const;   ///< the 64 digits
  [[nodiscard]] std::string text() const;  ///< as parse() takes it

  friend bool operator==(const ContentAddress&, const ContentAddress&) = default;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the comparison with zero for a pointer
  friend auto operator<=>(const ContentAddress&, const ContentAddress&) = default;

 private:
  core::Digest digest_;
};

}  // namespace heddle::effect

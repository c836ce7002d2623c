// SHA-256 (FIPS 180-4): names of contents, and the chain that ties facts together. By OpenSSL; no function has state of
// its own, so that all are thread-safe.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::core {

struct Digest {
  std::array<unsigned char, 32> bytes{};

  friend auto operator<=>(const Digest&, const Digest&) = default;  // NOLINT(modernize-use-nullptr)

  [[nodiscard]] std::string hex() const;  ///< 64 lower-case digits
  /// Of 64 lower-case digits; nothing for other text.
  [[nodiscard]] static std::optional<Digest> from_hex(std::string_view text);
  /// The 32 bytes as a store keeps them.
  [[nodiscard]] std::string_view raw() const noexcept;
  [[nodiscard]] static std::optional<Digest> from_raw(std::string_view raw);
};

[[nodiscard]] Digest sha256(std::string_view bytes);

/// The same over bytes that come in pieces. Made, fed and finished once, by one thread.
class Sha256 {
 public:
  Sha256();
  Sha256& add(std::string_view bytes);
  [[nodiscard]] Digest finish();

 private:
  // SHA256_CTX of OpenSSL, which is kept out of this header.
  alignas(8) std::array<unsigned char, 112> state_;
};

}  // namespace heddle::core

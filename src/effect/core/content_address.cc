#include "heddle/effect/core/content_address.h"

// SHA256() looks its implementation up anew at each call, and drags the whole library in; these three do neither.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include "heddle/core/check.h"

namespace heddle::effect {
namespace {

constexpr std::string_view kPrefix = "sha256:";
constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

ContentAddress ContentAddress::of(std::string_view bytes) {
  static_assert(std::tuple_size_v<Digest> == SHA256_DIGEST_LENGTH);
  Digest digest{};
  SHA256_CTX state;
  HEDDLE_CHECK(::SHA256_Init(&state) == 1 && ::SHA256_Update(&state, bytes.data(), bytes.size()) == 1 &&
               ::SHA256_Final(digest.data(), &state) == 1);
  return ContentAddress(digest);
}

core::Result<ContentAddress> ContentAddress::parse(std::string_view text) {
  Digest digest{};
  bool good = text.size() == kPrefix.size() + 2 * digest.size() && text.substr(0, kPrefix.size()) == kPrefix;
  for (std::size_t i = 0; good && i < digest.size(); ++i) {
    const std::size_t high = kDigits.find(text[kPrefix.size() + 2 * i]);
    const std::size_t low = kDigits.find(text[kPrefix.size() + 2 * i + 1]);
    good = high != std::string_view::npos && low != std::string_view::npos;
    if (good) digest.at(i) = static_cast<std::uint8_t>(high << 4U | low);
  }
  if (!good) {
    return core::make_error(core::Errc::malformed, "read a content address",
                            "it must be sha256: and 64 lower-case hexadecimal digits");
  }
  return ContentAddress(digest);
}

std::string ContentAddress::hex() const {
  std::string text;
  text.reserve(2 * digest_.size());
  for (const std::uint8_t byte : digest_) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 0xFU];
  }
  return text;
}

std::string ContentAddress::text() const { return std::string(kPrefix) + hex(); }

}  // namespace heddle::effect

#include "heddle/journal/core/digest.h"

// SHA256() looks its implementation up anew at each call, and drags the whole library in; these three do neither.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <algorithm>

#include "heddle/core/check.h"

namespace heddle::journal {

std::string Digest::hex() const {
  constexpr std::string_view digits_of_hex = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) {
    text += digits_of_hex[byte >> 4U];
    text += digits_of_hex[byte & 15U];
  }
  return text;
}

std::string_view Digest::raw() const noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};  // unsigned char and char alias
}

std::optional<Digest> Digest::from_raw(std::string_view raw) {
  Digest digest;
  if (raw.size() != digest.bytes.size()) return std::nullopt;
  std::transform(raw.begin(), raw.end(), digest.bytes.begin(), [](char c) { return static_cast<unsigned char>(c); });
  return digest;
}

Digest sha256(std::string_view bytes) {
  Digest digest;
  SHA256_CTX state;
  HEDDLE_CHECK(::SHA256_Init(&state) == 1 && ::SHA256_Update(&state, bytes.data(), bytes.size()) == 1 &&
               ::SHA256_Final(digest.bytes.data(), &state) == 1);
  return digest;
}

}  // namespace heddle::journal

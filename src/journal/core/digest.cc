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

Digest sha256(std::string_view bytes) { return Sha256().add(bytes).finish(); }

namespace {

SHA256_CTX* context_in(unsigned char* state) { return reinterpret_cast<SHA256_CTX*>(state); }

}  // namespace

Sha256::Sha256() {
  static_assert(sizeof state_ == sizeof(SHA256_CTX) && alignof(Sha256) >= alignof(SHA256_CTX));
  HEDDLE_CHECK(::SHA256_Init(context_in(state_.data())) == 1);
}

Sha256& Sha256::add(std::string_view bytes) {
  HEDDLE_CHECK(::SHA256_Update(context_in(state_.data()), bytes.data(), bytes.size()) == 1);
  return *this;
}

Digest Sha256::finish() {
  Digest digest;
  HEDDLE_CHECK(::SHA256_Final(digest.bytes.data(), context_in(state_.data())) == 1);
  return digest;
}

}  // namespace heddle::journal

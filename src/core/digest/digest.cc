#include "heddle/core/digest/digest.h"

// SHA256() looks its implementation up anew at each call, and drags the whole library in; these three do neither.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <algorithm>

#include "heddle/core/check.h"

namespace heddle::core {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

SHA256_CTX* context_in(unsigned char* state) { return reinterpret_cast<SHA256_CTX*>(state); }

}  // namespace

std::string Digest::hex() const {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::optional<Digest> Digest::from_hex(std::string_view text) {
  Digest digest;
  if (text.size() != 2 * digest.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.bytes.size(); ++i) {
    const std::size_t high = kDigits.find(text[2 * i]);
    const std::size_t low = kDigits.find(text[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    digest.bytes.at(i) = static_cast<unsigned char>(high << 4U | low);
  }
  return digest;
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

}  // namespace heddle::core

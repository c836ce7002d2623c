#include "heddle/effect/core/content_address.h"

namespace heddle::effect {
namespace {

constexpr std::string_view kPrefix = "sha256:";

}  // namespace

ContentAddress ContentAddress::of(std::string_view bytes) { return ContentAddress(core::sha256(bytes)); }

core::Result<ContentAddress> ContentAddress::parse(std::string_view text) {
  if (text.substr(0, kPrefix.size()) == kPrefix) {
    if (const auto digest = core::Digest::from_hex(text.substr(kPrefix.size()))) return ContentAddress(*digest);
  }
  return core::make_error(core::Errc::malformed, "read a content address",
                          "it must be sha256: and 64 lower-case hexadecimal digits");
}

std::string ContentAddress::hex() const { return digest_.hex(); }

std::string ContentAddress::text() const { return std::string(kPrefix) + hex(); }

}  // namespace heddle::effect

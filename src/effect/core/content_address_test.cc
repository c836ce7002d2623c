#include "heddle/effect/core/content_address.h"

#include <gtest/gtest.h>

namespace heddle::effect {
namespace {

// SBX-13: the vectors are NIST's (FIPS 180-4 examples).
TEST(ContentAddress, IsSha256) {
  EXPECT_EQ(ContentAddress::of("").hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(ContentAddress::of("abc").text(),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(ContentAddress::of(std::string(1'000'000, 'a')).hex(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// SBX-13: one spelling for one address.
TEST(ContentAddress, ParsesOneSpelling) {
  const ContentAddress abc = ContentAddress::of("abc");
  EXPECT_EQ(ContentAddress::parse(abc.text()).value(), abc);
  std::string upper = abc.text();
  upper[7] = 'B';
  for (const std::string& bad : {std::string(), abc.hex(), upper, abc.text() + "0", abc.text().substr(0, 70),
                                 "sha512:" + abc.hex(), " " + abc.text(), "sha256:" + std::string(64, 'g')}) {
    const auto parsed = ContentAddress::parse(bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_EQ(parsed.error().code, core::Errc::malformed);
  }
}

}  // namespace
}  // namespace heddle::effect

#include "heddle/core/digest/digest.h"

#include <gtest/gtest.h>

namespace heddle::core {
namespace {

// SBX-13, JRN-5: the vectors are NIST's (FIPS 180-4 examples).
TEST(Digest, IsSha256) {
  EXPECT_EQ(sha256("").hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc").hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')).hex(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(Sha256().add("a").add("").add("bc").finish(), sha256("abc"));
}

TEST(Digest, ReadsBack) {
  const Digest digest = sha256("abc");
  EXPECT_EQ(Digest::from_raw(digest.raw()), digest);
  EXPECT_FALSE(Digest::from_raw("short"));
  EXPECT_EQ(Digest::from_hex(digest.hex()), digest);
  std::string upper = digest.hex();
  upper[0] = 'B';
  for (const std::string& bad : {std::string(), upper, digest.hex() + "0", std::string(64, 'g')}) {
    EXPECT_FALSE(Digest::from_hex(bad)) << bad;
  }
}

}  // namespace
}  // namespace heddle::core

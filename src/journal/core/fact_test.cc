#include "heddle/journal/core/fact.h"

#include <gtest/gtest.h>

namespace heddle::journal {
namespace {

// The numbers that docs/formats/journal.md gives to whoever writes another reader.
TEST(Fact, ChecksumIsTheOneOfTheFormat) {
  const FactView first{1, Time(std::chrono::microseconds(1'700'000'000'000'000)), {1, 0, 0}, "f", "a", "INTENT", "{}"};
  const Digest one = chain({}, first);
  EXPECT_EQ(one.hex(), "617d400bfdd6da6cc2ae490cc5e417792cf520788d0b0df3035478e6a86d1f36");
  const Digest body = sha256("[1]");
  FactView second = first;
  second.sequence = 2;
  second.kind = "OUTCOME";
  second.body = &body;
  EXPECT_EQ(chain(one, second).hex(), "3660c455d97acc6fde5693e42710ac30bf1998d771d8b713485b8ec647cb3f56");
}

TEST(Fact, EveryKindHasANameOfItsOwn) {
  for (int i = 1; i <= static_cast<int>(Kind::snapshot); ++i) {
    const auto kind = static_cast<Kind>(i);
    EXPECT_EQ(kind_from(kind_name(kind)), kind);
  }
  EXPECT_EQ(kind_from("UNKNOWN"), Kind::unknown);
  EXPECT_EQ(kind_from("intent"), Kind::unknown);
}

TEST(Digest, ReadsBack) {
  const Digest digest = sha256("abc");
  EXPECT_EQ(digest.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Digest::from_raw(digest.raw()), digest);
  EXPECT_FALSE(Digest::from_raw("short"));
}

}  // namespace
}  // namespace heddle::journal

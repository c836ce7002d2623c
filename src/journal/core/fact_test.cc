#include "heddle/journal/core/fact.h"

#include <gtest/gtest.h>

namespace heddle::journal {
namespace {

// The numbers that docs/formats/journal.md gives to whoever writes another reader.
TEST(Fact, ChecksumIsTheOneOfTheFormat) {
  const FactView first{1,        1,   Time(std::chrono::microseconds(1'700'000'000'000'000)), {1, 0, 0}, "f", "a",
                       "INTENT", "{}"};
  const Digest one = chain({}, first);
  EXPECT_EQ(one.hex(), "c9e3b5df6ef7a3b73e7a2b7bcfc67f932f77ad730f7bb0a9d196f1380e836696");
  const Digest body = core::sha256("[1]");
  FactView second = first;
  second.sequence = 2;
  second.ordinal = 2;
  second.kind = "OUTCOME";
  second.body = &body;
  EXPECT_EQ(chain(one, second).hex(), "127d14d81c762a17ec3bfed820a3f4813be35687cee042b6c048b54070fc101d");
}

TEST(Fact, EveryKindHasANameOfItsOwn) {
  for (int i = 1; i <= static_cast<int>(Kind::snapshot); ++i) {
    const auto kind = static_cast<Kind>(i);
    EXPECT_EQ(kind_from(kind_name(kind)), kind);
  }
  EXPECT_EQ(kind_from("UNKNOWN"), Kind::unknown);
  EXPECT_EQ(kind_from("intent"), Kind::unknown);
}

}  // namespace
}  // namespace heddle::journal

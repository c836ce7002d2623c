#include "heddle/journal/core/schema.h"

#include <gtest/gtest.h>

namespace heddle::journal {
namespace {

// JRN-1
TEST(SchemaVersion, ReadsWhatItWritesAndNothingElse) {
  EXPECT_EQ(SchemaVersion::parse("1.20.3")->text(), "1.20.3");
  for (const char* bad : {"", "1", "1.0", "1.0.0.0", "1.0.0 ", " 1.0.0", "01.0.0", "1.-1.0", "+1.0.0", "1..0", "a.b.c",
                          "1.0.99999999999"}) {
    EXPECT_FALSE(SchemaVersion::parse(bad)) << bad;
  }
  EXPECT_LT((SchemaVersion{1, 9, 9}), (SchemaVersion{1, 10, 0}));
}

// JRN-1
TEST(SchemaVersion, RefusesANewerMajorByNamingBoth) {
  EXPECT_TRUE(readable_schema("1.999.0").ok());
  const auto refused = readable_schema("2.0.1");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, core::Errc::unsupported);
  EXPECT_NE(refused.error().message().find("2.0.1"), std::string::npos);
  EXPECT_NE(refused.error().message().find(kSchema.text()), std::string::npos);
  EXPECT_EQ(readable_schema("x\x1B").error().code, core::Errc::damaged);
  EXPECT_EQ(readable_schema("0.1.0").error().code, core::Errc::damaged);
}

}  // namespace
}  // namespace heddle::journal

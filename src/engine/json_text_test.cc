#include "json_text.h"

#include <gtest/gtest.h>

namespace heddle::engine {
namespace {

// SBX-15
TEST(JsonTextTest, LoneSurrogatesAreReplaced) {
  EXPECT_EQ(storable_json(R"("plain")"), R"("plain")");
  EXPECT_EQ(storable_json(R"("\ud800")"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(storable_json(R"("\uDC00x\uD83D")"), "\"\xEF\xBF\xBDx\xEF\xBF\xBD\"");
  EXPECT_EQ(storable_json(R"("\ud83d\ude00")"), R"("\ud83d\ude00")");
  EXPECT_EQ(storable_json(R"("\ud83d\ud83d\ude00")"), "\"\xEF\xBF\xBD\\ud83d\\ude00\"");
  EXPECT_EQ(storable_json(R"("\\ud800")"), R"("\\ud800")");
  EXPECT_EQ(storable_json(R"("\\\ud800\n\u0041")"), "\"\\\\\xEF\xBF\xBD\\n\\u0041\"");
  EXPECT_EQ(storable_json("\"\xED\xA0\x80\""), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(storable_json("\"\xFF\xC0\""), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(storable_json("\"\\"), "\"\\");
}

}  // namespace
}  // namespace heddle::engine

#include "json.h"

#include <gtest/gtest.h>

namespace heddle::cli {
namespace {

TEST(JsonTest, FaultsHaveTheirPlace) {
  const auto place = [](std::string_view text) { return fault_text(text, check_json(text).value()); };
  EXPECT_EQ(place("{\n  \"a\": 1,\n}"), "line 3, column 1: a key in quotation marks must stand here");
  EXPECT_EQ(place("[1,\n2"), "line 2, column 2: ',' or ']' must stand here, but the text ends");
  EXPECT_EQ(place("1 x"), "line 1, column 3: there is more after the value");
  EXPECT_EQ(place("[\"\xFF\"]"), "line 1, column 3: byte 2 is not valid UTF-8");
}

TEST(JsonTest, ATerminalHasNothingToObey) {
  EXPECT_EQ(terminal_safe_json("\"\x7F\xC2\x9B\xC2\xA0\xC3\x9B\""), "\"\\u007f\\u009b\xC2\xA0\xC3\x9B\"");
}

}  // namespace
}  // namespace heddle::cli

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

// JAIL-22: the same value, and nothing that a terminal obeys or hides; harmless where it is no JSON either.
TEST(JsonTest, ATerminalHasNothingToObey) {
  EXPECT_EQ(terminal_safe_json("[\"\xE2\x80\xAE\xF3\xA0\x81\x81\xF0\x9F\x98\x80\",\n\t1]"),
            "[\"\\u202e\\udb40\\udc41\xF0\x9F\x98\x80\",\n\t1]");
  EXPECT_EQ(unquote_json(terminal_safe_json("\"\xF3\xA0\x81\x81\"")), "\xF3\xA0\x81\x81");
  EXPECT_EQ(terminal_safe_json("\x1B]0;x\x07\xFF"), "\\u001b]0;x\\u0007\xEF\xBF\xBD");
  EXPECT_EQ(terminal_safe_json("\"\x7F\xC2\x9B\xC2\xA0\xC3\x9B\""), "\"\\u007f\\u009b\xC2\xA0\xC3\x9B\"");
}

// JAIL-22: what is put into an object adds neither members nor lines to it.
TEST(JsonTest, WhatIsEmbeddedStaysOneValue) {
  EXPECT_EQ(embedded_json("{\"a\":\n1}"), "{\"a\": 1}");
  for (const char* text : {"1,\"kind\":\"FORGED\"", "", "{", "\x1B[31m", "\"a\nb\"", "\xFF"}) {
    const std::string one = embedded_json(text);
    EXPECT_FALSE(check_json(one)) << one;
    EXPECT_EQ(one.find('\n'), std::string::npos);
    EXPECT_EQ(one.front(), '"') << one;
  }
}

}  // namespace
}  // namespace heddle::cli

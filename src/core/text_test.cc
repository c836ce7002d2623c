#include "heddle/core/text.h"

#include <gtest/gtest.h>

namespace heddle::core {
namespace {

const std::string kFffd = "\xEF\xBF\xBD";

TEST(Text, KnowsWellFormedUtf8) {
  for (const char* good :
       {"", "a", "h\xC3\xA9", "\xF0\x9F\x98\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(valid_utf8(good)) << good;
  }
  for (const char* bad : {"\x80", "\xC0\xAF", "\xC3", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                          "\xF8\x88\x80\x80\x80", "a\xFF"}) {
    EXPECT_FALSE(valid_utf8(bad)) << bad;
  }
  EXPECT_EQ(invalid_utf8_at("ab\xFFz"), 2U);
}

// The stretches of ASCII that are skipped hide nothing: one bad byte in every place of texts of every length.
TEST(Text, FindsABadByteWhereverItIs) {
  for (std::size_t length = 1; length < 40; ++length) {
    EXPECT_TRUE(valid_utf8(std::string(length, 'x')));
    for (std::size_t at = 0; at < length; ++at) {
      std::string text(length, 'x');
      text[at] = '\x80';
      EXPECT_EQ(invalid_utf8_at(text), at);
      if (at + 1 == length) continue;
      text[at] = '\xC3';
      EXPECT_EQ(invalid_utf8_at(text), at);
      text[at + 1] = '\xA9';
      EXPECT_TRUE(valid_utf8(text));
    }
  }
}

// JRN-4, SBX-6
TEST(Text, BoundsInUtf16UnitsWithoutCuttingACharacter) {
  EXPECT_EQ(bound_text(std::string(3000, 'x')).size(), 2048U);
  EXPECT_EQ(utf16_units("a\xF0\x9F\x98\x80"), 3U);
  EXPECT_EQ(bound_text("a\xF0\x9F\x98\x80z", 2), "a");
  EXPECT_EQ(bound_text("a\xF0\x9F\x98\x80z", 3), "a\xF0\x9F\x98\x80");
}

// JRN-4
TEST(Text, ReplacesWhatCannotBeStored) {
  EXPECT_EQ(bound_text(std::string_view("a\0b", 3)), "a" + kFffd + "b");
  EXPECT_EQ(bound_text("a\xED\xA0\x80z"), "a" + kFffd + "z");
  EXPECT_EQ(bound_text("\xFF\xC3z"), kFffd + kFffd + "z");
  EXPECT_EQ(bound_text("\xE2\x82"), kFffd);
  for (int byte = 0; byte < 256; ++byte) {
    for (int next = 0; next < 256; ++next) {
      const char pair[] = {static_cast<char>(byte), static_cast<char>(next), 'q'};
      const std::string bounded = bound_text(std::string_view(pair, 3));
      EXPECT_TRUE(valid_utf8(bounded));
      EXPECT_EQ(bounded.find('\0'), std::string::npos);
    }
  }
}

TEST(Text, CannotDriveATerminal) {
  EXPECT_EQ(printable_line("a\x1B[31mb\nc\x7F\xC2\x9B"
                           "d"),
            "a [31mb c  d");
  EXPECT_EQ(printable_line("\xFF"), kFffd);
}

TEST(Text, FindsLineAndColumn) {
  const TextPosition p = position_of("one\ntwo\nthree", 10);
  EXPECT_EQ(p.line, 3U);
  EXPECT_EQ(p.column, 3U);
}

}  // namespace
}  // namespace heddle::core

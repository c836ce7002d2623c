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

// JAIL-22: whatever is not seen, or reorders what is.
TEST(Text, HidesNothing) {
  for (const char32_t code :
       {0xADU,   0x34FU,  0x61CU,  0x115FU, 0x180EU,  0x200BU,  0x200DU,  0x200EU,  0x200FU,  0x2028U,
        0x2029U, 0x202AU, 0x202EU, 0x2060U, 0x2064U,  0x2066U,  0x2069U,  0x206FU,  0x2800U,  0x3164U,
        0xFE0FU, 0xFEFFU, 0xFFA0U, 0xFFF9U, 0x1D173U, 0xE0001U, 0xE0041U, 0xE007FU, 0xE0100U, 0xE01EFU}) {
    EXPECT_EQ(seen_as(code), Seen::hidden) << std::hex << static_cast<std::uint32_t>(code);
  }
  for (const char32_t code : {0x0U, 0x9U, 0xAU, 0x1BU, 0x7FU, 0x80U, 0x9BU, 0x9FU}) {
    EXPECT_EQ(seen_as(code), Seen::control) << std::hex << static_cast<std::uint32_t>(code);
  }
  for (const char32_t code : {0x20U, 0x7EU, 0xA0U, 0xACU, 0xAEU, 0x300U, 0x200AU, 0x2010U, 0x202FU, 0x2027U, 0xFFFDU,
                              0x65E5U, 0x1F600U, 0xE1000U}) {
    EXPECT_EQ(seen_as(code), Seen::as_it_is) << std::hex << static_cast<std::uint32_t>(code);
  }
  EXPECT_EQ(printable_line("a\xE2\x80\xAEz \xF3\xA0\x81\x81 gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80\xED\xA0\x80"),
            "a" + kFffd + "z " + kFffd + " gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80" + kFffd + kFffd + kFffd);
}

TEST(Text, DecodesEveryCharacter) {
  for (const auto& [text, code] :
       std::initializer_list<std::pair<const char*, char32_t>>{{"a", 'a'},
                                                               {"\xC3\xBC", 0xFC},
                                                               {"\xE2\x80\xAE", 0x202E},
                                                               {"\xF4\x8F\xBF\xBF", 0x10FFFF},
                                                               {"\xFF", 0xFFFD}}) {
    EXPECT_EQ(code_point_at(text, 0).code, code);
    EXPECT_EQ(code_point_at(text, 0).bytes, std::string_view(text).size());
  }
}

TEST(Text, FindsLineAndColumn) {
  const TextPosition p = position_of("one\ntwo\nthree", 10);
  EXPECT_EQ(p.line, 3U);
  EXPECT_EQ(p.column, 3U);
}

// JRN-4, SBX-25: bounded by bytes, storable, no character cut in half.
TEST(TextTest, BoundsByBytes) {
  EXPECT_EQ(bound_text_bytes("abc", 3), "abc");
  EXPECT_EQ(bound_text_bytes("abc", 2), "ab");
  EXPECT_EQ(bound_text_bytes("a\xC3\xBC", 2), "a");
  EXPECT_EQ(bound_text_bytes("a\xC3\xBC", 3), "a\xC3\xBC");
  EXPECT_EQ(bound_text_bytes(std::string_view("a\0b", 3), 100),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(bound_text_bytes(std::string_view("a\0b", 3), 3), "a");
  EXPECT_EQ(bound_text_bytes("\xED\xA0\x80x", 4), "\xEF\xBF\xBDx");
  EXPECT_EQ(bound_text_bytes("\xFFx", 4), "\xEF\xBF\xBDx");
  EXPECT_EQ(bound_text_bytes("x", 0), "");
}

}  // namespace
}  // namespace heddle::core

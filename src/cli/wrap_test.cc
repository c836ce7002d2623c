#include "wrap.h"

#include <gtest/gtest.h>

#include <random>

#include "heddle/core/text.h"

namespace heddle::cli {
namespace {

TEST(Wrap, Measures) {
  EXPECT_EQ(columns_of("abc"), 3U);
  EXPECT_EQ(columns_of("\xC3\xBC"), 1U);
  EXPECT_EQ(columns_of("\xE6\x97\xA5\xE6\x9C\xAC"), 4U);
  EXPECT_EQ(columns_of("e\xCC\x81"), 1U);
  EXPECT_EQ(columns_of("\xF0\x9F\x98\x80"), 2U);
}

TEST(Wrap, BreaksAtBlanksAndInWordsThatAreTooLong) {
  std::string out;
  add_wrapped(out, "  x ", 4, "one two");
  EXPECT_EQ(out, "  x one two\n");
  out.clear();
  add_wrapped(out, "", 2, std::string(78, 'a') + " bb " + std::string(90, 'c'));
  EXPECT_EQ(out, std::string(78, 'a') + "\n  bb\n  " + std::string(78, 'c') + "\n  " + std::string(12, 'c') + "\n");
  out.clear();
  add_wrapped(out, "a  ", 2, "");
  EXPECT_EQ(out, "a\n");
}

// JRN-7: 80 columns hold whatever the text is.
TEST(Wrap, NoLineIsLonger) {
  std::mt19937 random(5);  // NOLINT(cert-msc51-cpp): the same texts every time
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (auto left = random() % 600; left > 0; --left) text += static_cast<char>(random() % 256);
    std::string out;
    add_wrapped(out, "first ", 8, core::printable_line(core::bound_text(text)));
    for (std::size_t at = 0; at < out.size();) {
      const std::size_t end = out.find('\n', at);
      ASSERT_NE(end, std::string::npos);
      ASSERT_LE(columns_of(std::string_view(out).substr(at, end - at)), kTerminalColumns);
      at = end + 1;
    }
  }
}

}  // namespace
}  // namespace heddle::cli

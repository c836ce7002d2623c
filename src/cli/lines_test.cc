#include "lines.h"

#include <gtest/gtest.h>

#include <vector>

namespace heddle::cli {
namespace {

std::vector<std::string> read(LineBuffer& lines) {
  std::vector<std::string> texts;
  while (auto line = lines.next())
    texts.push_back(std::to_string(line->number) + (line->too_long ? "!" : ":" + line->text));
  return texts;
}

// The same lines, however the bytes come.
TEST(LinesTest, SplitsWhereverTheReadsFall) {
  const std::string text =
      "\xEF\xBB\xBF"
      "one\n\n two \r\n \t \r\n123456\n12345\r\n123456\r\nlast";
  const std::vector<std::string> expected{"1:one", "3: two ", "5!", "6:12345", "7!", "8:last"};
  for (std::size_t step = 1; step <= text.size(); ++step) {
    LineBuffer lines(8 - 3);  // " two " is exactly the ceiling
    std::vector<std::string> all;
    for (std::size_t at = 0; at < text.size(); at += step) {
      lines.feed(std::string_view(text).substr(at, step));
      for (auto& line : read(lines)) all.push_back(std::move(line));
    }
    lines.finish();
    for (auto& line : read(lines)) all.push_back(std::move(line));
    EXPECT_EQ(all, expected) << step;
    EXPECT_FALSE(lines.next());
  }
}

TEST(LinesTest, AnOverlongLastLineCounts) {
  LineBuffer lines(4);
  for (int i = 0; i < 1000; ++i) {
    lines.feed("xxxxxxxxxx");
    EXPECT_FALSE(lines.next());
  }
  lines.finish();
  EXPECT_EQ(read(lines), std::vector<std::string>{"1!"});
}

TEST(LinesTest, NothingGivesNothing) {
  LineBuffer lines(4);
  lines.finish();
  EXPECT_FALSE(lines.next());
}

}  // namespace
}  // namespace heddle::cli

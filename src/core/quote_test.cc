#include "heddle/core/quote.h"

#include <gtest/gtest.h>

namespace heddle::core {
namespace {

// JAIL-22: it says what it means to TOML, is seen whole, and is no command between double quotes.
TEST(Quote, TomlStringsMeanWhatTheyHold) {
  EXPECT_EQ(toml_string("/srv/data"), "\"/srv/data\"");
  EXPECT_EQ(toml_string("gr\xC3\xBC\xC3\x9F"), "\"gr\xC3\xBC\xC3\x9F\"");
  EXPECT_EQ(toml_string("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(toml_string("$(id)`id`!!"), R"("\u0024(id)\u0060id\u0060\u0021\u0021")");
  EXPECT_EQ(toml_string("\n\x1B\x7F\xC2\x9B"), R"("\u000A\u001B\u007F\u009B")");
  EXPECT_EQ(toml_string("\xE2\x80\xAE\xF3\xA0\x81\x81"), R"("\u202E\U000E0041")");
  EXPECT_EQ(toml_string("a\xFF"), std::nullopt);
}

// JAIL-22
TEST(Quote, ShellWordsAreOneWordOrNone) {
  EXPECT_EQ(shell_word("/srv/data-1.csv"), "/srv/data-1.csv");
  EXPECT_EQ(shell_word("a;touch X;#"), "'a;touch X;#'");
  EXPECT_EQ(shell_word("$(id)`!~*"), "'$(id)`!~*'");
  EXPECT_EQ(shell_word("a'b"), "'a'\\''b'");
  EXPECT_EQ(shell_word(""), "''");
  for (const char* text : {"a\nb", "\x1B[31m", "\xE2\x80\xAE", "\xE2\x80\x8B", "\xFF", "a\tb"}) {
    EXPECT_EQ(shell_word(text), std::nullopt);
  }
}

TEST(Quote, CommandsAreForOnePathOrNone) {
  EXPECT_EQ(shown_command("chmod a-w", "/a b"), "chmod a-w '/a b'");
  EXPECT_EQ(shown_command("chmod a-w", "/a\nb"), "chmod a-w on it, whose name cannot be shown in a command");
}

}  // namespace
}  // namespace heddle::core

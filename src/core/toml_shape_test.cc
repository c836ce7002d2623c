#include "heddle/core/toml_shape.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle::core {
namespace {

std::string repeat(const std::string& part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

const std::string kDeepKey = "a" + repeat(".a", 200'000);

// JAIL-8: whatever stands before it.
TEST(TomlShape, FindsWhatIsTooDeep) {
  for (const char* const first :
       {"", "# it's a comment\n", "x = 'a\\'\n", "x = \"a\\\"\"\n", "x = \"\"\n", "x = \"\"\"a\"\"\"\n",
        "x = \"\"\"a\\\"\"\"\"\n", "x = \"\"\"\"\"\n\"\"\"\n", "x = \"\"\"a\"\"\"\"\"\n", "x = '''a'\n''b'''\n",
        "x = ''''''\n", "x = [1.5, 2.5]\n", "\xEF\xBB\xBF"}) {
    const std::string before = first;
    SCOPED_TRACE(before);
    for (const std::string& deep : {kDeepKey + " = 1", "[" + kDeepKey + "]", "[[" + kDeepKey + "]]",
                                    "y = {" + kDeepKey + " = 1}", "y = " + repeat("[", 1'000'000),
                                    "y = " + repeat("{a=", 300'000), "\"q\"" + repeat(" . 'a'", 100'000) + " = 1"}) {
      const auto fault = too_deep_toml(before + deep);
      ASSERT_TRUE(fault) << deep.substr(0, 20);
      EXPECT_GE(fault->offset, before.size());
      EXPECT_LE(fault->offset, before.size() + 120);
    }
  }
}

TEST(TomlShape, LeavesTheRestAlone) {
  for (const std::string& text :
       {std::string(), std::string("a.b.c = 1"), "x = \"" + kDeepKey + "\"", "x = '" + repeat("[", 1000) + "'",
        "x = \"\"\"\n" + kDeepKey + "\"\"\"", "# " + kDeepKey, repeat("a.b = 1.5\n[[c.d]]\n", 10'000),
        "x = [" + repeat("1.5, ", 10'000) + "]", "x = [" + repeat("{a.b = [1]},", 1000) + "]", repeat("]", 1000),
        "x = \"" + repeat("\\", 1001)}) {
    EXPECT_FALSE(too_deep_toml(text)) << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace heddle::core

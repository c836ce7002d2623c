#include "heddle/sandbox/conformance/scaffold.h"

#include <gtest/gtest.h>

#include "heddle/sandbox/conformance/fixtures.h"

namespace heddle::sandbox::conformance {
namespace {

std::string text_of(const std::vector<ScaffoldFile>& files, std::string_view path) {
  for (const ScaffoldFile& file : files) {
    if (file.path == path) return file.text;
  }
  return {};
}

// CNF-7: the worst case declared, the kit wired, the checklist written. That it builds and passes is
// tests/conformance's.
TEST(Scaffold, WritesThePackage) {
  const auto files = scaffold_files("my-box").value();
  EXPECT_EQ(files.size(), 4U);
  const std::string backend = text_of(files, "src/backend.cc");
  for (const std::string_view claim : {"network = spi::Network::open", "wall_clock = spi::WallClock::soft",
                                       "memory = false", "cpu = false", "fresh_per_run = false"}) {
    EXPECT_NE(backend.find(claim), std::string::npos) << claim;
  }
  EXPECT_NE(text_of(files, "CMakeLists.txt").find("conformance --backend $<TARGET_FILE:my-box>"), std::string::npos);
  const std::string readme = text_of(files, "README.md");
  for (const std::string_view item : {"credentials", "network layer", "One request an instance", "hard kill",
                                      "Memory and CPU are capped", "shared between instances", "exhaust the machine"}) {
    EXPECT_NE(readme.find(item), std::string::npos) << item;
  }
  EXPECT_EQ(parse_fixtures(text_of(files, "fixtures.json")).value().language, "my-box-words");
  // The longest name makes the longest language that the effect takes.
  const auto longest = scaffold_files(std::string(58, 'a')).value();
  EXPECT_EQ(parse_fixtures(text_of(longest, "fixtures.json")).value().language.size(), 64U);
  for (const ScaffoldFile& file : files) EXPECT_EQ(file.text.find("@NAME@"), std::string::npos) << file.path;
}

// CNF-7: the longest name gives a language that the effect takes.
TEST(Scaffold, TakesNamesWhoseLanguageIsOne) {
  const auto files = scaffold_files(std::string(58, 'a')).value();
  EXPECT_EQ(parse_fixtures(text_of(files, "fixtures.json")).value().language.size(), 64U);
}

TEST(Scaffold, RefusesNamesThatAreNoTargets) {
  for (const std::string& bad : {std::string(), std::string("Demo"), std::string("1x"), std::string("a/b"),
                                 std::string(".."), std::string("a b"), std::string("test"), std::string(59, 'a')}) {
    EXPECT_FALSE(scaffold_files(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace heddle::sandbox::conformance

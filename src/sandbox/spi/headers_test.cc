#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "heddle/sandbox/spi/spi.h"

namespace heddle::sandbox::spi {
namespace {

// SBX-1: a stranger's file that includes the interface takes in the standard library and nothing else.
TEST(Headers, IncludeTheStandardLibraryAlone) {
  const std::regex include("^\\s*#\\s*include\\s*(.*)$");
  const std::regex standard("<[a-z_]+>");
  const std::regex own("\"heddle/sandbox/spi/[a-z_]+\\.h\"");
  std::size_t includes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HEDDLE_SPI_HEADERS)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      std::smatch found;
      if (!std::regex_match(line, found, include)) continue;
      ++includes;
      const std::string what = found[1];
      EXPECT_TRUE(std::regex_match(what, standard) || std::regex_match(what, own)) << entry.path() << ": " << what;
    }
  }
  EXPECT_GT(includes, 20U);
}

// SBX-1: the constant of the first interface.
TEST(Headers, VersionIsOne) {
  EXPECT_EQ(kSandboxBackendSpiVersion.major, 1U);
  EXPECT_EQ(kSandboxBackendSpiVersion.minor, 0U);
  EXPECT_EQ(kSandboxBackendSpiVersion.patch, 0U);
  EXPECT_TRUE(fits({1, 0, 9}, {1, 2, 0}));
  EXPECT_FALSE(fits({1, 3, 0}, {1, 2, 0}));
  EXPECT_FALSE(fits({2, 0, 0}, {1, 2, 0}));
  EXPECT_FALSE(fits({0, 9, 0}, {1, 2, 0}));
}

// SBX-16: what is not claimed is the worst case.
TEST(Headers, CapabilitiesDefaultToTheWorst) {
  const Capabilities none;
  EXPECT_EQ(none.network, Network::open);
  EXPECT_EQ(none.wall_clock, WallClock::soft);
  EXPECT_FALSE(none.memory || none.cpu || none.fresh_per_run);
}

}  // namespace
}  // namespace heddle::sandbox::spi

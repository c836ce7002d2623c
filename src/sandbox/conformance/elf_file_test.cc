#include "elf_file.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

namespace heddle::sandbox::conformance {
namespace {

std::string interface_library() {
  std::ifstream file(HEDDLE_SPI_LIBRARY, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// CNF-8: read from the file alone.
TEST(ElfFile, ReadsWhatASharedObjectSays) {
  const ElfFile file = parse_elf(interface_library()).value();
  const auto needs = [&](std::string_view name) {
    return std::any_of(file.needed.begin(), file.needed.end(),
                       [&](const std::string& one) { return one.rfind(name, 0) == 0; });
  };
  EXPECT_TRUE(needs("libstdc++.so"));
  EXPECT_FALSE(needs("libheddle"));
  const ElfSymbol* own = file.find("_ZN6heddle7sandbox3spi7pendingEv");
  ASSERT_NE(own, nullptr);
  EXPECT_TRUE(own->exported);
  EXPECT_TRUE(file.at(own->address, 4).has_value());
  EXPECT_FALSE(file.at(~std::uint64_t{0}, 4).has_value());
  EXPECT_EQ(file.find("heddle_sandbox_backend"), nullptr);
}

// CNF-8: a stranger's file, cut off and bent everywhere: an answer or an error, never a read past its end.
TEST(ElfFile, SurvivesBentFiles) {
  const std::string good = interface_library();
  for (std::size_t size = 0; size < good.size(); size += 997)
    EXPECT_FALSE(parse_elf(good.substr(0, size)).ok()) << size;
  for (const std::string_view text : {"", "#!/bin/sh\n",
                                      "\x7f"
                                      "ELF"})
    EXPECT_FALSE(parse_elf(std::string(text)).ok());
  Elf64_Ehdr header{};
  std::memcpy(&header, good.data(), sizeof header);
  const auto bend = [&](std::size_t offset, std::size_t end) {
    for (std::size_t at = offset; at < end; ++at) {
      for (const int value : {0x00, 0x01, 0x7F, 0x80, 0xFF}) {
        std::string bent = good;
        bent[at] = static_cast<char>(value);
        const auto file = parse_elf(std::move(bent));
        if (file.ok()) static_cast<void>(file.value().at(0x1000, 16));
      }
    }
  };
  bend(0, sizeof header);
  bend(header.e_shoff, std::min<std::size_t>(good.size(), header.e_shoff + 6 * sizeof(Elf64_Shdr)));
}

}  // namespace
}  // namespace heddle::sandbox::conformance

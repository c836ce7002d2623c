// What a shared object says of itself, read from its bytes without running it (elf(5)); 64-bit little-endian only. The
// file is a stranger's: every offset is held against the file's size.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/result.h"

namespace heddle::sandbox::conformance {

struct ElfSymbol {
  std::string name;
  std::uint64_t address = 0;
  bool exported = false;  ///< in the dynamic table, global
};

struct ElfFile {
  std::vector<std::string> needed;     ///< DT_NEEDED
  std::vector<std::string> run_paths;  ///< DT_RPATH and DT_RUNPATH, a folder each, $ORIGIN as it stands
  std::string soname;                  ///< DT_SONAME; empty where there is none
  std::vector<ElfSymbol> definitions;  ///< symbols that the file defines, of both tables, local ones too

  [[nodiscard]] const ElfSymbol* find(std::string_view name) const;

  /// Bytes of the file that are mapped at an address; nothing where none are.
  [[nodiscard]] std::optional<std::string_view> at(std::uint64_t address, std::size_t size) const;

  struct Segment {
    std::uint64_t address;
    std::uint64_t offset;
    std::uint64_t size;
  };
  std::vector<Segment> segments;
  std::string bytes;
};

/// Errc::malformed when it is no shared object of this machine's kind.
[[nodiscard]] core::Result<ElfFile> parse_elf(std::string bytes);

}  // namespace heddle::sandbox::conformance

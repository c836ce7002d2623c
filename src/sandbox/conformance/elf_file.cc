#include "elf_file.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace heddle::sandbox::conformance {
namespace {

constexpr std::size_t kMaxEntries = 1'000'000;

core::Error malformed(std::string_view what) {
  return core::make_error(core::Errc::malformed, "read a shared object", what);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] std::optional<std::string_view> slice(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return std::nullopt;
    return bytes_.substr(offset, size);
  }

  template <class T>
  [[nodiscard]] std::optional<T> read(std::uint64_t offset) const {
    const auto part = slice(offset, sizeof(T));
    if (!part) return std::nullopt;
    T value;
    std::memcpy(&value, part->data(), sizeof value);
    return value;
  }

  // A table of `count` entries that lie side by side; nothing when it does not lie in the file.
  template <class T>
  [[nodiscard]] std::optional<std::vector<T>> table(std::uint64_t offset, std::uint64_t count) const {
    if (count > kMaxEntries) return std::nullopt;
    const auto part = slice(offset, count * sizeof(T));
    if (!part) return std::nullopt;
    std::vector<T> entries(count);
    if (count > 0) std::memcpy(entries.data(), part->data(), part->size());
    return entries;
  }

 private:
  std::string_view bytes_;
};

std::optional<std::string> text_at(std::string_view strings, std::uint64_t offset) {
  if (offset >= strings.size()) return std::nullopt;
  const std::size_t end = strings.find('\0', offset);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(strings.substr(offset, end - offset));
}

core::Result<void> read_symbols(const Reader& reader, const Elf64_Shdr& section, std::string_view strings,
                                ElfFile& file) {
  const auto symbols = reader.table<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym));
  if (!symbols) return malformed("its table of symbols");
  for (const Elf64_Sym& symbol : *symbols) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_OBJECT)) continue;
    auto name = text_at(strings, symbol.st_name);
    if (!name) return malformed("the name of a symbol");
    const bool exported = section.sh_type == SHT_DYNSYM && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL;
    file.definitions.push_back({*std::move(name), symbol.st_value, exported});
  }
  return {};
}

void split_paths(std::string_view list, std::vector<std::string>& paths) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    if (end > 0) paths.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

core::Result<void> read_dynamic(const Reader& reader, const Elf64_Shdr& section, std::string_view strings,
                                ElfFile& file) {
  const auto entries = reader.table<Elf64_Dyn>(section.sh_offset, section.sh_size / sizeof(Elf64_Dyn));
  if (!entries) return malformed("its dynamic section");
  for (const Elf64_Dyn& entry : *entries) {
    if (entry.d_tag == DT_NULL) break;
    const bool paths = entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH;
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_SONAME && !paths) continue;
    auto name = text_at(strings, entry.d_un.d_val);
    if (!name) return malformed("a name in its dynamic section");
    if (entry.d_tag == DT_SONAME) {
      file.soname = *std::move(name);
    } else if (paths) {
      split_paths(*name, file.run_paths);
    } else {
      file.needed.push_back(*std::move(name));
    }
  }
  return {};
}

}  // namespace

const ElfSymbol* ElfFile::find(std::string_view name) const {
  for (const ElfSymbol& symbol : definitions) {
    if (symbol.name == name) return &symbol;
  }
  return nullptr;
}

std::optional<std::string_view> ElfFile::at(std::uint64_t address, std::size_t size) const {
  for (const Segment& segment : segments) {
    if (address < segment.address || address - segment.address > segment.size) continue;
    const std::uint64_t inside = address - segment.address;
    if (size > segment.size - inside) continue;
    return Reader(bytes).slice(segment.offset + inside, size);
  }
  return std::nullopt;
}

core::Result<ElfFile> parse_elf(std::string bytes) {
  ElfFile file;
  file.bytes = std::move(bytes);
  const Reader reader(file.bytes);
  const auto header = reader.read<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return malformed("it is not an ELF file");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_type != ET_DYN ||
      header->e_phentsize != sizeof(Elf64_Phdr) || header->e_shentsize != sizeof(Elf64_Shdr)) {
    return malformed("it is not a 64-bit little-endian shared object");
  }
  const auto segments = reader.table<Elf64_Phdr>(header->e_phoff, header->e_phnum);
  const auto sections = reader.table<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  if (!segments || !sections || sections->empty()) return malformed("its tables of segments and sections");
  for (const Elf64_Phdr& segment : *segments) {
    if (segment.p_type == PT_LOAD) file.segments.push_back({segment.p_vaddr, segment.p_offset, segment.p_filesz});
  }
  for (const Elf64_Shdr& section : *sections) {
    const bool symbols = section.sh_type == SHT_DYNSYM || section.sh_type == SHT_SYMTAB;
    if (!symbols && section.sh_type != SHT_DYNAMIC) continue;
    if (section.sh_link >= sections->size()) return malformed("the link of a section");
    const Elf64_Shdr& linked = sections->at(section.sh_link);
    const auto strings = reader.slice(linked.sh_offset, linked.sh_size);
    if (!strings) return malformed("a table of strings");
    if (symbols) {
      HEDDLE_TRY(read_symbols(reader, section, *strings, file));
    } else {
      HEDDLE_TRY(read_dynamic(reader, section, *strings, file));
    }
  }
  return file;
}

}  // namespace heddle::sandbox::conformance

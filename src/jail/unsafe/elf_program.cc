#include "elf_program.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "heddle/jail/unsafe/program_grants.h"

namespace heddle::jail {
namespace {

constexpr std::size_t kMaxHeaders = 128;
constexpr std::size_t kMaxLoaderPath = 4096;
constexpr std::size_t kScriptHead = 256;  // BINPRM_BUF_SIZE
constexpr const char* kNoName = "is a script whose first line names no interpreter";

core::Error no_program(const std::string& path, const std::string& what) {
  return core::make_error(core::Errc::invalid_argument, ProgramGrants::step(), path + " " + what);
}

bool read_at(const core::Fd& fd, void* to, std::size_t size, std::uint64_t at) {
  return ::pread(fd.get(), to, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
}

bool is_elf64(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64;
}

}  // namespace

core::Result<std::string> loader_named_by(const core::Fd& program, const std::string& path) {
  Elf64_Ehdr header{};
  const ssize_t got = ::pread(program.get(), &header, sizeof header, 0);
  if (got < 0) return core::system_error("read the program", path);
  if (got != sizeof header || !is_elf64(header) || header.e_phentsize != sizeof(Elf64_Phdr) ||
      header.e_phnum > kMaxHeaders) {
    return no_program(path, "is neither a 64-bit ELF program nor a script that names its interpreter (#!)");
  }
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    if (!read_at(program, &part, sizeof part, header.e_phoff + i * sizeof part)) return no_program(path, "is damaged");
    if (part.p_type != PT_INTERP) continue;
    if (part.p_filesz < 2 || part.p_filesz > kMaxLoaderPath) return no_program(path, "is damaged");
    std::string loader(part.p_filesz, '\0');
    if (!read_at(program, loader.data(), loader.size(), part.p_offset)) return no_program(path, "is damaged");
    // As the kernel has it: it ends with a NUL, and there is something before that.
    if (loader.back() != '\0' || loader.front() == '\0') return no_program(path, "is damaged");
    loader.resize(std::strlen(loader.data()));
    return loader;
  }
  return std::string();
}

// binfmt_script: the kernel looks at 256 bytes and no more, and takes what they leave open for cut off.
core::Result<std::optional<ScriptLine>> script_line(const core::Fd& program, const std::string& path) {
  std::string head(kScriptHead, '\0');
  const ssize_t got = ::pread(program.get(), head.data(), head.size(), 0);
  if (got < 0) return core::system_error("read the program", path);
  if (head.compare(0, 2, "#!") != 0) return std::optional<ScriptLine>();
  const std::string line = head.substr(2, std::min(head.find('\n'), kScriptHead - 1) - 2);
  const bool whole = head.find('\n') != std::string::npos;
  constexpr std::string_view kBlank = " \t";
  const std::size_t start = line.find_first_not_of(kBlank);
  if (start == std::string::npos || line[start] == '\0') return no_program(path, kNoName);
  const std::size_t end = std::min(line.find_first_of(std::string_view(" \t\0", 3), start), line.size());
  if (end == line.size() && !whole) return no_program(path, "names an interpreter whose path is too long");
  ScriptLine result{line.substr(start, end - start), {}};
  const std::size_t argument = line.find_first_not_of(kBlank, end);
  if (argument != std::string::npos && end < line.size() && line[end] != '\0') {
    const std::string rest = line.substr(argument);
    const std::size_t last = rest.find_last_not_of(kBlank);
    result.argument = rest.substr(0, std::min(rest.find('\0'), last + 1));
  }
  return std::optional<ScriptLine>(std::move(result));
}

bool can_be_loader(const core::Fd& file) {
  Elf64_Ehdr header{};
  return read_at(file, &header, sizeof header, 0) && is_elf64(header) &&
         (header.e_type == ET_DYN || header.e_type == ET_EXEC);
}

}  // namespace heddle::jail

#include "elf_program.h"

#include <elf.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "heddle/jail/unsafe/program_grants.h"

namespace heddle::jail {
namespace {

constexpr std::size_t kMaxHeaders = 128;
constexpr std::size_t kMaxLoaderPath = 4096;

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
  if (got >= 2 && std::memcmp(&header, "#!", 2) == 0) {
    std::array<char, 128> line{};
    if (::pread(program.get(), line.data(), line.size() - 1, 2) < 0)
      return core::system_error("read the program", path);
    line.at(std::strcspn(line.data(), "\n")) = '\0';
    return no_program(path, std::string("is a script: start its interpreter (") + line.data() +
                                ") with the script as its argument, and grant read on the script");
  }
  if (got != sizeof header || !is_elf64(header) || header.e_phentsize != sizeof(Elf64_Phdr) ||
      header.e_phnum > kMaxHeaders) {
    return no_program(path, "is not a 64-bit ELF program");
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

bool can_be_loader(const core::Fd& file) {
  Elf64_Ehdr header{};
  return read_at(file, &header, sizeof header, 0) && is_elf64(header) &&
         (header.e_type == ET_DYN || header.e_type == ET_EXEC);
}

}  // namespace heddle::jail

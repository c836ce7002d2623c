// Programs of a test's own: a real one whose interpreter is another path.
#pragma once

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace heddle::jail {

inline std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The bytes of a 64-bit ELF program with `interpreter` as its PT_INTERP, at its end; empty when it has none.
inline std::string with_interpreter(std::string program, const std::string& interpreter) {
  Elf64_Ehdr header{};
  if (program.size() < sizeof header) return {};
  std::memcpy(&header, program.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    char* const at = program.data() + header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr part{};
    std::memcpy(&part, at, sizeof part);
    if (part.p_type != PT_INTERP) continue;
    part.p_offset = program.size();
    part.p_filesz = interpreter.size() + 1;
    std::memcpy(at, &part, sizeof part);
    return program + interpreter + '\0';
  }
  return {};
}

/// What a 64-bit ELF program names as its interpreter; empty when it has none.
inline std::string interpreter_of(const std::string& program) {
  Elf64_Ehdr header{};
  std::memcpy(&header, program.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    std::memcpy(&part, program.data() + header.e_phoff + i * sizeof part, sizeof part);
    if (part.p_type == PT_INTERP) return program.substr(part.p_offset, part.p_filesz - 1);
  }
  return {};
}

}  // namespace heddle::jail

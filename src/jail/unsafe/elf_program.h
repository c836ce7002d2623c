// What the first bytes of a program say to the kernel (elf(5), execve(2) on "Interpreter scripts").
#pragma once

#include <optional>
#include <string>

#include "heddle/core/fd.h"
#include "heddle/core/result.h"

namespace heddle::jail {

/// What follows `#!`: at most one argument, with the blanks inside it.
struct ScriptLine {
  std::string interpreter;
  std::string argument;  ///< empty: none
};

/// The first line of a script as the kernel reads it; none for another program.
[[nodiscard]] core::Result<std::optional<ScriptLine>> script_line(const core::Fd& program, const std::string& path);

/// The loader that an ELF program names (PT_INTERP), byte for byte; empty for a static one. An Error of
/// ProgramGrants::step() for what is no 64-bit ELF program. `path` is for it.
[[nodiscard]] core::Result<std::string> loader_named_by(const core::Fd& program, const std::string& path);

/// Whether the kernel would take it for a loader: a 64-bit ELF file that holds code, which a core file does not.
[[nodiscard]] bool can_be_loader(const core::Fd& file);

}  // namespace heddle::jail

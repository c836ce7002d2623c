// What jail/unsafe promises about the first bytes of a program that somebody else made (JAIL-17), for any bytes:
//
// - A script's interpreter is a word of its first 256 bytes, without blank or NUL; its argument is one string of the
//   rest, without a blank before it.
// - A loader's name is a string that stands in the file, is not empty for being there, and is bounded.
// - What is neither is an Error that names the step, and what can be a loader is an ELF file.
#include <cstdint>
#include <string>
#include <string_view>

#include "elf_program.h"
#include "heddle/core/check.h"
#include "heddle/jail/unsafe/program_grants.h"

namespace {

using heddle::jail::ProgramGrants;
using heddle::jail::ScriptLine;

constexpr std::size_t kHead = 256;
constexpr std::size_t kLongestLoader = 4096;

void check_script(const ScriptLine& line, std::string_view head) {
  HEDDLE_CHECK(head.substr(0, 2) == "#!");
  HEDDLE_CHECK(!line.interpreter.empty());
  for (const std::string& part : {line.interpreter, line.argument}) {
    HEDDLE_CHECK(head.find(part) != std::string_view::npos);
    HEDDLE_CHECK(part.find('\0') == std::string::npos && part.find('\n') == std::string::npos);
  }
  HEDDLE_CHECK(line.interpreter.find_first_of(" \t") == std::string::npos);
  // Behind it the kernel leaves blanks where a NUL or the end of the file follows.
  HEDDLE_CHECK(line.argument.empty() || (line.argument.front() != ' ' && line.argument.front() != '\t'));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto file = heddle::core::sealed_memory("program", bytes);
  if (!file.ok()) return 0;  // no descriptor to be had
  const auto line = heddle::jail::script_line(file.value(), "program");
  HEDDLE_CHECK(line.ok() || line.error().step == ProgramGrants::step());
  if (line.ok() && line.value()) check_script(*line.value(), bytes.substr(0, kHead));
  const auto loader = heddle::jail::loader_named_by(file.value(), "program");
  HEDDLE_CHECK(loader.ok() || loader.error().step == ProgramGrants::step());
  if (loader.ok() && !loader.value().empty()) {
    HEDDLE_CHECK(loader.value().size() < kLongestLoader);
    HEDDLE_CHECK(loader.value().find('\0') == std::string::npos);
    HEDDLE_CHECK(bytes.find(loader.value()) != std::string_view::npos);
  }
  const bool elf = bytes.substr(0, 4) ==
                   "\x7f"
                   "ELF";
  HEDDLE_CHECK(elf || (!loader.ok() && !heddle::jail::can_be_loader(file.value())));
  return 0;
}

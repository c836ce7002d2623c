// What a run says beside its outcome: to its author, never to the host. Optional for every backend; it decides nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::sandbox::spi {

enum class ConsoleLevel : std::uint8_t { log, info, warn, error, debug };

struct ConsoleLine {
  ConsoleLevel level = ConsoleLevel::log;
  std::string text;
};

struct Remarks {
  std::vector<ConsoleLine> console;  ///< what the script wrote, in order, as far as it came
  bool console_cut = false;          ///< it wrote more than was kept
  std::string hint;                  ///< of a failure: what its author can do about it; empty where nothing is known
  std::string note;                  ///< of a value: what its author may not have meant; empty mostly
};

}  // namespace heddle::sandbox::spi

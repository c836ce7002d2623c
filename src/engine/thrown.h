// Reads what a script threw, trusting nothing about it.
#pragma once

#include "heddle/engine/engine.h"
#include "script.h"

namespace heddle::engine {

/// Fills name, message, line and column from any value. May run the script's own getters, so it is part of the run:
/// false when the run ended meanwhile (`Guest::exit`).
[[nodiscard]] bool describe_thrown(Script& script, Value thrown, std::string_view source, RunResult& result);

}  // namespace heddle::engine

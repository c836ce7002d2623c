// What the author of a script can do about a failure, in fixed words. Nothing here decides anything: an error that a
// script forged can choose among these texts, and that is all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/engine/engine.h"

namespace heddle::engine {

/// For a script that did not parse. Nothing of it has run, so the engine's words are the engine's.
[[nodiscard]] std::string hint_for_syntax(std::string_view source, const RunResult& result);

/// For what a script threw while it ran.
[[nodiscard]] std::string hint_for_thrown(const RunResult& result);

/// The name of what stands at a position of the source and was called: "input.map", "….trim"; empty when there is none.
[[nodiscard]] std::string callee_at(std::string_view source, std::uint32_t line, std::uint32_t column);

}  // namespace heddle::engine

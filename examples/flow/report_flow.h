// The flow of this example: a report on the world's countries.
#pragma once

#include <string>

#include "heddle/core/result.h"
#include "heddle/effect/runtime/flow.h"
#include "heddle/sandbox/effect/script_reader.h"

namespace heddle::example {

/// The flow's code, for scripts that are kept in `scripts`. Its input is the path of the data.
[[nodiscard]] core::Result<std::function<effect::Reply<std::string>(effect::Flow&)>> report_flow(
    sandbox::MemoryScripts& scripts);

}  // namespace heddle::example

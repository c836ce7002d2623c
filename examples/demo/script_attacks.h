#pragma once

#include "heddle/sandbox/quickjs/pool.h"
#include "table.h"

namespace heddle::demo {

/// A useful script over real data, then scripts that attack; after each the next run must be right. False when the
/// useful script could not be run at all.
bool run_scripts(sandbox::quickjs::Pool& pool, const std::string& script, const std::string& data, Table& table);

}  // namespace heddle::demo

// The journal's tables in a database: made where the mode allows, and recognised before anything of them is used.
#pragma once

#include "heddle/journal/postgres/postgres.h"
#include "session.h"

namespace heddle::journal::pg {

/// Errc::unsupported for a server that keeps nothing, damaged for a schema that is no journal or is more than one.
[[nodiscard]] core::Result<void> open_tables(Session& session, PostgresMode mode, const Wait& wait);

}  // namespace heddle::journal::pg

// Reading facts over a session.
#pragma once

#include "heddle/journal/core/store_parts.h"
#include "session.h"

namespace heddle::journal::pg {

/// The one row that a head statement gives.
[[nodiscard]] core::Result<HeadRow> head_of(const core::Result<Rows>& rows);
[[nodiscard]] core::Result<std::uint64_t> facts_of(Session& session, std::string_view flow, const Wait& wait);
/// In a transaction of its own, so that head and facts are of one moment.
[[nodiscard]] core::Result<Page> read(Session& session, const Query& query, const Wait& wait);

}  // namespace heddle::journal::pg

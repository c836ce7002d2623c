// Reading facts over a session.
#pragma once

#include "heddle/journal/core/store_parts.h"
#include "session.h"

namespace heddle::journal::pg {

/// The one row that a head statement gives.
[[nodiscard]] core::Result<HeadRow> head_of(const core::Result<Rows>& rows);
/// How many facts a flow has in the index.
[[nodiscard]] core::Result<std::uint64_t> facts_of(Session& session, std::string_view flow, const Wait& wait);
/// Errc::damaged when the index of flows does not go as far as `indexed`.
[[nodiscard]] core::Result<void> check_border(Session& session, std::uint64_t indexed, const Wait& wait);
/// All facts from `from` on, checked, without their bodies.
[[nodiscard]] core::Result<std::vector<Fact>> facts_from(Session& session, const HeadRow& end, std::uint64_t from,
                                                         const Wait& wait);
// These take a transaction of their own, so that all they look at is of one moment.
[[nodiscard]] core::Result<Page> read(Session& session, const Query& query, const Wait& wait);
/// Compares the index of flows with the facts.
[[nodiscard]] core::Result<void> check_storage(Session& session, const Wait& wait);

}  // namespace heddle::journal::pg

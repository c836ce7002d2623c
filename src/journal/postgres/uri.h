// libpq's URIs, looked at before libpq: a password with a / or @ that is not written as %2F or %40 ends somewhere else
// for libpq, and what comes after it becomes a host, a port or a database, which messages name.
#pragma once

#include <string_view>

#include "heddle/core/result.h"

namespace heddle::journal {

/// Errc::invalid_argument, without anything of the text, for a URI that can be read in two ways, or has a port that is
/// no number. Other connection strings are not looked at.
[[nodiscard]] core::Result<void> check_uri(std::string_view conninfo);

}  // namespace heddle::journal

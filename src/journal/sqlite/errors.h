// SQLite's result codes as errors of ours.
#pragma once

#include <sqlite3.h>

#include <string_view>

#include "heddle/core/result.h"
#include "heddle/journal/core/store.h"

namespace heddle::journal {

/// For a call on `db` that gave `code`. `wait` tells a lock that was not to be had from a stop request.
[[nodiscard]] core::Error sqlite_error(sqlite3* db, int code, std::string_view step, std::string_view path,
                                       const Wait& wait);

}  // namespace heddle::journal

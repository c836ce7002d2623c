// The journal in a PostgreSQL database, for several machines. Format: docs/formats/journal.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "heddle/core/result.h"
#include "heddle/journal/core/store.h"

namespace heddle::journal {

enum class PostgresMode : std::uint8_t {
  create,     ///< makes the schema `heddle` and its tables when they are not there
  existing,   ///< Errc::not_found when they are not
  read_only,  ///< likewise, and append is refused; the role needs no right but to read
};

struct PostgresOptions {
  PostgresMode mode = PostgresMode::create;
  /// How long a call waits for a server that went away to come back, unless its own Wait is over before. A server that
  /// is there but slow is no matter of patience.
  core::Duration patience = std::chrono::seconds(30);
  std::uint32_t index_every = kIndexEvery;  ///< for tests; any will do, and stores on one database need not agree
};

/// `conninfo`: what libpq takes, "postgresql://host/database" or "host=… dbname=…". Each session runs with
/// `synchronous_commit=on`; a server with `fsync=off` or an encoding other than UTF-8 is refused (Errc::unsupported),
/// and so is a journal of a newer MAJOR or from before the first release. Errc::invalid_argument for a conninfo that
/// libpq cannot read. A server that is not there is an error at once; one that goes away later is waited for.
///
/// An append whose COMMIT was not answered is looked for when the server is back, so it is stored once and reported
/// truly; only when the server stays away does the error say that this is not known.
[[nodiscard]] core::Result<std::unique_ptr<Store>> open_postgres(const std::string& conninfo,
                                                                 const PostgresOptions& options = {},
                                                                 const Wait& wait = {});

}  // namespace heddle::journal

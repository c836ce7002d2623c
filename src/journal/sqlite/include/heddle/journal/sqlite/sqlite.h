// The journal in one SQLite file: the default. Format: docs/formats/journal.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "heddle/core/result.h"
#include "heddle/journal/core/store.h"

namespace heddle::journal {

enum class SqliteMode : std::uint8_t {
  read_write_create,  ///< made on first use, readable by its owner alone (mode 0600)
  read_write,         ///< Errc::not_found when there is none
  read_only,          ///< likewise, and append is refused
};

struct SqliteOptions {
  SqliteMode mode = SqliteMode::read_write_create;
  std::string vfs;  ///< a VFS that the program has registered with SQLite; empty for the system's own
  std::uint32_t index_every = kIndexEvery;  ///< for tests; any will do, and stores on one file need not agree
};

/// Opens the journal at `path` (beside it SQLite keeps `path-wal` and `path-shm` while it is open). WAL mode with
/// `synchronous=FULL`: an append returns after its sync. Several stores, in this process or in others, may be open on
/// one file; it must be on a local file system, as WAL needs shared memory. `wait` bounds the opening alone.
///
/// Errors: Errc::damaged for a file that is no journal or no longer one; unsupported for a newer MAJOR
/// and for one from before the first release; timed_out while another process keeps the file locked; system with the
/// errno otherwise.
[[nodiscard]] core::Result<std::unique_ptr<Store>> open_sqlite(const std::string& path,
                                                               const SqliteOptions& options = {},
                                                               const Wait& wait = {});

}  // namespace heddle::journal

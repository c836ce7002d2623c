// The journal's tables in a SQLite file (docs/formats/journal.md).
#pragma once

#include "connection.h"

namespace heddle::journal {

/// Makes an empty file with mode 0600 when there is none, and its entry in the folder durable.
[[nodiscard]] core::Result<void> create_journal_file(const std::string& path);

/// Opens a connection that is ready for use: settings made, tables made when the mode allows and the file is empty,
/// and what is there recognised as a journal that this build can read.
[[nodiscard]] core::Result<std::unique_ptr<Connection>> open_journal(const std::string& path,
                                                                     const SqliteOptions& options, const Wait& wait);

}  // namespace heddle::journal

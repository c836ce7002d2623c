// The files that make a journal: PATH, its log PATH-wal, PATH-shm, and PATH-journal while it is made. Looked at from
// outside, by their names: SQLite believes what it finds there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/core/result.h"

namespace heddle::journal {

/// To be asked before SQLite opens `path`. Errc::damaged, and nothing is touched, when SQLite would destroy something:
///
/// - `path` is missing or empty and its log is not: SQLite deletes the log, which may hold the newest facts, or all.
/// - A rollback journal names a super-journal: SQLite deletes that file, wherever it lies. A journal of ours never has
///   one.
///
/// Errc::invalid_argument when one of the files is no regular file.
[[nodiscard]] core::Result<void> check_files(const std::string& path);

enum class Use : std::uint8_t { read, write };

/// Which of the files keeps this process from using the journal, for an error's text: "PATH-shm may not be read".
/// Empty when none does, as far as permissions tell.
[[nodiscard]] std::string file_in_the_way(std::string_view path, Use use);

/// The folder that the journal lies in.
[[nodiscard]] std::string folder_of(std::string_view path);

}  // namespace heddle::journal

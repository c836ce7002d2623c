#include "errors.h"

#include <cerrno>
#include <string>

#include "files.h"
#include "heddle/core/text.h"

namespace heddle::journal {
namespace {

// The file that an I/O error of this code is about. What is written while a journal is in use goes to its log.
std::string file_of(int code, std::string_view path) {
  switch (code) {
    case SQLITE_IOERR_SHMOPEN:
    case SQLITE_IOERR_SHMSIZE:
    case SQLITE_IOERR_SHMLOCK:
    case SQLITE_IOERR_SHMMAP:
      return std::string(path) + "-shm";
    case SQLITE_FULL:
    case SQLITE_IOERR_WRITE:
    case SQLITE_IOERR_FSYNC:
    case SQLITE_IOERR_TRUNCATE:
      return std::string(path) + "-wal";
    default:
      return std::string(path);
  }
}

// SQLite does not keep the errno of a COMMIT that fails, its VFS does.
int errno_of(sqlite3* db, int code) {
  const int kept = ::sqlite3_system_errno(db);
  if (kept != 0 || (code & 0xFF) != SQLITE_IOERR) return kept;
  sqlite3_vfs* vfs = nullptr;
  const bool found = ::sqlite3_file_control(db, "main", SQLITE_FCNTL_VFS_POINTER, &vfs) == SQLITE_OK && vfs != nullptr;
  return found && vfs->xGetLastError != nullptr ? vfs->xGetLastError(vfs, 0, nullptr) : 0;
}

// SQLite quotes names of the file.
std::string words_of(sqlite3* db) { return core::printable_line(core::bound_text(::sqlite3_errmsg(db), 200)); }

bool no_room(int sys_errno) { return sys_errno == ENOSPC || sys_errno == EDQUOT; }

}  // namespace

core::Error sqlite_error(sqlite3* db, int code, std::string_view step, std::string_view path, const Wait& wait) {
  using core::Errc;
  const std::string where(path);
  const auto error = [&](Errc errc, std::string_view what) {
    return core::make_error(errc, step, where + ": " + std::string(what));
  };
  const auto not_permitted = [&] {
    const Use use = ::sqlite3_db_readonly(db, "main") == 1 ? Use::read : Use::write;
    std::string what = file_in_the_way(path, use);
    const bool found = !what.empty();
    if (!found) what = where + ": " + words_of(db) + "; see the permissions of the file and its folder";
    core::Error result = core::make_error(Errc::system, step, what);
    result.sys_errno = ::sqlite3_system_errno(db);
    if (found && result.sys_errno == 0) result.sys_errno = EACCES;
    return result;
  };
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return error(wait.stop.stop_requested() ? Errc::cancelled : Errc::timed_out,
                   "another process or thread holds the journal's lock");
    case SQLITE_INTERRUPT:
      return error(wait.stop.stop_requested() ? Errc::cancelled : Errc::timed_out, "the journal was being read");
    case SQLITE_FULL:
      return core::make_error(Errc::exhausted, step,
                              "no room on its disk for " + file_of(code, path) + "; make room and try again");
    case SQLITE_NOMEM:
      return error(Errc::exhausted, "out of memory");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return error(Errc::damaged,
                   "the file is no journal or is damaged (" + words_of(db) + "); restore it from a copy");
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return not_permitted();
    case SQLITE_TOOBIG:
      return error(Errc::too_large, words_of(db));
    default: {
      // Statements that do not compile any more (SQLITE_ERROR) mean that the tables are not the journal's.
      if ((code & 0xFF) == SQLITE_ERROR || (code & 0xFF) == SQLITE_CONSTRAINT || (code & 0xFF) == SQLITE_MISMATCH) {
        return error(Errc::damaged, "its tables are not those of a journal (" + words_of(db) + ")");
      }
      const int sys_errno = errno_of(db, code);
      core::Error result = core::make_error(Errc::system, step, file_of(code, path) + ": " + words_of(db));
      if (no_room(sys_errno)) {
        result = core::make_error(Errc::exhausted, step, file_of(code, path) + "; make room and try again");
      }
      result.sys_errno = sys_errno;
      return result;
    }
  }
}

}  // namespace heddle::journal

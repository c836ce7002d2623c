#include "errors.h"

#include <string>

namespace heddle::journal {

core::Error sqlite_error(sqlite3* db, int code, std::string_view step, std::string_view path, const Wait& wait) {
  using core::Errc;
  const std::string where(path);
  const auto error = [&](Errc errc, std::string_view what) {
    return core::make_error(errc, step, where + ": " + std::string(what));
  };
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return error(wait.stop.stop_requested() ? Errc::cancelled : Errc::timed_out,
                   "another process or thread holds the journal's lock");
    case SQLITE_INTERRUPT:
      return error(wait.stop.stop_requested() ? Errc::cancelled : Errc::timed_out, "the journal was being read");
    case SQLITE_FULL:
      return error(Errc::exhausted, "the disk is full; make room and try again");
    case SQLITE_NOMEM:
      return error(Errc::exhausted, "out of memory");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return error(Errc::damaged, "the file is no journal or is damaged (" + std::string(::sqlite3_errmsg(db)) +
                                      "); restore it from a copy");
    case SQLITE_READONLY:
      if (code == SQLITE_READONLY_CANTINIT || code == SQLITE_READONLY_DIRECTORY) {
        return error(
            Errc::system,
            "to read a journal that nobody has open, its folder must be writable (SQLite keeps files beside it); "
            "read it as its owner, or copy it to a folder of yours");
      }
      return error(Errc::system, "the journal cannot be written; see the permissions of the file and its folder");
    case SQLITE_TOOBIG:
      return error(Errc::too_large, ::sqlite3_errmsg(db));
    default: {
      // Statements that do not compile any more (SQLITE_ERROR) mean that the tables are not the journal's.
      if ((code & 0xFF) == SQLITE_ERROR || (code & 0xFF) == SQLITE_CONSTRAINT || (code & 0xFF) == SQLITE_MISMATCH) {
        return error(Errc::damaged,
                     "its tables are not those of a journal (" + std::string(::sqlite3_errmsg(db)) + ")");
      }
      core::Error result = error(Errc::system, ::sqlite3_errmsg(db));
      result.sys_errno = ::sqlite3_system_errno(db);
      return result;
    }
  }
}

}  // namespace heddle::journal

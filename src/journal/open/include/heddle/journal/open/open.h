// A journal by its name, as people and configuration give it: FILE or postgresql://…
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "heddle/core/result.h"
#include "heddle/journal/core/store.h"

namespace heddle::journal {

enum class Access : std::uint8_t {
  append,  ///< the journal is made when it is not there: the file, or the schema in the database
  change,  ///< append, but Errc::not_found when it is not there
  read,    ///< Errc::not_found when it is not there; append is refused
};

/// "postgresql://…" and "postgres://…" (libpq's URIs) are databases; everything else is the path of a file, "./" put
/// before it where SQLite would take it for something else (":memory:"). `wait` bounds the opening alone. Errors as
/// open_sqlite and open_postgres give them; Errc::invalid_argument for a name that cannot be one, for what is no
/// regular file, and for what looks like a connection string of another kind or spelling ("POSTGRESQL://…",
/// "mysql://…", "host=h password=p"). Nothing of a password is in any error.
[[nodiscard]] core::Result<std::unique_ptr<Store>> open(const std::string& name, Access access, const Wait& wait = {});

/// The name for people to read: of a URI, what stands before its password and after it; of another connection string
/// nothing.
[[nodiscard]] std::string shown_name(std::string_view name);

}  // namespace heddle::journal

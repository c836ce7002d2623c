#include "heddle/journal/open/open.h"

#include <sys/stat.h>

#include "heddle/journal/postgres/postgres.h"
#include "heddle/journal/sqlite/sqlite.h"

namespace heddle::journal {
namespace {

bool starts_with(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

bool is_database(std::string_view name) {
  return starts_with(name, "postgresql://") || starts_with(name, "postgres://");
}

core::Error unusable(std::string_view what) {
  return core::make_error(core::Errc::invalid_argument, "open the journal", what);
}

core::Result<std::unique_ptr<Store>> open_file(const std::string& name, Access access, const Wait& wait) {
  if (name.empty()) return unusable("its name is empty; name a file, or postgresql://HOST/DATABASE");
  if (name.find('\0') != std::string::npos) return unusable("a file's name holds no NUL");
  const bool special = name[0] == ':' || starts_with(name, "file:");
  const std::string path = special ? "./" + name : name;
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return unusable(path +
                    (S_ISDIR(status.st_mode) ? ": it is a folder; name a file in it" : ": it is no regular file"));
  }
  return open_sqlite(path, {access == Access::read ? SqliteMode::read_only : SqliteMode::read_write_create, {}}, wait);
}

}  // namespace

core::Result<std::unique_ptr<Store>> open(const std::string& name, Access access, const Wait& wait) {
  if (!is_database(name)) return open_file(name, access, wait);
  PostgresOptions options;
  if (access == Access::read) options.mode = PostgresMode::read_only;
  return open_postgres(name, options, wait);
}

std::string shown_name(std::string_view name) {
  if (!is_database(name)) return std::string(name);
  std::string shown(name);
  const std::size_t begin = shown.find("//") + 2;
  // libpq ends user and password at the first '@' before a '/'; a password that holds one unescaped goes further, so
  // here it is the last '@' of all.
  const std::size_t at = shown.rfind('@');
  const std::size_t colon = shown.find(':', begin);
  if (at != std::string::npos && colon < at) shown.replace(colon, at - colon, ":…");
  for (std::size_t found = 0; (found = shown.find("password=", found)) != std::string::npos;) {
    found += std::string_view("password=").size();
    shown.replace(found, std::min(shown.find('&', found), shown.size()) - found, "…");
  }
  return shown;
}

}  // namespace heddle::journal

#include "heddle/journal/open/open.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "heddle/journal/postgres/postgres.h"
#include "heddle/journal/sqlite/sqlite.h"

namespace heddle::journal {
namespace {

bool starts_with(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

bool is_database(std::string_view name) {
  return starts_with(name, "postgresql://") || starts_with(name, "postgres://");
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// A name that somebody may have meant for a connection string, and that may hold a password: SCHEME://… of any kind and
// in any case, postgresql:…, password=…. A file can have such a name; then it is given with a folder ("./").
bool looks_like_connection(std::string_view name) {
  std::string text(name.substr(std::min(name.find_first_not_of(" \t\r\n"), name.size())));
  std::transform(text.begin(), text.end(), text.begin(), lower);
  if (starts_with(text, "/") || starts_with(text, "./") || starts_with(text, "../")) return false;
  const std::size_t scheme = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+.-");
  if (scheme != std::string::npos && scheme > 0 && text.compare(scheme, 3, "://") == 0) return true;
  if (starts_with(text, "postgres:") || starts_with(text, "postgresql:")) return true;
  constexpr std::string_view password = "password";
  for (std::size_t at = 0; (at = text.find(password, at)) != std::string::npos; ++at) {
    const std::size_t next = text.find_first_not_of(" \t\r\n", at + password.size());
    if (next != std::string::npos && text[next] == '=') return true;
  }
  return false;
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
  const SqliteMode mode = access == Access::read     ? SqliteMode::read_only
                          : access == Access::change ? SqliteMode::read_write
                                                     : SqliteMode::read_write_create;
  return open_sqlite(path, {mode, {}}, wait);
}

}  // namespace

core::Result<std::unique_ptr<Store>> open(const std::string& name, Access access, const Wait& wait) {
  if (!is_database(name)) {
    if (!looks_like_connection(name)) return open_file(name, access, wait);
    // It is not repeated: a password may be in it.
    return unusable(
        "its name looks like a connection string but is none; write postgresql://USER@HOST:PORT/DATABASE, and of a "
        "file "
        "./NAME");
  }
  PostgresOptions options;
  if (access == Access::read) options.mode = PostgresMode::read_only;
  if (access == Access::change) options.mode = PostgresMode::existing;
  return open_postgres(name, options, wait);
}

std::string shown_name(std::string_view name) {
  if (!is_database(name)) return looks_like_connection(name) ? "a connection string" : std::string(name);
  std::string shown(name);
  const std::size_t begin = shown.find("//") + 2;
  // libpq ends user and password at the first '@' before a '/'; a password that holds one unescaped goes further, so
  // here it is the last '@' of all.
  const std::size_t at = shown.rfind('@');
  const std::size_t colon = shown.find(':', begin);
  if (at != std::string::npos && colon < at) shown.replace(colon, at - colon, ":…");
  // Of the members after '?' those that are known to be none's secret.
  const std::size_t query = shown.find('?', begin);
  if (query == std::string::npos) return shown;
  std::string members = shown.substr(query + 1);
  shown.resize(query);
  char separator = '?';
  for (std::size_t from = 0; from <= members.size();) {
    const std::size_t end = std::min(members.find('&', from), members.size());
    const std::string member = members.substr(from, end - from);
    const std::string word = member.substr(0, member.find('='));
    constexpr std::array<std::string_view, 6> public_words{"user", "host", "hostaddr", "port", "dbname", "sslmode"};
    const bool known = std::find(public_words.begin(), public_words.end(), word) != public_words.end();
    shown += separator + (known || word == "password" ? word : std::string("…"));
    if (member.size() > word.size()) shown += known ? member.substr(word.size()) : "=…";
    separator = '&';
    from = end + 1;
  }
  return shown;
}

}  // namespace heddle::journal

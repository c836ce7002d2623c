#include "uri.h"

#include <algorithm>

namespace heddle::journal {
namespace {

core::Error unclear() {
  return core::make_error(core::Errc::invalid_argument, "connect to PostgreSQL",
                          "the URI can be read in two ways; in user, password and database write / as %2F, @ as %40, : "
                          "as %3A and ? as %3F, or put the password into ~/.pgpass");
}

// HOST, HOST:PORT or [ADDRESS]:PORT.
bool is_clear_host(std::string_view host) {
  if (!host.empty() && host[0] == '[') host.remove_prefix(std::min(host.find(']'), host.size() - 1));
  const std::size_t colon = host.find(':');
  if (colon == std::string_view::npos) return true;
  return host.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
}

}  // namespace

core::Result<void> check_uri(std::string_view conninfo) {
  const std::size_t slashes = conninfo.find("://");
  const std::string_view scheme = conninfo.substr(0, slashes);
  if (slashes == std::string_view::npos || (scheme != "postgresql" && scheme != "postgres")) return {};
  std::string_view rest = conninfo.substr(slashes + 3);
  // As libpq finds the user and the password.
  const std::size_t end = rest.find_first_of("@/");
  if (end != std::string_view::npos && rest[end] == '@') rest.remove_prefix(end + 1);
  rest = rest.substr(0, rest.find('?'));
  if (rest.find('@') != std::string_view::npos) return unclear();
  for (std::string_view hosts = rest.substr(0, rest.find('/'));;) {
    const std::size_t comma = hosts.find(',');
    if (!is_clear_host(hosts.substr(0, comma))) return unclear();
    if (comma == std::string_view::npos) return {};
    hosts.remove_prefix(comma + 1);
  }
}

}  // namespace heddle::journal

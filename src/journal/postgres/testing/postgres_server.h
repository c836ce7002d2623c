// A PostgreSQL server of a test's own: Debian's programs, a folder and a UNIX socket of its own, an ordinary user.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace heddle::journal::testing {

/// A server that syncs is what a journal asks for; in memory a sync costs nothing. `memory`: as small as a server can
/// be, in memory where there is enough of it. `disk`: as PostgreSQL sets itself up, for what is measured.
enum class Storage : std::uint8_t { memory, disk };

class PostgresServer {
 public:
  /// Null, and why, where no server can be started.
  static std::unique_ptr<PostgresServer> start(std::string& reason, Storage storage = Storage::memory);
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  ~PostgresServer();

  [[nodiscard]] std::string conninfo(const std::string& database) const;
  /// The same for the part of a URI behind the '?': "postgresql:///database?…".
  [[nodiscard]] std::string uri_query() const;

  /// As a crash of the machine is to its clients: no goodbye, and recovery at the next start.
  void stop_at_once();
  bool start_again();

 private:
  explicit PostgresServer(Storage storage) : storage_(storage) {}

  Storage storage_;
  std::filesystem::path programs_;
  std::filesystem::path folder_;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
  pid_t pid_ = -1;
};

}  // namespace heddle::journal::testing

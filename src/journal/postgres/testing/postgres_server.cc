#include "testing/postgres_server.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace heddle::journal::testing {
namespace {

std::filesystem::path find_programs() {
  std::filesystem::path newest;
  std::error_code ignored;
  for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
    const auto programs = version.path() / "bin";
    if (std::filesystem::exists(programs / "initdb") && std::filesystem::exists(programs / "postgres")) {
      newest = std::max(newest, programs);
    }
  }
  return newest;
}

std::string folder_for_server(Storage storage) {
  struct statvfs memory = {};
  constexpr unsigned long long needed = 256ULL << 20;
  const bool in_memory = storage == Storage::memory && ::statvfs("/dev/shm", &memory) == 0 &&
                         (memory.f_flag & ST_NOEXEC) == 0 && memory.f_bavail * memory.f_frsize >= needed;
  std::string pattern =
      ((in_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path()) / "heddle-pg-XXXXXX")
          .string();
  return ::mkdtemp(pattern.data()) == nullptr ? std::string() : pattern;
}

// Starts a program as that user; it dies with this process.
pid_t run_as(uid_t uid, gid_t gid, const std::filesystem::path& folder, std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string log = (folder / "log").string();
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  const int out = ::open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0666);
  if (out < 0 || ::dup2(out, STDOUT_FILENO) < 0 || ::dup2(out, STDERR_FILENO) < 0) ::_exit(120);
  if (::getuid() == 0 && (::setresgid(gid, gid, gid) != 0 || ::setresuid(uid, uid, uid) != 0)) ::_exit(121);
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
  if (::chdir(folder.c_str()) != 0) ::_exit(122);
  ::execv(arguments[0], arguments.data());
  ::_exit(123);
}

}  // namespace

std::unique_ptr<PostgresServer> PostgresServer::start(std::string& reason, Storage storage) {
  std::unique_ptr<PostgresServer> server(new PostgresServer(storage));
  server->programs_ = find_programs();
  if (server->programs_.empty()) {
    reason = "no PostgreSQL server is installed (apt-get install postgresql)";
    return nullptr;
  }
  server->uid_ = ::getuid();
  server->gid_ = ::getgid();
  if (server->uid_ == 0) {
    const passwd* user = ::getpwnam("postgres");
    if (user == nullptr) user = ::getpwnam("nobody");
    if (user == nullptr) {
      reason = "there is no user postgres or nobody, and initdb refuses root";
      return nullptr;
    }
    server->uid_ = user->pw_uid;
    server->gid_ = user->pw_gid;
  } else if (::getpwuid(server->uid_) == nullptr) {
    reason = "user " + std::to_string(server->uid_) + " has no account, which initdb asks for";
    return nullptr;
  }
  server->folder_ = folder_for_server(storage);
  if (server->folder_.empty() || ::chown(server->folder_.c_str(), server->uid_, server->gid_) != 0) {
    reason = "no folder for the server can be made";
    return nullptr;
  }
  std::vector<std::string> words{server->programs_ / "initdb",
                                 "-D",
                                 server->folder_ / "data",
                                 "-U",
                                 "heddle",
                                 "-A",
                                 "trust",
                                 "-E",
                                 "UTF8",
                                 "--no-locale",
                                 "--no-sync"};
  if (storage == Storage::memory) words.emplace_back("--wal-segsize=1");
  const pid_t initdb = run_as(server->uid_, server->gid_, server->folder_, std::move(words));
  int status = 0;
  if (::waitpid(initdb, &status, 0) != initdb || status != 0 || !server->start_again()) {
    reason = "the server does not start; its log is " + (server->folder_ / "log").string();
    server->folder_.clear();  // kept for whoever looks
    return nullptr;
  }
  return server;
}

PostgresServer::~PostgresServer() {
  stop_at_once();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

std::string PostgresServer::conninfo(const std::string& database) const {
  return "host=" + folder_.string() + " user=heddle dbname=" + database;
}

std::string PostgresServer::uri_query() const { return "host=" + folder_.string() + "&user=heddle"; }

void PostgresServer::stop_at_once() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGQUIT);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

bool PostgresServer::start_again() {
  std::vector<std::string> words{programs_ / "postgres",
                                 "-D",
                                 folder_ / "data",
                                 "-k",
                                 folder_,
                                 "-c",
                                 "listen_addresses=",
                                 "-c",
                                 "recovery_init_sync_method=syncfs"};
  if (storage_ == Storage::memory) {
    words.insert(words.end(), {"-c", "max_wal_size=32MB", "-c", "shared_buffers=16MB"});
  }
  pid_ = run_as(uid_, gid_, folder_, std::move(words));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(240);
  while (std::chrono::steady_clock::now() < end) {
    if (::PQping(conninfo("postgres").c_str()) == PQPING_OK) return true;
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  pid_ = -1;
  return false;
}

}  // namespace heddle::journal::testing

#include "exec_start.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "exec_command.h"

namespace heddle::cli {
namespace {

using core::Errc;

constexpr std::size_t kMaxPolicyBytes = std::size_t{1} << 20;
constexpr const char* kReadPolicy = "read the policy";

// confstr(3): what execvp(3) takes where PATH is not set.
std::string system_path() {
  std::string path(::confstr(_CS_PATH, nullptr, 0), '\0');
  ::confstr(_CS_PATH, path.data(), path.size());
  path.resize(std::strlen(path.data()));
  return path;
}

std::vector<std::string> candidates(const std::string& name, const char* search) {
  if (name.find('/') != std::string::npos || name.empty()) return {name};
  const std::string path = search == nullptr ? system_path() : search;
  std::vector<std::string> list;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string folder = path.substr(at, end - at);
    list.push_back((folder.empty() ? "." : folder) + "/" + name);
    at = end + 1;
  }
  return list;
}

// A kernel before 5.8, or an outer filter, does not know the call: the kernel decides when the program is started.
bool may_execute(const core::Fd& file) {
  return ::syscall(SYS_faccessat2, file.get(), "", X_OK, AT_EMPTY_PATH | AT_EACCESS) == 0 || errno != EACCES;
}

std::string place_of(const core::Fd& file, const std::string& name) {
  std::array<char, PATH_MAX> real{};
  const std::string link = "/proc/self/fd/" + std::to_string(file.get());
  const ssize_t size = ::readlink(link.c_str(), real.data(), real.size());
  return size > 0 && real[0] == '/' ? std::string(real.data(), static_cast<std::size_t>(size)) : name;
}

// Empty where this process's folder has no name.
std::string from_root(std::string_view name) {
  if (name.front() == '/') return std::string(name);
  while (name.substr(0, 2) == "./") name.remove_prefix(2);
  std::array<char, PATH_MAX> folder{};
  if (::getcwd(folder.data(), folder.size()) == nullptr || folder[0] != '/') return {};
  return std::string(folder.data()) + (folder[1] == '\0' ? "" : "/") + std::string(name);
}

// Only that a path leads there, so that neither a pipe nor a device notices.
std::variant<FoundProgram, int, std::string> look(const std::string& candidate) {
  const core::Fd there(::open(candidate.c_str(), O_PATH | O_CLOEXEC));
  struct stat info {};
  if (!there.valid() || ::fstat(there.get(), &info) != 0) return errno;
  if (S_ISDIR(info.st_mode)) return candidate + ": is a folder";
  if (!S_ISREG(info.st_mode)) return candidate + ": is not a regular file";
  if (!may_execute(there)) return candidate + ": may not be executed: chmod +x";
  core::Fd file(
      ::open(("/proc/self/fd/" + std::to_string(there.get())).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid()) {
    return fmt::format("{}: {}; it must be readable by who runs Heddle", candidate, std::strerror(errno));
  }
  std::string place = place_of(file, candidate);
  std::string name = from_root(candidate);
  if (name.empty()) name = place;
  return FoundProgram{std::move(file), std::move(place), std::move(name)};
}

// A pipe that nobody has opened for writing yet says nothing to poll(2), and end of file to read(2): so poll first.
core::Result<std::string> read_until_signal(const core::Fd& file, const std::string& path, Signals& signals) {
  std::string text;
  std::array<char, 16U << 10> buffer{};
  for (;;) {
    std::array<pollfd, 2> items = {pollfd{file.get(), POLLIN, 0}, pollfd{signals.fd(), POLLIN, 0}};
    if (::poll(items.data(), items.size(), -1) < 0 && errno != EINTR) return core::system_error("poll");
    if (items[1].revents != 0 && signals.take()) return core::make_error(Errc::cancelled, kReadPolicy, path);
    if (items[0].revents == 0) continue;
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return core::system_error(kReadPolicy, path);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxPolicyBytes) {
      return core::make_error(Errc::too_large, kReadPolicy, fmt::format("{}: over {} bytes", path, kMaxPolicyBytes));
    }
  }
}

}  // namespace

std::variant<FoundProgram, NoProgram> find_program(const std::string& name, const char* search) {
  const bool by_path = name.find('/') != std::string::npos;
  std::optional<NoProgram> refused;
  for (const std::string& candidate : candidates(name, search)) {
    auto looked = look(candidate);
    if (auto* const found = std::get_if<FoundProgram>(&looked)) return std::move(*found);
    if (auto* const what = std::get_if<std::string>(&looked)) {
      if (!refused) refused = NoProgram{kExitNoProgram, std::move(*what)};
      continue;
    }
    // A folder of PATH that may not be searched holds nothing for us, as a shell has it.
    const int error = std::get<int>(looked);
    if (by_path && error == EACCES) {
      refused = NoProgram{kExitNoProgram, fmt::format("{}: {}", candidate, std::strerror(error))};
    }
  }
  if (refused) return *std::move(refused);
  return NoProgram{kExitNotFound, fmt::format("{}: no such program{}", name, by_path ? "" : " in PATH")};
}

core::Result<StartFolder> start_folder(const std::string& wanted, const jail::ProgramGrants& grants) {
  if (!wanted.empty()) {
    core::Result<jail::OpenedPath> place = jail::OpenedPath::open(wanted);
    if (place.ok() && !S_ISDIR(place.value().info().st_mode)) place = core::system_error(ENOTDIR, "", wanted);
    if (!place.ok()) {
      place.error().step = "open working_directory";
      return std::move(place).error();
    }
    HEDDLE_TRY(grants.check_links(place.value()));
    return StartFolder{std::move(place).value(), {}};
  }
  std::array<char, PATH_MAX> name{};
  struct stat here {};
  const bool named = ::getcwd(name.data(), name.size()) != nullptr && ::stat(".", &here) == 0;
  if (named) {
    core::Result<jail::OpenedPath> place = jail::OpenedPath::open(name.data());
    if (place.ok() && place.value().info().st_ino == here.st_ino && place.value().info().st_dev == here.st_dev &&
        grants.cover(place.value())) {
      return StartFolder{std::move(place).value(), {}};
    }
  }
  HEDDLE_ASSIGN(jail::OpenedPath root, jail::OpenedPath::open("/"));
  return StartFolder{std::move(root), named ? name.data() : "the one that has no name any more"};
}

core::Result<jail::ProgramFile> load_policy(const std::string& path, Signals& signals) {
  const core::Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid()) return core::system_error(kReadPolicy, path);
  HEDDLE_ASSIGN(const std::string text, read_until_signal(file, path, signals));
  HEDDLE_ASSIGN(auto policy, jail::parse_policy(text, path));
  if (auto* const program = std::get_if<jail::ProgramFile>(&policy)) return std::move(*program);
  const char* whose = "\"script\" is for scripts";
  if (std::holds_alternative<jail::ToolFile>(policy)) whose = "\"tool\" is for Heddle's own tool runner";
  if (std::holds_alternative<jail::PluginFile>(policy)) whose = "\"plugin\" is for Heddle's own plugin host";
  return core::make_error(
      Errc::invalid_argument, kReadPolicy,
      path + ": the profile " + whose + ", and exec starts foreign programs: write profile = \"program\"");
}

}  // namespace heddle::cli

#include "process_status.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "heddle/core/fd.h"

namespace heddle::jail {
namespace {

using core::Errc;
constexpr unsigned kFilterMode = 2;  // SECCOMP_MODE_FILTER
constexpr std::size_t kMaxStatusBytes = 64U << 10;

core::Error missing(std::string_view name) {
  return core::make_error(Errc::unsupported, "read a process's status", "no field " + std::string(name));
}

// The rest of the line that begins with `name` and a colon.
std::optional<std::string_view> line_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.size() > name.size() && line.substr(0, name.size()) == name && line[name.size()] == ':') {
      return line.substr(name.size() + 1);
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return std::nullopt;
}

template <std::size_t Count>
core::Result<void> numbers(std::string_view text, std::string_view name, std::uint32_t (&out)[Count]) {
  const std::optional<std::string_view> line = line_of(text, name);
  if (!line) return missing(name);
  const char* at = line->data();
  const char* const end = at + line->size();
  for (std::uint32_t& number : out) {
    while (at != end && (*at == '\t' || *at == ' ')) ++at;
    const auto [next, problem] = std::from_chars(at, end, number);
    if (problem != std::errc()) return missing(name);
    at = next;
  }
  return {};
}

core::Result<void> number(std::string_view text, std::string_view name, unsigned& out) {
  std::uint32_t value[1] = {};
  HEDDLE_TRY(numbers(text, name, value));
  out = value[0];
  return {};
}

}  // namespace

core::Result<ProcessStatus> parse_status(std::string_view text) {
  ProcessStatus status;
  HEDDLE_TRY(numbers(text, "Uid", status.uids));
  HEDDLE_TRY(number(text, "Threads", status.threads));
  HEDDLE_TRY(number(text, "NoNewPrivs", status.no_new_privs));
  HEDDLE_TRY(number(text, "Seccomp", status.seccomp_mode));
  HEDDLE_TRY(number(text, "Seccomp_filters", status.seccomp_filters));
  return status;
}

core::Error not_confined(const std::string& what) {
  return core::make_error(Errc::confinement, "verify a guest's confinement", what + "; the guest was sent nothing");
}

core::Result<void> judge_confined(const ProcessStatus& status, unsigned outer_filters, std::uint32_t user) {
  if (status.no_new_privs != 1) return not_confined("no_new_privs is off");
  if (status.seccomp_mode != kFilterMode) return not_confined("it has no system call filter");
  if (status.seccomp_filters <= outer_filters) {
    return not_confined("it has no system call filter of its own, only the " + std::to_string(outer_filters) +
                        " that the host runs under");
  }
  if (status.threads != 1) return not_confined("it has " + std::to_string(status.threads) + " threads");
  for (const std::uint32_t uid : status.uids) {
    if (uid != user) return not_confined("it runs as user " + std::to_string(uid));
  }
  return {};
}

namespace {

core::Result<std::string> read_of(pid_t pid, const core::Pidfd& process, const char* name) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  const core::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) {
    core::Error error = core::system_error("open a process's status", path);
    if (process.has_exited()) error.code = Errc::not_found;
    return error;
  }
  HEDDLE_ASSIGN(std::string text, core::read_all(file, kMaxStatusBytes));
  if (process.has_exited()) return core::make_error(Errc::not_found, "read a process's status", "it has ended");
  return text;
}

}  // namespace

core::Result<ProcessStatus> read_status(pid_t pid, const core::Pidfd& process) {
  HEDDLE_ASSIGN(const std::string text, read_of(pid, process, "status"));
  return parse_status(text);
}

core::Result<std::string> read_group(pid_t pid, const core::Pidfd& process) {
  HEDDLE_ASSIGN(const std::string text, read_of(pid, process, "cgroup"));
  std::string_view lines = text;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    if (line.substr(0, 4) == "0::/") return std::string(line.substr(3));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
  }
  return core::make_error(Errc::unsupported, "read a process's control group", "no cgroup2 group");
}

}  // namespace heddle::jail

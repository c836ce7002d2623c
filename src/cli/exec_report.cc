#include "exec_report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>

#include "heddle/core/text.h"

namespace heddle::cli {
namespace {

using jail::Access;
using jail::Denial;

constexpr std::size_t kMostRows = 500;
constexpr std::uint64_t kMostProcesses = 1U << 20;  // that a policy can name

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') out += '\\';
    out += byte;
  }
  return out + '"';
}

// What a TOML string can hold as it stands.
bool writable(std::string_view path) {
  return core::valid_utf8(path) &&
         std::none_of(path.begin(), path.end(), [](unsigned char byte) { return byte < 0x20 || byte == 0x7f; });
}

std::string family_text(std::uint64_t family) {
  switch (static_cast<std::uint32_t>(family)) {
    case AF_UNIX:
      return "AF_UNIX";
    case AF_INET:
      return "AF_INET";
    case AF_INET6:
      return "AF_INET6";
    case AF_NETLINK:
      return "AF_NETLINK";
    case AF_PACKET:
      return "AF_PACKET";
    case AF_VSOCK:
      return "AF_VSOCK";
    default:
      return std::to_string(static_cast<std::uint32_t>(family));
  }
}

std::string call_text(const Denial& denial) {
  const std::string& call = denial.syscall;
  if (denial.object == Denial::Object::path) return call + " " + in_quotes(denial.observed);
  if (denial.object == Denial::Object::address) return call + " " + denial.observed;
  if (call == "socket" || call == "socketpair") return fmt::format("{}({})", call, family_text(denial.arguments[0]));
  if (call == "ioctl") return fmt::format("ioctl(…, {:#x})", static_cast<std::uint32_t>(denial.arguments[1]));
  if (call == "prctl") return fmt::format("prctl({})", static_cast<std::uint32_t>(denial.arguments[0]));
  return call;
}

const char* purpose(Access access) {
  switch (access) {
    case Access::read:
      return "for reading";
    case Access::write:
      return "for writing";
    case Access::execute:
      return "to execute it";
  }
  return "";
}

const char* list_name(Access access) {
  switch (access) {
    case Access::read:
      return "read";
    case Access::write:
      return "write";
    case Access::execute:
      return "execute";
  }
  return "";
}

const char* mode_letter(Access access) {
  switch (access) {
    case Access::read:
      return "r";
    case Access::write:
      return "w";
    case Access::execute:
      return "rx";
  }
  return "";
}

bool execs(const std::string& call) { return call == "execve" || call == "execveat"; }

bool locks(const Denial& denial) {
  if (denial.syscall == "flock") return true;
  const std::uint64_t command = denial.arguments[1] & UINT32_MAX;
  return denial.syscall == "fcntl" && (command == F_SETLK || command == F_SETLKW || command == F_GETLK ||
                                       (command >= F_OFD_GETLK && command <= F_OFD_SETLKW));
}

}  // namespace

// The whole line, with what stands there already.
std::string ExecReport::list_line(Access access, const std::set<std::string>& more) const {
  std::string list;
  const auto add = [&](const std::string& path) { list += (list.empty() ? "" : ", ") + in_quotes(path); };
  for (const jail::PathGrant& grant : policy_.granted) {
    if (grant.access == access) add(grant.path);
  }
  for (const std::string& path : more) add(path);
  return fmt::format("under [paths] in {}: {} = [{}]", file_, list_name(access), list);
}

// Without allow_exec too: no other program is started by it.
std::string ExecReport::interpreter_line(const std::string& path) const {
  return writable(path) ? list_line(Access::execute, {path}) : "its name cannot be written in TOML";
}

std::string ExecReport::grant_line(Access access, const std::string& path) {
  if (!writable(path)) return "a folder above it, under [paths]: its name cannot be written in TOML";
  std::set<std::string>& wanted = wanted_[access];
  if (wanted.size() < kMostRows) wanted.insert(path);
  std::string line = list_line(access, {path});
  if (access != Access::execute || policy_.needs.subprocesses == jail::Subprocesses::allowed) return line;
  return fmt::format("at the top of {}: allow_exec = true; {}", file_, line);
}

void ExecReport::add_row(std::string what, std::string rule, std::string change, std::uint64_t count) {
  const auto [place, fresh] = places_.try_emplace(what + '\0' + change, rows_.size());
  if (!fresh) {
    rows_[place->second].count += count;
  } else if (rows_.size() < kMostRows) {
    rows_.push_back({std::move(what), std::move(rule), std::move(change), count});
  } else {
    places_.erase(place);
    not_kept_ += count;
  }
}

void ExecReport::add_refused(const Denial& denial) {
  std::string change = "no line of a policy allows it";
  if (locks(denial)) change = fmt::format("under [paths] in {}: write, with what it has to lock", file_);
  if (execs(denial.syscall)) {
    change = denial.object == Denial::Object::path && !denial.bytes.empty() && denial.bytes.front() == '/'
                 ? grant_line(Access::execute, denial.bytes)
                 : fmt::format("at the top of {}: allow_exec = true; and the program under [paths] execute", file_);
  }
  add_row(call_text(denial), denial.rule, std::move(change), denial.count);
}

void ExecReport::add_observed(const Denial& denial) {
  using Reason = jail::PathVerdict::Reason;
  const jail::PathVerdict verdict = grants_.judge(denial, user_, own_identity_);
  const std::string what = fmt::format("{} {} {}", denial.syscall, in_quotes(denial.observed), purpose(verdict.access));
  const std::string mode = fmt::format("its mode, or that of a folder above, refuses user {}: chmod o+{} {}", user_,
                                       mode_letter(verdict.access), core::printable_line(verdict.path));
  if (verdict.reason == Reason::not_granted) {
    std::string change = grant_line(verdict.access, verdict.grant);
    if (verdict.mode_too) change += "; and " + mode;
    add_row(what, "Landlock: no line of the policy grants it", std::move(change), denial.count);
  } else if (verdict.reason == Reason::mode) {
    add_row(what, "the file's mode: the policy grants it", "no line of a policy: " + mode, denial.count);
  }
}

void ExecReport::add(const jail::Denials& denials) {
  for (const Denial& denial : denials.denials) {
    if (denial.left_to_landlock) {
      add_observed(denial);
    } else {
      add_refused(denial);
    }
  }
  refused_ = denials.total;
  not_told_ = denials.dropped + denials.observed_dropped + denials.left;
}

void ExecReport::add(const jail::AppliedCgroup& group, const jail::Death& death, int code) {
  const jail::Limits& limits = policy_.needs.limits;
  const std::uint64_t limit = limits.group.processes ? limits.group.processes->value : limits.processes;
  const std::string change =
      fmt::format("under [limits] in {}: processes = {}", file_, std::min(2 * limit, kMostProcesses));
  if (death.group && death.group->processes_refused != 0) {
    add_row("fork or clone: a new process", fmt::format("limits.processes = {}", limit), change,
            death.group->processes_refused);
  } else if (code != 0 && !group.part(jail::GroupPart::processes).applied) {
    not_known_ = fmt::format(
        "not known here, without a control group: whether limits.processes = {} refused a fork (\"Resource temporarily "
        "unavailable\"). If it did, to allow it: {}",
        limit, change);
  }
}

std::vector<std::string> ExecReport::lines() const {
  std::vector<std::string> lines;
  if (rows_.empty() && not_kept() == 0) lines.emplace_back("denied: nothing that was seen");
  for (const Row& row : rows_) {
    lines.push_back(fmt::format("denied: {}{}", row.what, row.count == 1 ? "" : fmt::format(", {} times", row.count)));
    lines.push_back("  by " + row.rule);
    lines.push_back("  to allow it: " + row.change);
  }
  if (not_kept() != 0) {
    lines.push_back(fmt::format("denied: {} calls more were not kept, for want of room or time", not_kept()));
  }
  if (!rows_.empty()) lines.emplace_back("paths are what was seen in the program's memory: observed, never proof");
  for (const auto& [access, paths] : wanted_) {
    if (paths.size() > 1) lines.push_back("to allow all of that: " + list_line(access, paths));
  }
  if (!not_known_.empty()) lines.push_back(not_known_);
  return lines;
}

}  // namespace heddle::cli

#include "exec_report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>

#include "heddle/core/quote.h"
#include "heddle/core/text.h"

namespace heddle::cli {
namespace {

using jail::Access;
using jail::Denial;

constexpr std::size_t kMostRows = 500;
constexpr std::uint64_t kMostProcesses = 1U << 20;  // that a policy can name

// As it was seen, whole; a name that is no text as far as it is one.
std::string seen_path(const Denial& denial) {
  return core::toml_string(denial.bytes).value_or(core::toml_string(denial.observed).value_or("\"\""));
}

// Why a line for this path is kept back: it would grant far more than was refused.
const char* too_wide(Access access, const std::string& path) {
  if (path == "/") return "no line is suggested: one for / would grant every file there is";
  if (path == "/dev") return "no line is suggested: one for /dev would grant every device; name the one that is needed";
  const bool of_the_kernel = path == "/proc" || path == "/sys";
  if (of_the_kernel && access == Access::write)
    return "no line is suggested: it would let other processes and the kernel be changed";
  return nullptr;
}

bool leads_to_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool is_there(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
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
  if (denial.object == Denial::Object::path) return call + " " + seen_path(denial);
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

bool execs(const std::string& call) { return call == "execve" || call == "execveat"; }

bool locks(const Denial& denial) {
  if (denial.syscall == "flock") return true;
  const std::uint64_t command = denial.arguments[1] & UINT32_MAX;
  return denial.syscall == "fcntl" && (command == F_SETLK || command == F_SETLKW || command == F_GETLK ||
                                       (command >= F_OFD_GETLK && command <= F_OFD_SETLKW));
}

}  // namespace

// The whole line, with what stands there already; each of `more` is text that TOML can hold.
std::string ExecReport::list_line(Access access, const std::set<std::string>& more) const {
  std::string list;
  const auto add = [&](const std::string& path) {
    list += (list.empty() ? "" : ", ") + core::toml_string(path).value_or("\"\"");
  };
  for (const jail::PathGrant& grant : policy_.granted) {
    if (grant.access == access) add(grant.path);
  }
  for (const std::string& path : more) add(path);
  return fmt::format("under [paths] in {}: {} = [{}]", file_, list_name(access), list);
}

// Without allow_exec too: no other program is started by it.
std::string ExecReport::interpreter_line(const std::string& path) const {
  if (!core::valid_utf8(path)) return "nothing that a policy can say: its name is not UTF-8";
  return list_line(Access::execute, {path});
}

// Nothing where `row` names nothing to be granted, or no line for it may be shown.
const char* ExecReport::withheld(const Row& row) {
  if (!core::valid_utf8(row.grant)) return "nothing that a policy can say: its name is not UTF-8";
  if (!is_there(row.grant)) return "nothing: it is no longer there";
  return too_wide(row.access, row.grant);
}

std::string ExecReport::change_of(const Row& row) const {
  if (row.grant.empty()) return row.change;
  if (const char* const why = withheld(row)) return why;
  std::string line = list_line(row.access, {row.grant});
  if (row.access != Access::execute || policy_.needs.subprocesses == jail::Subprocesses::allowed) return line;
  return fmt::format("at the top of {}: allow_exec = true; {}", file_, line);
}

void ExecReport::add_row(Row row) {
  const auto [place, fresh] = places_.try_emplace(row.what + '\0' + row.grant + '\0' + row.change, rows_.size());
  if (!fresh) {
    rows_[place->second].count += row.count;
  } else if (rows_.size() < kMostRows) {
    rows_.push_back(std::move(row));
  } else {
    places_.erase(place);
    not_kept_ += row.count;
  }
}

void ExecReport::add_refused(const Denial& denial) {
  Row row{call_text(denial), denial.rule, "no line of a policy allows it", {}, Access::execute, {}, denial.count};
  if (locks(denial)) row.change = fmt::format("under [paths] in {}: write, with what it has to lock", file_);
  if (execs(denial.syscall)) {
    row.grant = jail::Grants::program_of(denial);
    row.change = denial.bytes.empty()
                     ? fmt::format("at the top of {}: allow_exec = true; and the program under [paths] execute", file_)
                     : "nothing: there is no such program";
  }
  add_row(std::move(row));
}

void ExecReport::add_observed(const Denial& denial) {
  using Reason = jail::PathVerdict::Reason;
  jail::PathVerdict verdict = grants_.judge(denial, user_, own_identity_);
  Row row{fmt::format("{} {} {}", denial.syscall, seen_path(denial), purpose(verdict.access)),
          "Landlock: no line of the policy grants it",
          {},
          std::move(verdict.grant),
          verdict.access,
          std::move(verdict.faults),
          denial.count};
  if (verdict.reason == Reason::mode) {
    row.rule = "the file's mode: the policy grants it";
    row.change = fmt::format("no line of a policy: the mode of it, or of a folder above, refuses user {}", user_);
  }
  if (verdict.reason == Reason::mode || verdict.reason == Reason::not_granted) add_row(std::move(row));
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
    add_row({"fork or clone: a new process",
             fmt::format("limits.processes = {}", limit),
             change,
             {},
             Access::execute,
             {},
             death.group->processes_refused});
  } else if (code != 0 && !group.part(jail::GroupPart::processes).applied) {
    not_known_ = fmt::format(
        "not known here, without a control group: whether limits.processes = {} refused a fork (\"Resource temporarily "
        "unavailable\"). If it did, to allow it: {}",
        limit, change);
  }
}

// Commands for a shell, each on a line of its own, and why one is kept back.
void ExecReport::add_modes(const Row& row, std::vector<std::string>& lines) const {
  for (const jail::ModeFault& fault : row.faults) {
    const std::string whom = fault.who == 'o' ? "every user" : fault.who == 'g' ? "its group" : "its owner";
    const std::string chmod = fmt::format("chmod {}+{}", fault.who, fault.bits);
    lines.push_back(fault.changeable ? fmt::format("  and for {}: {}", whom, core::shown_command(chmod, fault.path))
                                     : fmt::format("  and for {}, by its owner or root: {}", whom,
                                                   core::shown_command(chmod, fault.path)));
  }
}

std::vector<std::string> ExecReport::lines() const {
  std::vector<std::string> lines;
  std::map<Access, std::set<std::string>> wanted;
  if (rows_.empty() && not_kept() == 0) lines.emplace_back("denied: nothing that was seen");
  for (const Row& row : rows_) {
    lines.push_back(fmt::format("denied: {}{}", row.what, row.count == 1 ? "" : fmt::format(", {} times", row.count)));
    lines.push_back("  by " + row.rule);
    const bool granted = !row.grant.empty() && withheld(row) == nullptr;
    const char* const below = granted && leads_to_folder(row.grant) ? ", and all below it" : "";
    lines.push_back(fmt::format("  to allow it{}: {}", below, change_of(row)));
    if (row.grant.empty() || granted) add_modes(row, lines);
    if (granted) wanted[row.access].insert(row.grant);
  }
  if (not_kept() != 0) {
    lines.push_back(fmt::format("denied: {} calls more were not kept, for want of room or time", not_kept()));
  }
  if (!rows_.empty()) lines.emplace_back("paths are what was seen in the program's memory: observed, never proof");
  for (const auto& [access, paths] : wanted) {
    if (paths.size() > 1) lines.push_back("to allow all of that: " + list_line(access, paths));
  }
  if (!not_known_.empty()) lines.push_back(not_known_);
  return lines;
}

}  // namespace heddle::cli

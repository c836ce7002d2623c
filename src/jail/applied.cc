#include "heddle/jail/applied.h"

#include <sstream>

#include "heddle/core/error.h"
#include "heddle/jail/cgroup.h"
#include "namespace_advice.h"

namespace heddle::jail {
namespace {

std::string plural(std::uint64_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

std::string landlock_text(int abi, Profile profile) {
  std::string text = "Landlock ABI " + std::to_string(abi);
  if (profile != Profile::program) text += ": no file, no execute";
  if (abi < 4) text += "; TCP is the filter's alone (from Linux 6.7)";
  if (abi < 5) text += "; what devices are asked is the filter's alone (from Linux 6.10)";
  if (abi < 6) text += "; signals and abstract sockets are the filter's alone (from Linux 6.12)";
  return text;
}

std::string namespaces_text(const AppliedNamespaces& namespaces) {
  if (!namespaces.set.empty()) return "namespaces: " + to_text(namespaces.set);
  if (namespaces.wanted == Need::off) return "namespaces: none, as the policy says";
  return "namespaces: none; " + why_no_namespaces(namespaces.refused);
}

std::string notified_text(const AppliedPolicy& applied) {
  switch (applied.notified) {
    case Notified::off:
      return "a refused call ends it (notifications are off)";
    case Notified::awaited:
      return "not loaded yet";
    case Notified::listening:
      return "refused calls get EPERM and are reported; number " + std::to_string(applied.denial_quota) + " ends it" +
             (applied.observes ? "; what Landlock decides is reported too" : "");
    case Notified::killing:
      return std::string(applied.profile != Profile::program ? "a refused call ends it and is not named"
                                                             : "refused calls get EPERM and are not named") +
             ": no notifications here (" + core::errno_text(applied.notified_error) + ")";
  }
  return {};
}

}  // namespace

std::vector<std::string> to_lines(const AppliedPolicy& applied) {
  const Limits& limits = applied.limits;
  std::vector<std::string> lines = {
      "user " + std::to_string(applied.uid) + (applied.own_identity ? ", its own" : ", the host's"),
      applied.no_new_privs ? "no_new_privs" : "no_new_privs is OFF",
      landlock_text(applied.landlock_abi, applied.profile),
      namespaces_text(applied.namespaces),
      "seccomp: " + plural(applied.filters, "filter") + " of its own; " + notified_text(applied),
      "limits: " + std::to_string(limits.data_bytes >> 20U) + " MiB data, " +
          std::to_string(limits.stack_bytes >> 20U) + " MiB stack, " + plural(limits.open_files, "descriptor") + ", " +
          std::to_string(limits.processes) + (limits.processes == 1 ? " process, " : " processes, ") +
          std::to_string(limits.cpu.count()) + " s CPU in all, " + std::to_string(limits.file_bytes) + " file bytes",
  };
  if (applied.profile == Profile::program) {
    lines.back() += ", " + std::to_string(kPendingSignals) + " queued signals and timers";
  }
  std::istringstream group(describe(applied.cgroup));
  for (std::string line; std::getline(group, line);) lines.push_back(line);
  if (!applied.cgroup.part(GroupPart::memory).applied) {
    lines.emplace_back(
        "no control group counts its memory: shared memory, files in memory and page cache are not limited, private "
        "memory is, of each process");
  }
  return lines;
}

}  // namespace heddle::jail

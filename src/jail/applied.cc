#include "heddle/jail/applied.h"

#include "heddle/core/error.h"

namespace heddle::jail {
namespace {

std::string plural(std::uint64_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

std::string notified_text(const AppliedPolicy& applied) {
  switch (applied.notified) {
    case Notified::off:
      return "a refused call ends it (notifications are off)";
    case Notified::awaited:
      return "not loaded yet";
    case Notified::listening:
      return "refused calls get EPERM and are reported; number " + std::to_string(applied.denial_quota) + " ends it";
    case Notified::killing:
      return "a refused call ends it and is not named: no notifications here (" +
             core::errno_text(applied.notified_error) + ")";
  }
  return {};
}

}  // namespace

std::vector<std::string> to_lines(const AppliedPolicy& applied) {
  const Limits& limits = applied.limits;
  return {
      "user " + std::to_string(applied.uid) + (applied.own_identity ? ", its own" : ", the host's"),
      applied.no_new_privs ? "no_new_privs" : "no_new_privs is OFF",
      applied.landlock_abi > 0 ? "Landlock ABI " + std::to_string(applied.landlock_abi) + ": no file, no execute"
                               : "Landlock: unknown",
      "seccomp: " + plural(applied.filters, "filter") + " of its own; " + notified_text(applied),
      "limits: " + std::to_string(limits.data_bytes >> 20U) + " MiB data, " +
          std::to_string(limits.stack_bytes >> 20U) + " MiB stack, " + plural(limits.open_files, "descriptor") + ", " +
          std::to_string(limits.processes) + (limits.processes == 1 ? " process, " : " processes, ") +
          std::to_string(limits.cpu.count()) + " s CPU in all, " + std::to_string(limits.file_bytes) + " file bytes",
  };
}

}  // namespace heddle::jail

// Deaths in words.
#include <signal.h>

#include <cstring>
#include <string>

#include "heddle/jail/guest.h"

namespace heddle::jail {
namespace {

std::string mebibytes(std::uint64_t bytes) { return std::to_string((bytes + (1U << 19)) >> 20U) + " MiB"; }

std::string exit_text(const Death& death) {
  if (death.code >= 0 && !death.by_signal) return "exited with status " + std::to_string(death.code);
  const char* name = ::strsignal(death.code);
  return "was ended by signal " + std::to_string(death.code) + " (" + (name != nullptr ? name : "unknown") + ")";
}

}  // namespace

std::string describe(const Death& death) {
  switch (death.kind) {
    case Death::Kind::exited:
      return exit_text(death);
    case Death::Kind::signalled:
      return exit_text(death) + (death.code == SIGSYS ? ": its filter refused a system call" : "");
    case Death::Kind::killed:
      return "was killed by the host";
    case Death::Kind::with_supervisor:
      return "ended with heddle-supervisor; nothing else is known";
    case Death::Kind::out_of_memory:
      return "ran out of memory: the kernel killed it" +
             (death.group && death.group->peak_bytes ? " at " + mebibytes(*death.group->peak_bytes) : std::string()) +
             "; give it a higher memory limit";
    case Death::Kind::process_limit:
      return exit_text(death) + " after its limit of processes refused " +
             std::to_string(death.group ? death.group->processes_refused : 0) +
             " new ones; give it a higher limit of processes";
    case Death::Kind::timed_out:
      return "ran out of time and was killed";
    case Death::Kind::denial_quota:
      return "was killed after more refused system calls than its policy lets it try";
  }
  return "nothing is known of its end";
}

const char* death_name(Death::Kind kind) noexcept {
  switch (kind) {
    case Death::Kind::exited:
      return "exited";
    case Death::Kind::signalled:
      return "signalled";
    case Death::Kind::killed:
      return "killed";
    case Death::Kind::with_supervisor:
      return "with_supervisor";
    case Death::Kind::out_of_memory:
      return "out_of_memory";
    case Death::Kind::process_limit:
      return "process_limit";
    case Death::Kind::timed_out:
      return "timed_out";
    case Death::Kind::denial_quota:
      return "denial_quota";
  }
  return "unknown";
}

}  // namespace heddle::jail

#include "heddle/jail/confine/confine.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <exception>

#include "heddle/core/fd.h"
#include "heddle/jail/confine/landlock.h"

namespace heddle::jail {
namespace {

constexpr int kSetMdwe = 65;                  // PR_SET_MDWE
constexpr unsigned long kRefuseExecGain = 1;  // PR_MDWE_REFUSE_EXEC_GAIN
constexpr int kWantedSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

struct Filter {
  sock_filter code[BPF_MAXINSNS];
  unsigned length = 0;
};

Failure failed(Step step, int error) { return Failure{step, error, 0}; }

// Only what was sealed before it was sent is read: nobody can change it between the check and the load.
Failure read_filter(Filter& filter) {
  const int seals = ::fcntl(kFilterFd, F_GET_SEALS);
  if (seals < 0) return failed(Step::filter_check, errno);
  if ((seals & kWantedSeals) != kWantedSeals) return failed(Step::filter_check, EPERM);
  struct stat info {};
  if (::fstat(kFilterFd, &info) != 0) return failed(Step::filter_check, errno);
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0 || size > sizeof filter.code || size % sizeof filter.code[0] != 0) {
    return failed(Step::filter_check, EINVAL);
  }
  const ssize_t got = ::pread(kFilterFd, static_cast<void*>(filter.code), size, 0);
  if (got < 0) return failed(Step::filter_read, errno);
  if (static_cast<std::size_t>(got) != size) return failed(Step::filter_read, EIO);
  filter.length = static_cast<unsigned>(size / sizeof filter.code[0]);
  if (::close(kFilterFd) != 0) return failed(Step::filter_close, errno);
  return {};
}

// Landlock's first ruleset had to grant execute on the program; this one takes it back.
Failure seal_files(int& abi) {
  abi = landlock_abi();
  if (abi < 0) return failed(Step::seal_create, -abi);
  const core::Fd ruleset(landlock_deny_all(abi));
  if (!ruleset.valid()) return failed(Step::seal_create, -ruleset.get());
  const int enforced = landlock_enforce(ruleset.get());
  if (enforced < 0) return failed(Step::seal_restrict, -enforced);
  return {};
}

}  // namespace

void prepare() noexcept {
  try {
    throw std::exception();  // unwind tables are looked up at the first throw
  } catch (const std::exception&) {
  }
  ::tzset();
  char byte = 0;
  // Only to have the call made once; what needs random bytes checks its own.
  [[maybe_unused]] const ssize_t got = ::getrandom(&byte, sizeof byte, 0);
}

ConfineResult try_confine_self() noexcept {
  ConfineResult result;
  static Filter filter;  // 32 KiB: not on the stack

  result.failure = seal_files(result.report.landlock_abi);
  if (result.failure.step != Step::none) return result;

  if (::prctl(kSetMdwe, kRefuseExecGain, 0, 0, 0) == 0) {
    result.report.no_exec_gain = true;
  } else if (errno != EINVAL) {  // EINVAL: a kernel before 6.3; the filter refuses the same
    result.failure = failed(Step::no_exec_gain, errno);
    return result;
  }
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
    result.failure = failed(Step::not_dumpable, errno);
    return result;
  }

  result.failure = read_filter(filter);
  if (result.failure.step != Step::none) return result;
  const sock_fprog program{static_cast<unsigned short>(filter.length), filter.code};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0U, &program) != 0) {
    result.failure = failed(Step::filter_load, errno);
    return result;
  }
  result.report.filter_length = filter.length;
  return result;
}

core::Result<ConfineReport> confine_self() noexcept {
  const ConfineResult result = try_confine_self();
  if (result.failure.step == Step::none) return result.report;
  core::Error error = core::system_error(result.failure.error, step_name(result.failure.step));
  error.code = core::Errc::confinement;
  return error;
}

}  // namespace heddle::jail

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
#include "heddle/jail/confine/filters.h"
#include "heddle/jail/confine/foreign.h"
#include "heddle/jail/confine/landlock.h"
#include "heddle/jail/confine/notify.h"

namespace heddle::jail {
namespace {

constexpr int kSetMdwe = 65;                  // PR_SET_MDWE
constexpr unsigned long kRefuseExecGain = 1;  // PR_MDWE_REFUSE_EXEC_GAIN
constexpr unsigned kWaitKillable = 1U << 5U;  // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
constexpr int kWantedSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

struct Filters {
  FilterHeader header;
  sock_filter code[3 * BPF_MAXINSNS];
};

// 96 KiB: not on the stack. Kept for narrow_self(), before which none but Heddle's own code runs here.
Filters& own_filters() {
  static Filters filters;
  return filters;
}

Failure failed(Step step, int error) { return Failure{step, error, 0}; }

// Only what was sealed before it was sent is read: nobody can change it between the check and the load.
Failure read_filters(Filters& filters) {
  const int seals = ::fcntl(kFilterFd, F_GET_SEALS);
  if (seals < 0) return failed(Step::filter_check, errno);
  if ((seals & kWantedSeals) != kWantedSeals) return failed(Step::filter_check, EPERM);
  struct stat info {};
  if (::fstat(kFilterFd, &info) != 0) return failed(Step::filter_check, errno);
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size <= sizeof filters.header || size > sizeof filters) return failed(Step::filter_check, EINVAL);
  const ssize_t got = ::pread(kFilterFd, static_cast<void*>(&filters), size, 0);
  if (got < 0) return failed(Step::filter_read, errno);
  if (static_cast<std::size_t>(got) != size) return failed(Step::filter_read, EIO);
  const FilterHeader& header = filters.header;
  if (header.killing == 0 || header.killing > BPF_MAXINSNS || header.notifying > BPF_MAXINSNS ||
      header.second > BPF_MAXINSNS ||
      size !=
          sizeof header + sizeof filters.code[0] * (std::size_t{header.killing} + header.notifying + header.second)) {
    return failed(Step::filter_check, EINVAL);
  }
  if (::close(kFilterFd) != 0) return failed(Step::filter_close, errno);
  return {};
}

// The listener, 0 where none was asked for, or -errno.
int load(sock_filter* code, std::uint32_t length, unsigned flags) {
  const sock_fprog program{static_cast<unsigned short>(length), code};
  const long result = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  return result < 0 ? -errno : static_cast<int>(result);
}

// Once the supervisor has taken a call up, only a signal that ends the process gets it out of there. Otherwise a guest
// whose handlers run often would make the same call, and have it told, again and again. Not before Linux 5.19.
int load_listening(sock_filter* code, std::uint32_t length) {
  const int listener = load(code, length, SECCOMP_FILTER_FLAG_NEW_LISTENER | kWaitKillable);
  return listener == -EINVAL ? load(code, length, SECCOMP_FILTER_FLAG_NEW_LISTENER) : listener;
}

// EBUSY: somebody further out (a container's runtime) listens to this process already. EINVAL: a kernel before 5.0.
bool listener_missing(int error) { return error == EBUSY || error == EINVAL || error == ENOSYS; }

Failure enforce(Filters& filters, NotifyWord order, ConfineReport& report) {
  sock_filter* const killing = filters.code + filters.header.notifying;
  report.filter_length = filters.header.killing;
  if (filters.header.notifying == 0) {
    const int loaded = load(killing, filters.header.killing, 0);
    return loaded < 0 ? failed(Step::filter_load, -loaded) : Failure{};
  }
  const int listener = load_listening(filters.code, filters.header.notifying);
  if (listener < 0) {
    if (order == NotifyWord::required || !listener_missing(-listener)) return failed(Step::filter_load, -listener);
    const int loaded = load(killing, filters.header.killing, 0);
    if (loaded < 0) return failed(Step::filter_load, -loaded);
    const int told = notify_give_up(-listener);
    if (told < 0) return failed(Step::notify_pass, -told);
  } else {
    report.filter_length = filters.header.notifying;
    report.notifies = true;
    const int passed = notify_pass(listener);
    if (passed < 0) return failed(Step::notify_pass, -passed);
    if (::close(listener) != 0) return failed(Step::notify_close, errno);
  }
  return ::close(kNotifyFd) == 0 ? Failure{} : failed(Step::notify_close, errno);
}

// Only once the supervisor has opened this process's memory may nobody look at it any more.
Failure hide_and_enforce(Filters& filters, ConfineReport& report) {
  NotifyWord order = NotifyWord::required;
  if (filters.header.notifying != 0) {
    const int heard = notify_order(order);
    if (heard < 0) return failed(Step::notify_order, -heard);
  }
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return failed(Step::not_dumpable, errno);
  return enforce(filters, order, report);
}

}  // namespace

// Landlock's first ruleset had to grant execute on the program; this one takes it back.
Failure seal_files(int& abi) noexcept {
  abi = landlock_abi();
  if (abi < 0) return failed(Step::seal_create, -abi);
  const core::Fd ruleset(landlock_deny_all(abi));
  if (!ruleset.valid()) return failed(Step::seal_create, -ruleset.get());
  const int enforced = landlock_enforce(ruleset.get());
  if (enforced < 0) return failed(Step::seal_restrict, -enforced);
  return {};
}

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
  Filters& filters = own_filters();

  result.failure = seal_files(result.report.landlock_abi);
  if (result.failure.step != Step::none) return result;

  if (::prctl(kSetMdwe, kRefuseExecGain, 0, 0, 0) == 0) {
    result.report.no_exec_gain = true;
  } else if (errno != EINVAL) {  // EINVAL: a kernel before 6.3; the filter refuses the same
    result.failure = failed(Step::no_exec_gain, errno);
    return result;
  }

  result.failure = read_filters(filters);
  if (result.failure.step != Step::none) return result;
  result.failure = hide_and_enforce(filters, result.report);
  return result;
}

Failure load_filter_only() noexcept {
  Filters& filters = own_filters();
  const Failure failure = read_filters(filters);
  if (failure.step != Step::none) return failure;
  // kNotifyFd would be something else.
  if (filters.header.notifying == 0) return failed(Step::filter_check, EINVAL);
  ConfineReport report;
  return hide_and_enforce(filters, report);
}

Failure narrow_self() noexcept {
  Filters& filters = own_filters();
  const FilterHeader& header = filters.header;
  if (header.second == 0) return failed(Step::second_filter, EINVAL);
  // Positive: the number of a thread that could not be brought along.
  const int loaded = load(filters.code + header.notifying + header.killing, header.second, SECCOMP_FILTER_FLAG_TSYNC);
  return loaded == 0 ? Failure{} : failed(Step::second_filter, loaded < 0 ? -loaded : ESRCH);
}

core::Result<ConfineReport> confine_self() noexcept {
  const ConfineResult result = try_confine_self();
  if (result.failure.step == Step::none) return result.report;
  core::Error error = core::system_error(result.failure.error, step_name(result.failure.step));
  error.code = core::Errc::confinement;
  if (result.failure.step == Step::filter_load && result.failure.error == EBUSY) {
    error.context =
        "another process listens to this one's system calls already, as some container runtimes do; run outside of it, "
        "or let the policy take notifications if_available";
  }
  return error;
}

}  // namespace heddle::jail

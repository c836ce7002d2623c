#include "heddle/jail/launch/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "child.h"
#include "clone.h"
#include "heddle/jail/confine/landlock.h"
#include "namespaces.h"

namespace heddle::jail {
namespace {

constexpr std::size_t kStackBytes = 64U << 10;

SpawnResult failed(Step step, int error, int detail = 0) {
  SpawnResult result;
  result.failure = Failure{step, error, detail};
  return result;
}

class ChildStack {
 public:
  ChildStack() : base_(::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ChildStack(const ChildStack&) = delete;
  ChildStack& operator=(const ChildStack&) = delete;
  ~ChildStack() {
    if (valid()) ::munmap(base_, kStackBytes);
  }
  [[nodiscard]] bool valid() const { return base_ != MAP_FAILED; }
  [[nodiscard]] void* base() const { return base_; }
  [[nodiscard]] void* top() const { return static_cast<char*>(base_) + kStackBytes; }

 private:
  void* base_;
};

// All 64 signals, those that the C library keeps to itself too: a handler that ran in the child would run in our
// memory.
class SignalsBlocked {
 public:
  SignalsBlocked() : error_(set(SIG_BLOCK, ~std::uint64_t{0}, &before_) == 0 ? 0 : errno) {}
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() {
    if (error_ == 0) (void)set(SIG_SETMASK, before_, nullptr);
  }
  [[nodiscard]] int error() const { return error_; }

 private:
  static long set(int how, std::uint64_t mask, std::uint64_t* before) {
    return ::syscall(SYS_rt_sigprocmask, how, &mask, before, sizeof mask);
  }
  std::uint64_t before_ = 0;
  int error_;
};

std::vector<char*> as_vector(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Above what the child overwrites; the original is closed.
bool raise(core::Fd& fd) {
  if (fd.get() >= kSourceFloor) return true;
  core::Fd high(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kSourceFloor));
  if (!high.valid()) return false;
  fd = std::move(high);
  return true;
}

// The first ruleset: everything denied but execute and read on the program itself.
Failure make_ruleset(const core::Fd& program, core::Fd& ruleset, int& abi) {
  abi = landlock_abi();
  if (abi < 0) return Failure{Step::landlock_version, -abi, 0};
  const int raw = landlock_deny_all(abi);
  if (raw < 0) return Failure{Step::landlock_create, -raw, 0};
  ruleset = core::Fd(raw);
  const int allowed = landlock_allow(raw, program.get(), kLandlockExecute | kLandlockReadFile);
  if (allowed < 0) return Failure{Step::landlock_rule, -allowed, 0};
  return {};
}

Failure use_ruleset(core::Fd& given, core::Fd& ruleset, int& abi) {
  abi = landlock_abi();
  if (abi < 0) return Failure{Step::landlock_version, -abi, 0};
  ruleset = std::move(given);
  return {};
}

// Read end first. Nobody ever writes: it is there to end.
bool make_lifeline(core::FdPair& lifeline) {
  int raw[2];
  if (::pipe2(raw, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  lifeline = core::FdPair{core::Fd(raw[0]), core::Fd(raw[1])};
  return true;
}

// Waits for a child that is certain to end, and forgets it.
void collect(const core::Pidfd& child) {
  siginfo_t info{};
  while (::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(child.fd().get()), &info, WEXITED | __WALL) != 0 &&
         errno == EINTR) {
  }
}

bool sane(const SpawnPlan& plan) {
  if (!plan.program.valid() || plan.arguments.empty() || plan.descriptors.size() > kMaxGuestDescriptors) return false;
  for (const core::Fd& fd : plan.descriptors) {
    if (!fd.valid()) return false;
  }
  if (plan.confinement == Confinement::helper) return true;
  if (plan.namespaces.need != Need::off && !plan.namespaces.set.has(Namespace::user)) return false;
  // A guest never runs as root: root must give it an identity, nobody else can.
  const bool root = ::geteuid() == 0;
  return root ? plan.identity.has_value() && *plan.identity != 0 : !plan.identity.has_value();
}

// For whose sake a birth into a group was refused. The kernel has EACCES, EBUSY and EOPNOTSUPP for the group only.
Step failed_birth(int error, bool apart) {
  const Step step = apart ? failed_clone(error) : Step::clone;
  if (error == EAGAIN || error == ENOMEM) return step;
  const bool groups_alone = error == EACCES || error == EBUSY || error == EOPNOTSUPP;
  return apart && !groups_alone ? step : Step::group_enter;
}

// Born in the group where the kernel has clone3 (5.7) and no outer filter hides it, as container runtimes do; otherwise
// the child enters it itself, first of all.
pid_t make_child(ChildOrders& orders, const ChildStack& stack, const core::Fd& group, int& pidfd) {
  const bool apart = orders.namespaces.need != Need::off;
  const unsigned flags =
      CLONE_VM | CLONE_VFORK | CLONE_PIDFD | (apart ? clone_flags(orders.namespaces.set, orders.creator) : 0U);
  core::Fd members;
  if (group.valid()) {
    const CloneOrders born{flags, stack.base(), kStackBytes, group.get(), run_child, &orders};
    const pid_t pid = clone_into_group(born, pidfd);
    if (pid >= 0) return pid;
    orders.report.step = failed_birth(-pid, apart);
    errno = -pid;
    if (pid != -ENOSYS) return -1;
    orders.report.step = Step::group_enter;
    members = core::Fd(::openat(group.get(), "cgroup.procs", O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!members.valid()) return -1;
    orders.members = members.get();
  }
  const pid_t pid =
      ::clone(run_child, stack.top(), static_cast<int>(flags | SIGCHLD), &orders, &pidfd, nullptr, nullptr);
  if (pid < 0) orders.report.step = apart ? failed_clone(errno) : Step::clone;
  return pid;
}

SpawnResult launch(ChildOrders& orders, const core::Fd& group) {
  const ChildStack stack;
  if (!stack.valid()) return failed(Step::child_stack, errno);
  const SignalsBlocked blocked;
  if (blocked.error() != 0) return failed(Step::signals_blocked, blocked.error());

  SpawnResult result;
  int raw_pidfd = -1;
  result.pid = make_child(orders, stack, group, raw_pidfd);
  if (result.pid < 0) return failed(orders.report.step, errno);
  result.child = core::Pidfd(core::Fd(raw_pidfd));

  // The child is past execve, or it has ended. A step before execute that left no errno was cut short by a signal.
  const Failure failure{orders.report.step, orders.report.error, orders.report.detail};
  if (failure.step == Step::execute && failure.error == 0) {
    if (orders.namespaces.need != Need::off) result.namespaces = orders.namespaces.set;
    return result;
  }
  collect(result.child);
  return failed(failure.step, failure.error, failure.detail);
}

}  // namespace

SpawnResult spawn(SpawnPlan plan) noexcept {
  if (!sane(plan)) return failed(Step::request, EINVAL);
  if (!raise(plan.program)) return failed(Step::descriptors_high, errno);
  for (core::Fd& fd : plan.descriptors) {
    if (!raise(fd)) return failed(Step::descriptors_high, errno);
  }
  core::Fd null_device(::open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (!null_device.valid()) return failed(Step::null_device, errno);
  if (!raise(null_device)) return failed(Step::descriptors_high, errno);
  core::Fd ruleset;
  core::FdPair lifeline;
  int abi = 0;
  if (plan.confinement == Confinement::guest) {
    const Failure failure =
        plan.ruleset.valid() ? use_ruleset(plan.ruleset, ruleset, abi) : make_ruleset(plan.program, ruleset, abi);
    if (failure.step != Step::none) return failed(failure.step, failure.error);
    if (!make_lifeline(lifeline)) return failed(Step::lifeline, errno);
    if (!raise(ruleset) || !raise(lifeline.first)) return failed(Step::descriptors_high, errno);
  }

  const std::vector<char*> arguments = as_vector(plan.arguments);
  const std::vector<char*> environment = as_vector(plan.environment);
  ChildOrders orders;
  orders.confinement = plan.confinement;
  orders.null_device = null_device.get();
  orders.program = plan.program.get();
  orders.ruleset = ruleset.get();
  orders.lifeline = lifeline.first.get();
  for (const core::Fd& fd : plan.descriptors) orders.descriptors[orders.descriptor_count++] = fd.get();
  orders.limits = plan.limits.data();
  orders.limit_count = static_cast<unsigned>(plan.limits.size());
  orders.identity = plan.identity.value_or(0);
  orders.arguments = arguments.data();
  orders.environment = environment.data();
  orders.user = plan.identity.value_or(::geteuid());
  orders.group = plan.identity.value_or(::getegid());
  orders.creator = ::geteuid() == 0 ? Creator::root : Creator::user;
  if (plan.confinement == Confinement::guest) orders.namespaces = plan.namespaces;

  SpawnResult result = launch(orders, plan.group);
  if (orders.namespaces.need == Need::if_available && refuses_namespaces(result.failure)) {
    const Failure refused = result.failure;
    orders.namespaces.need = Need::off;
    orders.report = {Step::none, 0, 0};
    orders.members = -1;
    result = launch(orders, plan.group);
    result.no_namespaces = refused;
  }
  result.landlock_abi = abi;
  return result;
}

Ending reap(const core::Pidfd& child) noexcept {
  Ending ending;
  siginfo_t info{};
  rusage usage{};
  // The system call itself: glibc's waitid has no rusage.
  while (::syscall(SYS_waitid, P_PIDFD, child.fd().get(), &info, WEXITED | WNOHANG | __WALL, &usage) != 0) {
    if (errno == EINTR) continue;
    ending.state = Ending::State::lost;
    return ending;
  }
  if (info.si_pid == 0) return ending;
  ending.state = Ending::State::ended;
  ending.signalled = info.si_code != CLD_EXITED;
  ending.code = info.si_status;
  const auto microseconds = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000U + static_cast<std::uint64_t>(time.tv_usec);
  };
  ending.cpu_microseconds = microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
  ending.peak_kib = static_cast<std::uint64_t>(usage.ru_maxrss);
  return ending;
}

}  // namespace heddle::jail

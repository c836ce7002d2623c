#include "birth.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "clone.h"
#include "heddle/jail/confine/landlock.h"
#include "namespaces.h"

namespace heddle::jail {
namespace {

constexpr std::size_t kStackBytes = 64U << 10;

long set_mask(int how, std::uint64_t mask, std::uint64_t* before) {
  return ::syscall(SYS_rt_sigprocmask, how, &mask, before, sizeof mask);
}

std::vector<char*> as_vector(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// For whose sake a birth into a group was refused. The kernel has EACCES, EBUSY and EOPNOTSUPP for the group only.
Step failed_birth(int error, bool apart) {
  const Step step = apart ? failed_clone(error) : Step::clone;
  if (error == EAGAIN || error == ENOMEM) return step;
  const bool groups_alone = error == EACCES || error == EBUSY || error == EOPNOTSUPP;
  return apart && !groups_alone ? step : Step::group_enter;
}

}  // namespace

ChildStack::ChildStack()
    : base_(::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
ChildStack::~ChildStack() {
  if (valid()) ::munmap(base_, kStackBytes);
}
bool ChildStack::valid() const { return base_ != MAP_FAILED; }
void* ChildStack::top() const { return static_cast<char*>(base_) + kStackBytes; }
std::size_t ChildStack::size() { return kStackBytes; }

SignalsBlocked::SignalsBlocked() : error_(set_mask(SIG_BLOCK, ~std::uint64_t{0}, &before_) == 0 ? 0 : errno) {}
SignalsBlocked::~SignalsBlocked() {
  if (error_ == 0) (void)set_mask(SIG_SETMASK, before_, nullptr);
}

// Born in the group where the kernel has clone3 (5.7) and no outer filter hides it, as container runtimes do; otherwise
// the child enters it itself, first of all.
pid_t make_child(ChildOrders& orders, int (*child)(void*), Parent parent, const ChildStack& stack,
                 const core::Fd& group, int& pidfd) {
  const bool apart = orders.namespaces.need != Need::off;
  const unsigned flags = CLONE_VM | CLONE_PIDFD | (parent == Parent::stopped ? CLONE_VFORK : 0U) |
                         (apart ? clone_flags(orders.namespaces.set, orders.creator) : 0U);
  core::Fd members;
  if (group.valid()) {
    const CloneOrders born{flags, stack.base(), ChildStack::size(), group.get(), child, &orders};
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
  const pid_t pid = ::clone(child, stack.top(), static_cast<int>(flags | SIGCHLD), &orders, &pidfd, nullptr, nullptr);
  if (pid < 0) orders.report.step = apart ? failed_clone(errno) : Step::clone;
  return pid;
}

bool raise(core::Fd& fd) {
  if (fd.get() >= kSourceFloor) return true;
  core::Fd high(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kSourceFloor));
  if (!high.valid()) return false;
  fd = std::move(high);
  return true;
}

bool make_lifeline(core::FdPair& lifeline) {
  int raw[2];
  if (::pipe2(raw, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  lifeline = core::FdPair{core::Fd(raw[0]), core::Fd(raw[1])};
  return true;
}

void collect(const core::Pidfd& child) {
  siginfo_t info{};
  while (::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(child.fd().get()), &info, WEXITED | __WALL) != 0 &&
         errno == EINTR) {
  }
}

bool right_identity(std::optional<std::uint32_t> identity) {
  return ::geteuid() == 0 ? identity.has_value() && *identity != 0 : !identity.has_value();
}

bool sane(const SpawnPlan& plan) {
  if (!plan.program.valid() || plan.arguments.empty() || plan.descriptors.size() > kMaxGuestDescriptors) return false;
  for (const core::Fd& fd : plan.descriptors) {
    if (!fd.valid()) return false;
  }
  if (plan.confinement == Confinement::helper) return true;
  if (plan.namespaces.need != Need::off && !plan.namespaces.set.has(Namespace::user)) return false;
  return right_identity(plan.identity);
}

PlanWords::PlanWords(SpawnPlan& plan)
    : plan_(plan), arguments_(as_vector(plan.arguments)), environment_(as_vector(plan.environment)) {}

void PlanWords::fill(ChildOrders& orders) const {
  orders.confinement = plan_.confinement;
  orders.limits = plan_.limits.data();
  orders.limit_count = static_cast<unsigned>(plan_.limits.size());
  orders.identity = plan_.identity.value_or(0);
  orders.arguments = arguments_.data();
  orders.environment = environment_.data();
  orders.user = plan_.identity.value_or(::geteuid());
  orders.group = plan_.identity.value_or(::getegid());
  orders.creator = ::geteuid() == 0 ? Creator::root : Creator::user;
  if (plan_.confinement == Confinement::guest) orders.namespaces = plan_.namespaces;
}

Failure take_ruleset(SpawnPlan& plan, int& abi) {
  abi = landlock_abi();
  if (abi < 0) return Failure{Step::landlock_version, -abi, 0};
  if (plan.ruleset.valid()) return {};
  const int raw = landlock_deny_all(abi);
  if (raw < 0) return Failure{Step::landlock_create, -raw, 0};
  plan.ruleset = core::Fd(raw);
  const int allowed = landlock_allow(raw, plan.program.get(), kLandlockExecute | kLandlockReadFile);
  if (allowed < 0) return Failure{Step::landlock_rule, -allowed, 0};
  return {};
}

// A step before execute that left no errno was cut short by a signal.
SpawnResult judge(const ChildOrders& orders, pid_t pid, core::Pidfd child) {
  const Failure failure{orders.report.step, orders.report.error, orders.report.detail};
  if (failure.step != Step::execute || failure.error != 0) {
    collect(child);
    return failed(failure.step, failure.error, failure.detail);
  }
  SpawnResult result;
  result.pid = pid;
  result.child = std::move(child);
  if (orders.namespaces.need != Need::off) result.namespaces = orders.namespaces.set;
  return result;
}

}  // namespace heddle::jail

#include "heddle/jail/launch/spawn.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "birth.h"
#include "namespaces.h"

namespace heddle::jail {
namespace {

SpawnResult launch(ChildOrders& orders, const core::Fd& group) {
  const ChildStack stack;
  if (!stack.valid()) return failed(Step::child_stack, errno);
  const SignalsBlocked blocked;
  if (blocked.error() != 0) return failed(Step::signals_blocked, blocked.error());
  int pidfd = -1;
  const pid_t pid = make_child(orders, run_child, Parent::stopped, stack, group, pidfd);
  if (pid < 0) return failed(orders.report.step, errno);
  return judge(orders, pid, core::Pidfd(core::Fd(pidfd)));
}

}  // namespace

SpawnResult spawn(SpawnPlan& plan) noexcept {
  if (!sane(plan)) return failed(Step::request, EINVAL);
  if (!raise(plan.program)) return failed(Step::descriptors_high, errno);
  for (core::Fd& fd : plan.descriptors) {
    if (!raise(fd)) return failed(Step::descriptors_high, errno);
  }
  core::Fd null_device(::open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (!null_device.valid()) return failed(Step::null_device, errno);
  if (!raise(null_device)) return failed(Step::descriptors_high, errno);
  core::FdPair lifeline;
  int abi = 0;
  if (plan.confinement == Confinement::guest) {
    const Failure failure = take_ruleset(plan, abi);
    if (failure.step != Step::none) return failed(failure.step, failure.error);
    if (!make_lifeline(lifeline)) return failed(Step::lifeline, errno);
    if (!raise(plan.ruleset) || !raise(lifeline.first)) return failed(Step::descriptors_high, errno);
  }

  const PlanWords words(plan);
  ChildOrders orders;
  words.fill(orders);
  orders.null_device = null_device.get();
  orders.program = plan.program.get();
  orders.ruleset = plan.ruleset.get();
  orders.lifeline = lifeline.first.get();
  for (const core::Fd& fd : plan.descriptors) orders.descriptors[orders.descriptor_count++] = fd.get();

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

SpawnResult spawn(SpawnPlan&& plan) noexcept {
  SpawnPlan consumed = std::move(plan);
  return spawn(consumed);
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

#include "heddle/jail/launch/prepared.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "birth.h"

namespace heddle::jail {

// The child reads the orders, on that stack, for as long as it lives.
struct Prepared::State {
  ChildOrders orders;
  ChildStack stack;
  core::Fd handover;  // our end of the socket
  core::Fd lifeline;  // the end that it must not outlive
  pid_t pid = -1;
  core::Pidfd child;
};

namespace {

constexpr std::size_t kMost = 2 + kMaxGuestDescriptors;

// One byte: it waits. None: it has ended, or it is past execve.
ssize_t hear(const core::Fd& socket) {
  char byte = 0;
  for (;;) {
    const ssize_t got = ::recv(socket.get(), &byte, sizeof byte, 0);
    if (got >= 0 || errno != EINTR) return got;
  }
}

bool send_descriptors(const core::Fd& socket, const SpawnPlan& plan) {
  int raw[kMost] = {};
  std::size_t count = 0;
  for (const core::Fd& fd : plan.descriptors) raw[count++] = fd.get();
  raw[count++] = plan.program.get();
  raw[count++] = plan.ruleset.get();
  char byte = 0;
  iovec part{&byte, sizeof byte};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof raw)] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* const rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(rights), raw, count * sizeof(int));
  return ::sendmsg(socket.get(), &header, MSG_NOSIGNAL) == 1;
}

Failure open_all(core::Fd& null_device, core::FdPair& lifeline, core::FdPair& handover) {
  null_device = core::Fd(::open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (!null_device.valid()) return {Step::null_device, errno, 0};
  if (!make_lifeline(lifeline)) return {Step::lifeline, errno, 0};
  int raw[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw) != 0) return {Step::handover, errno, 0};
  handover = core::FdPair{core::Fd(raw[0]), core::Fd(raw[1])};
  if (!raise(null_device) || !raise(lifeline.first) || !raise(handover.second)) {
    return {Step::descriptors_high, errno, 0};
  }
  return {};
}

}  // namespace

Prepared::Prepared(std::unique_ptr<State> state) : state_(std::move(state)) {}

Prepared::~Prepared() {
  if (!state_->child.valid()) return;
  (void)state_->child.send_signal(SIGKILL);  // fails only when it has ended
  collect(state_->child);
}

Prepared::Made Prepared::make(const NamespaceOrder& order, std::optional<std::uint32_t> identity,
                              const core::Fd& group) {
  if (!right_identity(identity)) return {nullptr, {Step::request, EINVAL, 0}};
  core::Fd null_device;
  core::FdPair lifeline;
  core::FdPair handover;
  const Failure failure = open_all(null_device, lifeline, handover);
  if (failure.step != Step::none) return {nullptr, failure};

  auto state = std::make_unique<State>();
  if (!state->stack.valid()) return {nullptr, {Step::child_stack, errno, 0}};
  SpawnPlan nothing;
  nothing.namespaces = order;
  nothing.identity = identity;
  const PlanWords words(nothing);
  words.fill(state->orders);
  state->orders.null_device = null_device.get();
  state->orders.lifeline = lifeline.first.get();
  state->orders.handover = handover.second.get();

  const SignalsBlocked blocked;
  if (blocked.error() != 0) return {nullptr, {Step::signals_blocked, blocked.error(), 0}};
  int pidfd = -1;
  state->pid = make_child(state->orders, run_prepared_child, Parent::goes_on, state->stack, group, pidfd);
  if (state->pid < 0) return {nullptr, {state->orders.report.step, errno, 0}};
  state->child = core::Pidfd(core::Fd(pidfd));
  state->handover = std::move(handover.first);
  state->lifeline = std::move(lifeline.second);
  handover.second.reset();  // so that the child's is the only one
  if (hear(state->handover) != 1) {
    collect(state->child);
    const ChildOrders::Report& report = state->orders.report;
    return {nullptr, {report.step, report.error, report.detail}};
  }
  return {std::unique_ptr<Prepared>(new Prepared(std::move(state))), {}};
}

pid_t Prepared::pid() const noexcept { return state_->pid; }

bool Prepared::fits(const SpawnPlan& plan) const noexcept {
  return plan.confinement == Confinement::guest && plan.namespaces == state_->orders.namespaces &&
         plan.identity.value_or(0) == state_->orders.identity;
}

std::optional<SpawnResult> Prepared::run(SpawnPlan& plan) noexcept {
  if (!sane(plan) || !fits(plan)) return failed(Step::request, EINVAL);
  int abi = 0;
  const Failure failure = take_ruleset(plan, abi);
  if (failure.step != Step::none) return failed(failure.step, failure.error);
  const PlanWords words(plan);
  ChildOrders& orders = state_->orders;
  words.fill(orders);
  orders.descriptor_count = static_cast<unsigned>(plan.descriptors.size());
  orders.report = {Step::none, 0, 0};

  const SignalsBlocked blocked;
  if (blocked.error() != 0) return failed(Step::signals_blocked, blocked.error());
  const bool sent = send_descriptors(state_->handover, plan);
  if (!sent && errno != EPIPE && errno != ECONNRESET) return failed(Step::handover, errno);
  if (sent) {
    while (hear(state_->handover) > 0) {
    }
  }
  SpawnResult result = judge(orders, state_->pid, std::move(state_->child));
  result.landlock_abi = abi;
  const Step failed_at = result.failure.step;
  const bool never_began = (failed_at == Step::none && result.pid == 0) || failed_at == Step::handover;
  if (never_began) return std::nullopt;
  return result;
}

}  // namespace heddle::jail

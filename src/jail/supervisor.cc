#include "heddle/jail/supervisor.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "heddle/core/text.h"
#include "heddle/jail/launch/control.h"
#include "heddle/jail/launch/group_control.h"
#include "heddle/wire/hello.h"
#include "identities.h"
#include "link.h"

namespace heddle::jail {
namespace {

using core::Errc;

core::Result<core::FdPair> control_pair() {
  int raw[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw) != 0)
    return core::system_error("make a control socket");
  return core::FdPair{core::Fd(raw[0]), core::Fd(raw[1])};
}

core::Result<void> shake_hands(Link& link, const std::string& path, core::Deadline deadline) {
  core::Result<Packet> reply = link.ask(wire::Message("hello"), {}, deadline);
  if (reply.ok()) return wire::accept_ready(std::move(reply.value().message), path);
  core::Error error = reply.error();
  error.step = "start heddle-supervisor";
  error.context = path + ": " + error.context;
  return error;
}

core::Result<IdentityRange> identities(const IdentityRange& wanted) {
  const core::Fd file(::open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return core::system_error("open /proc/self/uid_map", "is /proc mounted?");
  HEDDLE_ASSIGN(const std::string map, core::read_all(file, std::size_t{64} << 10));
  std::uint32_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    return core::system_error("getrandom");
  return choose_identities(wanted, map, random);
}

std::vector<ResourceLimit> resource_limits(const Policy& policy) {
  const Limits& limits = policy.limits();
  std::vector<ResourceLimit> list = {
      {RLIMIT_DATA, limits.data_bytes},
      {RLIMIT_STACK, limits.stack_bytes},
      {RLIMIT_CPU, static_cast<std::uint64_t>(limits.cpu.count())},
      {RLIMIT_NOFILE, limits.open_files},
      {RLIMIT_NPROC, limits.processes},
      {RLIMIT_FSIZE, limits.file_bytes},
      {RLIMIT_CORE, 0},
      {RLIMIT_MEMLOCK, 0},
      {RLIMIT_MSGQUEUE, 0},
      {RLIMIT_NICE, 0},
      {RLIMIT_RTPRIO, 0},
  };
  if (policy.profile() == Profile::program) list.push_back({RLIMIT_SIGPENDING, kPendingSignals});
  return list;
}

NotifyOrder notify_order(Notifications notifications) {
  switch (notifications) {
    case Notifications::off:
      return NotifyOrder::off;
    case Notifications::if_available:
      return NotifyOrder::if_available;
    case Notifications::required:
      return NotifyOrder::required;
  }
  return NotifyOrder::required;
}

core::Result<void> choose_groups(Link& link, const CgroupOptions& options, core::Deadline deadline) {
  if (!core::valid_utf8(options.folder)) {
    return core::make_error(Errc::invalid_argument, "start heddle-supervisor", "a cgroup folder that is not text");
  }
  GroupChoice choice;
  choice.parent = static_cast<GroupChoice::Parent>(options.parent);
  choice.host = static_cast<GroupChoice::Host>(options.host);
  choice.folder = options.folder;
  HEDDLE_ASSIGN(Packet reply, link.ask(encode_choice(choice), {}, deadline));
  HEDDLE_ASSIGN([[maybe_unused]] const std::uint64_t removed, reply.message.take_number("removed"));
  return reply.message.finish();
}

core::Result<Failure> decode_failure(wire::Message& message) {
  HEDDLE_ASSIGN(const std::uint64_t step, message.take_number("step", kStepCount - 1));
  HEDDLE_ASSIGN(const std::uint64_t error, message.take_number("errno", 4095));
  HEDDLE_ASSIGN(const std::uint64_t detail, message.take_number("detail", INT32_MAX));
  HEDDLE_TRY(message.finish());
  return Failure{static_cast<Step>(step), static_cast<int>(error), static_cast<int>(detail)};
}

core::Result<Failure> ask_prepare(Link& link, const PrepareOrder& order, bool& kept) {
  HEDDLE_ASSIGN(Packet reply, link.ask(encode_prepare(order)));
  if (reply.message.op() == "failed") return decode_failure(reply.message);
  HEDDLE_ASSIGN(kept, reply.message.take_bool("kept"));
  HEDDLE_TRY(reply.message.finish());
  return Failure{};
}

core::Result<AppliedNamespaces> decode_namespaces(wire::Message& message, Need wanted) {
  HEDDLE_ASSIGN(const std::uint64_t set, message.take_number("namespaces", kAllNamespaces.bits()));
  HEDDLE_ASSIGN(const std::uint64_t refused, message.take_number("refused", kStepCount - 1));
  HEDDLE_ASSIGN(const std::uint64_t error, message.take_number("errno", 4095));
  return AppliedNamespaces{wanted, NamespaceSet(static_cast<std::uint8_t>(set)),
                           Failure{static_cast<Step>(refused), static_cast<int>(error), 0}};
}

}  // namespace

core::Result<Program> open_supervisor(const SupervisorOptions& options) {
  std::string path = options.program;
  if (path.empty()) {
    HEDDLE_ASSIGN(path, helper_path("heddle-supervisor"));
  }
  return open_program(path);
}

core::Result<Supervisor> Supervisor::start(const SupervisorOptions& options) {
  HEDDLE_ASSIGN(const Program program, open_supervisor(options));
  return start(program, options);
}

core::Result<Supervisor> Supervisor::start(const Program& program, const SupervisorOptions& options) {
  HEDDLE_ASSIGN(core::FdPair sockets, control_pair());
  HEDDLE_ASSIGN(const core::Pidfd self, core::Pidfd::open(::getpid()));

  SpawnPlan plan;
  plan.confinement = Confinement::helper;
  HEDDLE_ASSIGN(plan.program, program.fd().duplicate());
  plan.arguments = {"heddle-supervisor"};
  plan.descriptors.push_back(std::move(sockets.second));
  HEDDLE_ASSIGN(core::Fd host, self.fd().duplicate());
  plan.descriptors.push_back(std::move(host));
  SpawnResult spawned = jail::spawn(std::move(plan));
  if (spawned.failure.step != Step::none) {
    core::Error error = refused(spawned.failure);
    error.step = "start heddle-supervisor: " + error.step;
    return error;
  }
  auto link =
      std::make_shared<Link>(std::move(sockets.first), spawned.pid, std::move(spawned.child), options.request_timeout);
  HEDDLE_TRY(shake_hands(*link, program.path(), core::Deadline::after(options.start_timeout)));
  HEDDLE_TRY(link->read_outer_filters());
  HEDDLE_TRY(choose_groups(*link, options.cgroup, core::Deadline::after(options.start_timeout)));
  if (::geteuid() == 0) {
    HEDDLE_ASSIGN(const IdentityRange range, identities(options.identities));
    link->first_identity = range.first;
    link->identity_count = range.count;
  }
  return Supervisor(std::move(link));
}

Supervisor::~Supervisor() {
  if (link_) link_->end();
}

pid_t Supervisor::pid() const noexcept { return link_->pid(); }

core::Result<void> Supervisor::prepare(const Policy& policy) {
  const NamespaceOrder& order = policy.namespaces();
  if (order.need != Need::off && order.set.has(Namespace::mount) && order.root == Root::host) {
    return core::make_error(Errc::unsupported, "prepare guests",
                            "a guest with a copy of the host's root folder gets the mounts of the time when it starts");
  }
  PrepareOrder request{{order, policy.limits().group}, std::nullopt};
  if (link_->identity_count != 0) {
    HEDDLE_ASSIGN(request.identity, link_->take_identity());
  }
  bool kept = false;
  const core::Result<Failure> answered = ask_prepare(*link_, request, kept);
  if (request.identity && !kept) link_->give_back_identity(*request.identity);
  HEDDLE_TRY(answered);
  const Failure& failure = answered.value();
  if (failure.step == Step::none) return {};
  if (failure.step == Step::request) {
    return core::make_error(Errc::exhausted, "prepare guests",
                            "children are kept ready for " + std::to_string(kMaxPrepared) + " kinds of policy already");
  }
  core::Error error = refused(failure);
  error.step = "prepare guests: " + error.step;
  return error;
}

core::Result<Guest> Supervisor::spawn(const Policy& policy, const Program& program,
                                      const std::vector<std::string>& arguments, core::Fd channel,
                                      const std::vector<core::Fd>& more, core::Deadline deadline) {
  SpawnPlan plan;  // descriptors travel beside it
  plan.arguments.push_back(core::bound_text(program.path()));
  for (const std::string& argument : arguments) {
    if (!core::valid_utf8(argument) || argument.find('\0') != std::string::npos) {
      return core::make_error(Errc::invalid_argument, "spawn a guest", "an argument that is not text");
    }
    plan.arguments.push_back(argument);
  }
  plan.environment = policy.environment();
  plan.limits = resource_limits(policy);
  plan.notify = {
      notify_order(policy.denials().notifications), policy.denials().quota, policy.observed(), policy.one_program(),
      policy.profile() == Profile::program,         policy.births()};
  plan.group_limits = policy.limits().group;
  plan.namespaces = policy.namespaces();
  plan.deadline = deadline;
  if (link_->identity_count != 0) {
    HEDDLE_ASSIGN(plan.identity, link_->take_identity());
  }
  const auto forget_identity = [&] {
    if (plan.identity) link_->give_back_identity(*plan.identity);
  };

  std::vector<const core::Fd*> descriptors = {&program.fd()};
  if (policy.ruleset().valid()) descriptors.push_back(&policy.ruleset());
  descriptors.push_back(&channel);
  descriptors.push_back(&policy.sealed_filter());
  for (const core::Fd& fd : more) descriptors.push_back(&fd);
  wire::Message request = encode_spawn(plan);
  request.set("ruleset", policy.ruleset().valid());
  core::Result<Packet> reply = link_->ask(request, descriptors);
  if (!reply.ok()) {
    forget_identity();
    return reply.error();
  }
  wire::Message& message = reply.value().message;
  if (message.op() == "failed") {
    forget_identity();
    HEDDLE_ASSIGN(const Failure failure, decode_failure(message));
    return refused(failure);
  }
  HEDDLE_ASSIGN(const std::uint64_t id, message.take_number("id"));
  HEDDLE_ASSIGN(const std::uint64_t pid, message.take_number("pid", INT32_MAX));
  HEDDLE_ASSIGN(const std::optional<std::uint32_t> identity, decode_identity(message));
  HEDDLE_ASSIGN(AppliedCgroup group, decode_applied(message));
  HEDDLE_ASSIGN(const std::uint64_t landlock_abi, message.take_number("landlock", INT32_MAX));
  HEDDLE_ASSIGN(const AppliedNamespaces namespaces, decode_namespaces(message, plan.namespaces.need));
  HEDDLE_TRY(message.finish());
  if (reply.value().descriptors.size() != 1) {
    return core::make_error(Errc::protocol, "spawn a guest", "no process descriptor came back");
  }
  return Guest(link_, id, static_cast<pid_t>(pid), core::Pidfd(std::move(reply.value().descriptors.front())),
               identity.value_or(0), policy, namespaces, static_cast<int>(landlock_abi), std::move(group));
}

}  // namespace heddle::jail

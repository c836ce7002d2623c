#include "supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "heddle/jail/confine/confine.h"
#include "heddle/jail/confine/notify.h"
#include "heddle/jail/launch/group_control.h"
#include "heddle/wire/hello.h"
#include "strays.h"

namespace heddle::supervisor {
namespace {

using core::Errc;

// Keys of the epoll set; guests' ids start at 1 and never reach these.
constexpr std::uint64_t kControlKey = UINT64_MAX;
constexpr std::uint64_t kHostKey = UINT64_MAX - 1;
constexpr int kDyingMilliseconds = 5;  // between two tries to remove a group whose processes are dying
constexpr int kDyingTries = 400;
// Nothing was asked for so long: then descriptors are closed and a child is made ahead. At once would take a processor
// from the guest that has just been started, and whoever waits for that one's end would wait for this too.
constexpr int kQuietMilliseconds = 1;
constexpr std::size_t kMostLeftOpen = 128;

wire::Message refusal(const jail::Failure& failure) {
  wire::Message reply("failed");
  reply.set("step", static_cast<std::uint32_t>(failure.step));
  reply.set("errno", static_cast<std::uint32_t>(failure.error));
  reply.set("detail", static_cast<std::uint32_t>(failure.detail));
  return reply;
}

// The pair over which a guest's listener comes; the far end becomes the guest's descriptor kNotifyFd, before what a
// stub gets besides.
jail::Failure add_notify_socket(jail::SpawnPlan& plan, core::Fd& near_end) {
  constexpr std::ptrdiff_t kPlace = jail::kNotifyFd - jail::kChannelFd;
  if (plan.notify.order == jail::NotifyOrder::off) return {};
  if (plan.descriptors.size() < static_cast<std::size_t>(kPlace)) return {jail::Step::request, EINVAL, 0};
  int raw[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw) != 0) return {jail::Step::notify_socket, errno, 0};
  near_end = core::Fd(raw[0]);
  plan.descriptors.insert(plan.descriptors.begin() + kPlace, core::Fd(raw[1]));
  return {};
}

// Whoever is the last in a mount namespace takes it apart, for which the kernel waits until no processor looks at it
// any more: a guest, before its end is told to anybody. So we are in it too, and leave later. Without this it only
// takes longer.
core::Fd mounts_of(pid_t guest) {
  const std::string path = "/proc/" + std::to_string(guest) + "/ns/mnt";
  return core::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

// The one process that a guest is by default cannot.
bool may_fork(const jail::SpawnPlan& plan) {
  return std::none_of(plan.limits.begin(), plan.limits.end(), [](const jail::ResourceLimit& limit) {
    return limit.resource == RLIMIT_NPROC && limit.value <= 1;
  });
}

}  // namespace

core::Result<void> Supervisor::watch(const core::Fd& fd, std::uint64_t key) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = key;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0) return core::system_error("epoll_ctl");
  return {};
}

core::Result<void> Supervisor::run() {
  epoll_ = core::Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return core::system_error("epoll_create1");
  HEDDLE_TRY(watch(control_, kControlKey));
  HEDDLE_TRY(watch(host_.fd(), kHostKey));
  for (;;) {
    epoll_event event{};
    end_late_guests();  // first: whatever comes in, and however fast
    const bool removed = remove_dying();
    const int patience = sweep() && removed ? -1 : kDyingMilliseconds;
    const bool idle = left_open_.empty() && all_ready();
    const int ready = ::epoll_wait(epoll_.get(), &event, 1, until_deadline(idle ? patience : kQuietMilliseconds));
    if (ready == 0 || left_open_.size() > kMostLeftOpen) left_open_.clear();
    if (ready == 0) make_one_ready();
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    if (ready < 0) return core::system_error("epoll_wait");
    if (event.data.u64 == kHostKey) return {};
    if (event.data.u64 != kControlKey) {
      HEDDLE_TRY(handle(event.data.u64, event.events));
      continue;
    }
    const core::Result<void> served = serve();
    if (!served.ok() && served.error().code == Errc::disconnected) return {};
    HEDDLE_TRY(served);
  }
}

void Supervisor::unwatch(const core::Fd& fd) { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd.get(), nullptr); }

core::Result<void> Supervisor::handle(std::uint64_t key, std::uint32_t events) {
  const auto source = static_cast<Source>(key & 3U);
  if (source != Source::process) return notified(key >> 2U, source, events);
  look_at(key >> 2U);
  return {};
}

core::Result<void> Supervisor::notified(std::uint64_t id, Source source, std::uint32_t events) {
  const auto found = guests_.find(id);
  if (found == guests_.end()) return {};
  Guest& guest = found->second;
  jail::Notifier& notifier = guest.notifier;
  const core::Fd& readable = source == Source::socket ? notifier.socket() : notifier.listener();
  if (!readable.valid()) return {};
  switch (source == Source::socket ? notifier.take_message() : notifier.serve(events)) {
    case jail::Notifier::Verdict::go_on:
      return {};
    case jail::Notifier::Verdict::listen:
      return watch(notifier.listener(), event_key(id, Source::listener));
    case jail::Notifier::Verdict::closed:
      unwatch(readable);
      return {};
    case jail::Notifier::Verdict::kill:
      unwatch(readable);
      (void)guest.process.send_signal(SIGKILL);  // fails only when it has ended
      return {};
  }
  return {};
}

core::Result<void> Supervisor::serve() {
  HEDDLE_ASSIGN(jail::Packet packet, jail::receive_packet(control_, core::Deadline::never()));
  const std::string op = packet.message.op();
  if (op == "spawn") return spawn(std::move(packet));
  if (op == "prepare") return prepare(std::move(packet.message));
  if (op == "status") return status(packet.message);
  if (op == "close") return close(packet.message);
  if (op == "deadline") return deadline(packet.message);
  if (op == "notify") return notify(packet.message);
  if (op == "denials") return denials(packet.message);
  if (op == "groups") return groups(packet.message);
  if (op == "hello") return jail::send_packet(control_, wire::ready_message(), {});
  return core::make_error(Errc::protocol, "read a request", "unknown request " + op);
}

core::Result<void> Supervisor::spawn(jail::Packet packet) {
  HEDDLE_ASSIGN(jail::SpawnPlan plan, jail::decode_spawn(std::move(packet)));
  core::Fd notify_socket;
  const jail::Failure unready = add_notify_socket(plan, notify_socket);
  if (unready.step != jail::Step::none) return jail::send_packet(control_, refusal(unready), {});
  std::unique_ptr<jail::Prepared> ready;
  jail::ControlGroup group;
  jail::AppliedCgroup applied;
  jail::SpawnResult spawned = launch(plan, ready, group, applied);
  if (spawned.failure.step != jail::Step::none) {
    give_up(std::move(group));
    return jail::send_packet(control_, refusal(spawned.failure), {});
  }

  const std::uint64_t id = next_id_++;
  Guest& guest = guests_[id];
  guest.process = std::move(spawned.child);
  guest.pid = spawned.pid;
  guest.leaves = !spawned.namespaces.has(jail::Namespace::pid) && may_fork(plan);
  if (plan.notify.order != jail::NotifyOrder::off) {
    const jail::HeldIds ids{plan.identity.value_or(::geteuid()), plan.identity.value_or(::getegid())};
    guest.notifier = jail::Notifier(std::move(plan.notify), spawned.pid, ids, std::move(notify_socket));
    // Before all else: the guest waits for it with its filter.
    if (guest.notifier.begin() == jail::Notifier::Verdict::kill) {
      (void)guest.process.send_signal(SIGKILL);  // fails only when it has ended
    }
    HEDDLE_TRY(watch(guest.notifier.socket(), event_key(id, Source::socket)));
  }
  HEDDLE_TRY(watch(guest.process.fd(), event_key(id, Source::process)));
  guest.group = std::move(group);
  set_deadline(id, guest, plan.deadline);
  wire::Message reply("spawned");
  reply.set("id", id).set("pid", static_cast<std::uint32_t>(spawned.pid));
  jail::encode_identity(plan.identity, reply);
  jail::encode_applied(applied, reply);
  reply.set("landlock", static_cast<std::uint32_t>(spawned.landlock_abi));
  reply.set("namespaces", std::uint32_t{spawned.namespaces.bits()});
  reply.set("refused", static_cast<std::uint32_t>(spawned.no_namespaces.step));
  reply.set("errno", static_cast<std::uint32_t>(spawned.no_namespaces.error));
  // What the plan and the child made ahead still hold is closed after the reply.
  HEDDLE_TRY(jail::send_packet(control_, reply, {&guest.process.fd()}));
  if (spawned.namespaces.has(jail::Namespace::mount)) guest.mounts = mounts_of(spawned.pid);
  return {};
}

core::Result<void> Supervisor::groups(wire::Message& request) {
  HEDDLE_ASSIGN(jail::GroupChoice choice, jail::decode_choice(request));
  if (groups_) return core::make_error(Errc::protocol, "read a request", "groups asked for twice");
  groups_ = std::make_unique<jail::GroupTree>(std::move(choice));
  wire::Message reply("groups");
  reply.set("removed", groups_->sweep());
  return jail::send_packet(control_, reply, {});
}

jail::Failure Supervisor::make_group(const jail::GroupLimits& limits, jail::ControlGroup& group,
                                     jail::AppliedCgroup& applied, core::Fd& folder) {
  if (!limits.any()) return {};
  if (!groups_) groups_ = std::make_unique<jail::GroupTree>(jail::GroupChoice{});
  const jail::Failure failure = groups_->make(limits, group, applied);
  if (failure.step != jail::Step::none || !group.valid()) return failure;
  core::Result<core::Fd> duplicate = group.folder().fd().duplicate();
  if (!duplicate.ok()) {
    give_up(std::move(group));
    return jail::Failure{jail::Step::descriptors_high, duplicate.error().sys_errno, 0};
  }
  folder = std::move(duplicate).value();
  return {};
}

std::vector<Supervisor::Kind>::iterator Supervisor::find_kind(const jail::GuestKind& guests) {
  return std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& kind) { return kind.guests == guests; });
}

jail::SpawnResult Supervisor::launch(jail::SpawnPlan& plan, std::unique_ptr<jail::Prepared>& ready,
                                     jail::ControlGroup& group, jail::AppliedCgroup& applied) {
  const auto kind = find_kind({plan.namespaces, plan.group_limits});
  if (kind != kinds_.end() && kind->child) {
    ready = std::move(kind->child);
    group = std::move(kind->group);
    applied = std::move(kind->applied);
    std::swap(plan.identity, kind->identity);
    std::optional<jail::SpawnResult> spawned = ready->run(plan);
    if (spawned && spawned->failure.step == jail::Step::none) return *std::move(spawned);
    std::swap(plan.identity, kind->identity);
    if (spawned) return *std::move(spawned);
    give_up(std::move(group));
    group = jail::ControlGroup();
    applied = jail::AppliedCgroup();
  }
  jail::SpawnResult refused;
  refused.failure = make_group(plan.group_limits, group, applied, plan.group);
  if (refused.failure.step != jail::Step::none) return refused;
  return jail::spawn(plan);
}

core::Result<void> Supervisor::prepare(wire::Message request) {
  HEDDLE_ASSIGN(jail::PrepareOrder order, jail::decode_prepare(std::move(request)));
  auto kind = find_kind(order.kind);
  const bool known = kind != kinds_.end();
  if (!known) {
    if (kinds_.size() == jail::kMaxPrepared) {
      return jail::send_packet(control_, refusal({jail::Step::request, ENOSPC, 0}), {});
    }
    kind = kinds_.emplace(kinds_.end());
    kind->guests = std::move(order.kind);
    kind->identity = order.identity;
  }
  const jail::Failure failure = kind->child ? jail::Failure{} : make_ready(*kind);
  kind->given_up = false;
  if (failure.step == jail::Step::none) {
    wire::Message reply("prepared");
    reply.set("kept", !known);
    return jail::send_packet(control_, reply, {});
  }
  if (known) {
    kind->given_up = true;
  } else {
    kinds_.erase(kind);
  }
  return jail::send_packet(control_, refusal(failure), {});
}

jail::Failure Supervisor::make_ready(Kind& kind) {
  core::Fd folder;
  const jail::Failure no_group = make_group(kind.guests.group_limits, kind.group, kind.applied, folder);
  if (no_group.step != jail::Step::none) return no_group;
  jail::Prepared::Made made = jail::Prepared::make(kind.guests.namespaces, kind.identity, folder);
  kind.child = std::move(made.child);
  if (!kind.child) give_up(std::move(kind.group));
  return made.failure;
}

bool Supervisor::all_ready() const {
  return std::all_of(kinds_.begin(), kinds_.end(), [](const Kind& kind) { return kind.child || kind.given_up; });
}

// One at a time, so that a request never waits for more than one. What cannot be made ahead any more is left to the
// next spawn, which says why.
void Supervisor::make_one_ready() {
  const auto kind =
      std::find_if(kinds_.begin(), kinds_.end(), [](const Kind& one) { return !one.child && !one.given_up; });
  if (kind != kinds_.end()) kind->given_up = make_ready(*kind).step != jail::Step::none;
}

core::Result<Supervisor::Guest*> Supervisor::find(wire::Message& request, std::uint64_t& id) {
  HEDDLE_ASSIGN(id, request.take_number("id"));
  HEDDLE_TRY(request.finish());
  const auto guest = guests_.find(id);
  if (guest == guests_.end() || guest->second.forgotten) {
    return core::make_error(Errc::protocol, "read a request", "unknown guest " + std::to_string(id));
  }
  return &guest->second;
}

core::Result<void> Supervisor::status(wire::Message& request) {
  std::uint64_t id = 0;
  HEDDLE_ASSIGN(Guest * guest, find(request, id));
  look_at(id);
  wire::Message reply("status");
  jail::encode_ending(guest->ending, reply);
  return jail::send_packet(control_, reply, {});
}

core::Result<void> Supervisor::denials(wire::Message& request) {
  std::uint64_t id = 0;
  HEDDLE_ASSIGN(Guest * guest, find(request, id));
  return jail::send_packet(control_, jail::encode_denials(guest->notifier.log()), {});
}

core::Result<void> Supervisor::deadline(wire::Message& request) {
  HEDDLE_ASSIGN(const core::Deadline deadline, jail::decode_deadline(request));
  std::uint64_t id = 0;
  HEDDLE_ASSIGN(Guest * guest, find(request, id));
  set_deadline(id, *guest, deadline);
  return {};
}

void Supervisor::set_deadline(std::uint64_t id, Guest& guest, core::Deadline deadline) {
  deadlines_.erase({guest.deadline.when(), id});
  guest.deadline = deadline;
  if (!deadline.is_never() && guest.ending.state == jail::Ending::State::alive) deadlines_.emplace(deadline.when(), id);
}

// At most so long, in milliseconds, and not past the next guest's deadline; -1 is for ever.
int Supervisor::until_deadline(int milliseconds) const {
  if (deadlines_.empty()) return milliseconds;
  const int left = core::Deadline::at(deadlines_.begin()->first).poll_ms();
  return milliseconds < 0 ? left : std::min(milliseconds, left);
}

void Supervisor::end_late_guests() {
  while (!deadlines_.empty() && core::Deadline::at(deadlines_.begin()->first).passed()) {
    Guest& guest = guests_.at(deadlines_.begin()->second);
    deadlines_.erase(deadlines_.begin());
    if (guest.process.has_exited()) continue;  // its end is about to be seen
    guest.late = guest.process.send_signal(SIGKILL).ok();
  }
}

core::Result<void> Supervisor::notify(wire::Message& request) {
  std::uint64_t id = 0;
  HEDDLE_ASSIGN(Guest * guest, find(request, id));
  // A guest says that it is ready after it has passed its listener, but the host's request may be seen first.
  HEDDLE_TRY(notified(id, Source::socket, EPOLLIN));
  return jail::send_packet(control_, jail::encode_notify(guest->notifier), {});
}

// Never waits: a guest in the middle of a system call may take a while to die. It is reaped when it has. The one
// request without a reply: the host has seen the end itself, or waited for it as long as it wants to.
core::Result<void> Supervisor::close(wire::Message& request) {
  std::uint64_t id = 0;
  HEDDLE_ASSIGN(Guest * guest, find(request, id));
  look_at(id);
  if (guest->ending.state == jail::Ending::State::alive) {
    (void)guest->process.send_signal(SIGKILL);  // fails only when it has ended meanwhile
    guest->forgotten = true;
  } else {
    guests_.erase(id);
  }
  return {};
}

void Supervisor::look_at(std::uint64_t id) {
  const auto found = guests_.find(id);
  if (found == guests_.end()) return;
  Guest& guest = found->second;
  if (guest.ending.state == jail::Ending::State::alive) guest.ending = jail::reap(guest.process);
  if (guest.ending.state == jail::Ending::State::alive) return;
  guest.ending.denial_quota = guest.notifier.quota_spent();
  guest.ending.timed_out = guest.late;
  set_deadline(id, guest, core::Deadline::never());
  for (const core::Fd* fd : {&guest.notifier.socket(), &guest.notifier.listener()}) {
    if (fd->valid()) unwatch(*fd);
  }
  guest.notifier.end(left_open_);
  if (guest.leaves) end_leftovers();
  if (guest.mounts.valid()) left_open_.push_back(std::move(guest.mounts));
  if (guest.group.valid()) {
    if (guest.ending.state == jail::Ending::State::ended) guest.ending.group = guest.group.usage();
    give_up(std::move(guest.group));
  }
  // Leaves the set; the descriptor stays open until the host has closed the guest.
  unwatch(guest.process.fd());
  if (guest.forgotten) guests_.erase(found);
}

// Ends what is left of a guest, its descendants, and removes its group: at once, or when they are gone.
void Supervisor::give_up(jail::ControlGroup group) {
  if (!group.remove()) dying_.push_back(std::move(group));
}

// True when there is none left.
bool Supervisor::remove_dying() {
  dying_.erase(std::remove_if(dying_.begin(), dying_.end(), [](jail::ControlGroup& group) { return group.remove(); }),
               dying_.end());
  return dying_.empty();
}

// With its listener closed its descendants make no more processes.
void Supervisor::end_leftovers() {
  left_open_.clear();
  sweeps_ = kDyingTries;
}

// What is not gone after all tries hangs in the kernel, or is not this process's to end.
bool Supervisor::sweep() {
  if (sweeps_ == 0) return true;
  std::vector<pid_t> kept;
  for (const auto& [id, guest] : guests_) {
    if (guest.ending.state == jail::Ending::State::alive) kept.push_back(guest.pid);
  }
  for (const Kind& kind : kinds_) {
    if (kind.child) kept.push_back(kind.child->pid());
  }
  sweeps_ = end_strays(kept) ? 0 : sweeps_ - 1;
  return sweeps_ == 0;
}

void Supervisor::end_all() {
  for (Kind& kind : kinds_) {
    kind.child.reset();
    give_up(std::move(kind.group));
  }
  kinds_.clear();
  for (auto& [id, guest] : guests_) {
    if (guest.ending.state == jail::Ending::State::alive) (void)guest.process.send_signal(SIGKILL);
    if (guest.group.valid()) guest.group.folder().kill();
  }
  for (auto& [id, guest] : guests_) {
    while (guest.ending.state == jail::Ending::State::alive) {
      (void)guest.process.wait_exit(core::Deadline::never());
      guest.ending = jail::reap(guest.process);
      guest.notifier.end(left_open_);
      if (guest.leaves) end_leftovers();
    }
  }
  for (auto& [id, guest] : guests_) give_up(std::move(guest.group));
  guests_.clear();
  for (int tries = 0; tries < kDyingTries; ++tries) {
    const bool removed = remove_dying();
    if (sweep() && removed) break;
    const timespec pause{0, kDyingMilliseconds * 1'000'000L};
    ::nanosleep(&pause, nullptr);
  }
  dying_.clear();
  groups_.reset();
}

}  // namespace heddle::supervisor

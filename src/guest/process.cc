#include "heddle/guest/process.h"

#include <poll.h>

#include <cerrno>
#include <csignal>

#include "heddle/wire/hello.h"

namespace heddle::guest {
namespace {

using core::Errc;
using std::chrono::milliseconds;

}  // namespace

Process::Process(Spawned spawned, std::string program)
    : guest_(std::move(spawned.guest)), channel_(std::move(spawned.channel)), program_(std::move(program)) {}

core::Result<std::unique_ptr<Process>> Process::spawn(Host& host, const jail::Policy& policy,
                                                      const jail::Program& program, const std::vector<core::Fd>& more) {
  HEDDLE_ASSIGN(Spawned spawned, host.spawn(policy, program, more));
  return std::unique_ptr<Process>(new Process(std::move(spawned), program.path()));
}

core::Result<bool> Process::poll_ready(milliseconds cold_start) {
  if (ready_) return true;
  auto received = channel_.receive();
  if (!received.ok()) return ended_early();
  if (received.value()) {
    HEDDLE_TRY(accept_first_message(*received.value()));
    return true;
  }
  if (core::Clock::now() - spawned_at_ < cold_start) return false;
  return too_slow(cold_start);
}

core::Result<void> Process::await_ready(milliseconds cold_start) {
  const core::Deadline deadline = core::Deadline::after(cold_start);
  for (;;) {
    HEDDLE_ASSIGN(const bool ready, poll_ready(cold_start));
    if (ready) return {};
    pollfd item{channel_.fd().get(), POLLIN, 0};
    if (::poll(&item, 1, deadline.poll_ms()) < 0 && errno != EINTR) return core::system_error("poll");
  }
}

core::Result<void> Process::accept_first_message(const wire::Frame& frame) {
  HEDDLE_ASSIGN(wire::Message message, wire::as_message(frame));
  HEDDLE_TRY(wire::accept_ready(std::move(message), program_));
  const core::Result<void> verified = guest_.verify_confined();
  if (!verified.ok()) return guest_.process().has_exited() ? ended_early() : verified.error();
  ready_ = true;
  mark_idle();
  return {};
}

core::Error Process::too_slow(milliseconds cold_start) const {
  return not_started("it was not ready within " + std::to_string(cold_start.count()) + " ms");
}

core::Error Process::ended_early() {
  core::Error error = not_started(describe_end());
  if (death_ && death_->kind == jail::Death::Kind::with_supervisor) error.code = Errc::disconnected;
  return error;
}

core::Error Process::not_started(std::string_view why) const {
  return core::make_error(Errc::start_up, "start " + program_.substr(program_.rfind('/') + 1), why);
}

std::chrono::microseconds Process::cpu_time() {
  const auto used = guest_.cpu_time();
  if (used.ok()) cpu_time_ = std::chrono::duration_cast<std::chrono::microseconds>(used.value());
  return cpu_time_;
}

Account Process::begin_account() {
  Account account;
  auto applied = guest_.applied();
  if (applied.ok()) account.applied = std::move(applied).value();
  (void)guest_.take_denials();  // a supervisor that is gone shows in the call
  return account;
}

void Process::add_denials(Account& account) {
  auto taken = guest_.take_denials();
  if (!taken.ok()) return;
  account.denials = std::move(taken).value();
  const bool by_denial = death_ && (death_->kind == jail::Death::Kind::denial_quota ||
                                    (death_->kind == jail::Death::Kind::signalled && death_->code == SIGSYS));
  account.ended_by_denial = by_denial && !account.denials.denials.empty();
}

std::string Process::describe_end() {
  // Closing its channel is the end of it in any case (WIRE-3); most that do so are already gone.
  if (!guest_.process().wait_exit(core::Deadline::after(milliseconds(100)))) guest_.kill();
  auto waited = guest_.wait(core::Deadline::after(std::chrono::seconds(5)));
  if (!waited.ok()) return waited.error().message();
  if (!waited.value()) return "it cannot be killed";
  death_ = *std::move(waited).value();
  if (death_->kind == jail::Death::Kind::killed) return "it closed its channel and was killed";
  return "it " + jail::describe(*death_);
}

}  // namespace heddle::guest

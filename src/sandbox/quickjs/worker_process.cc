#include "worker_process.h"

#include <csignal>

#include "heddle/core/text.h"
#include "heddle/wire/hello.h"

namespace heddle::sandbox::quickjs {
namespace {

using core::Errc;

}  // namespace

WorkerProcess::WorkerProcess(jail::Guest guest, wire::Channel channel)
    : guest_(std::move(guest)), channel_(std::move(channel)) {}

core::Result<std::unique_ptr<WorkerProcess>> WorkerProcess::spawn(jail::Supervisor& supervisor,
                                                                  const jail::Policy& policy,
                                                                  const jail::Program& program) {
  HEDDLE_ASSIGN(core::FdPair ends, core::stream_pair());
  HEDDLE_ASSIGN(wire::Channel channel, wire::Channel::adopt(std::move(ends.first)));
  HEDDLE_ASSIGN(jail::Guest guest, supervisor.spawn(policy, program, {}, std::move(ends.second)));
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(std::move(guest), std::move(channel)));
}

core::Result<void> WorkerProcess::accept_first_message(const wire::Frame& frame) {
  HEDDLE_ASSIGN(wire::Message message, wire::as_message(frame));
  HEDDLE_TRY(wire::accept_ready(std::move(message), "heddle-sandbox-worker"));
  HEDDLE_TRY(guest_.verify_confined());
  ready_ = true;
  mark_idle();
  return {};
}

std::chrono::microseconds WorkerProcess::cpu_time() {
  const auto used = guest_.cpu_time();
  if (used.ok()) cpu_time_ = std::chrono::duration_cast<std::chrono::microseconds>(used.value());
  return cpu_time_;
}

void WorkerProcess::send_stop(int signal, std::uint32_t run) const {
  (void)guest_.process().queue_signal(signal, static_cast<int>(run));
}

Explanation WorkerProcess::begin_explanation() {
  Explanation explanation;
  const auto applied = guest_.applied();
  if (applied.ok()) explanation.applied = jail::to_lines(applied.value());
  (void)guest_.take_denials();  // a supervisor that is gone shows in the run
  return explanation;
}

void WorkerProcess::add_denials(Explanation& explanation) {
  auto taken = guest_.take_denials();
  if (!taken.ok()) return;
  explanation.dropped = taken.value().dropped;
  for (jail::Denial& denial : taken.value().denials) {
    std::string line = jail::to_line(denial);
    explanation.denied.push_back({std::move(denial.syscall), std::move(denial.observed), std::move(line),
                                  std::move(denial.rule), std::move(denial.hint)});
  }
  explanation.ended_by_denial = ended_by_denial_ && !explanation.denied.empty();
}

std::string WorkerProcess::describe_end() {
  // Closing its channel is the end of it in any case (WIRE-3); most that do so are already gone.
  if (!guest_.process().wait_exit(core::Deadline::after(std::chrono::milliseconds(100)))) guest_.kill();
  const auto waited = guest_.wait(core::Deadline::after(std::chrono::seconds(5)));
  if (!waited.ok()) return waited.error().message();
  if (!waited.value()) return "it cannot be killed";
  const jail::Death& death = *waited.value();
  ended_by_denial_ = death.kind == jail::Death::Kind::denial_quota ||
                     (death.kind == jail::Death::Kind::signalled && death.code == SIGSYS);
  if (death.kind == jail::Death::Kind::killed) return "it closed its channel and was killed";
  return "it " + jail::describe(death);
}

}  // namespace heddle::sandbox::quickjs

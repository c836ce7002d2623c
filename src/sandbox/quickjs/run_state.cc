#include "run_state.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "heddle/core/json.h"
#include "heddle/core/text.h"
#include "heddle/wire/hello.h"

namespace heddle::sandbox::quickjs {
namespace {

using core::Clock;
using core::Errc;
using std::chrono::duration_cast;
using std::chrono::microseconds;

core::Error broken_protocol(std::string_view what) {
  return core::make_error(Errc::protocol, "read the worker's answer", what);
}

// In words, for who does not link the jail.
Explanation explain(const guest::Account& account) {
  Explanation explanation;
  if (account.applied) explanation.applied = jail::to_lines(*account.applied);
  for (const jail::Denial& denial : account.denials.denials) {
    explanation.denied.push_back({denial.syscall, denial.observed, jail::to_line(denial), denial.rule, denial.hint});
  }
  explanation.dropped = account.denials.dropped;
  explanation.ended_by_denial = account.ended_by_denial;
  return explanation;
}

}  // namespace

RunState::RunState(std::shared_ptr<PoolState> pool, RunRequest request, RunDescriptors descriptors)
    : pool_(std::move(pool)), request_(std::move(request)), descriptors_(std::move(descriptors)) {
  waiter_.wake = &descriptors_.wake;
  pool_->enter(waiter_);
  begin();
}

RunState::~RunState() {
  // A worker that may still be busy with this run is of no use to another one.
  discard_worker(phase_ == Phase::running ? Discard::after_a_kill : Discard::after_a_failure);
  pool_->leave(waiter_);
  pool_->keep_descriptors(std::move(descriptors_));
}

std::optional<Outcome> RunState::poll() {
  while (!outcome_ && phase_ != Phase::finished) {
    if (pool_->closed()) {
      fail(core::make_error(Errc::closed, "run a script", "the pool has been closed"));
    } else if (advance() == Progress::blocked) {
      return std::nullopt;
    }
  }
  std::optional<Outcome> taken;
  taken.swap(outcome_);
  return taken;
}

Outcome RunState::cancel() {
  outcome_.reset();
  Outcome outcome;
  outcome.kind = Outcome::Kind::cancelled;
  outcome = measured(std::move(outcome));
  discard_worker(phase_ == Phase::running ? Discard::after_a_kill : Discard::after_a_failure);
  phase_ = Phase::finished;
  return outcome;
}

void RunState::begin() {
  phase_ = Phase::waiting;
  auto leased = pool_->lease(waiter_);
  if (!leased.ok()) {
    fail(std::move(leased).error());
  } else if (leased.value()) {
    take_worker(std::move(leased).value());
  }
}

void RunState::take_worker(Lease worker) {
  worker_ = std::move(worker);
  ++attempts_;
  watch_worker();
  if (!worker_->ready()) {
    phase_ = Phase::starting;
    set_timer(worker_->spawned_at() + pool_->options().cold_start);
    return;
  }
  start_on_worker();
}

// A worker that has said anything while it was idle, or is gone, never gets the run. Nothing of the run has been sent
// yet, so another worker takes it.
void RunState::start_on_worker() {
  auto unasked = worker_->channel().receive();
  if (!unasked.ok() || unasked.value()) {
    try_another_worker();
    return;
  }
  if (Clock::now() - worker_->idle_since() < pool_->options().liveness_after) {
    send_order();
    return;
  }
  phase_ = Phase::checking;
  worker_->channel().queue(wire::ping_message(worker_->calls()));
  (void)worker_->channel().flush();  // a failure shows when the answer is read
  set_timer(Clock::now() + pool_->options().liveness_wait);
}

void RunState::try_another_worker() {
  discard_worker(Discard::after_a_failure);
  if (attempts_ > pool_->options().workers + 2) {
    fail(core::make_error(Errc::start_up, "find a worker", "one after another died while idle"));
    return;
  }
  begin();
}

void RunState::send_order() {
  phase_ = Phase::running;
  wire::Channel& channel = worker_->channel();
  protocol::RunOrder order;
  order.run = run_ = worker_->next_call();
  if (request_.explain) account_ = worker_->begin_account();
  order.script_bytes = request_.script.size();
  order.input_bytes = request_.input_json.size();
  order.memory_bytes = request_.limits.memory_bytes;
  order.output_bytes = request_.limits.output_bytes;
  channel.queue(protocol::to_message(order));
  channel.queue_data(request_.script);
  channel.queue_data(request_.input_json);
  channel.grant(request_.limits.output_bytes);
  cpu_before_ = worker_->cpu_time();
  started_ = Clock::now();
  (void)channel.flush();  // what is left, and a failure, are dealt with in advance_running
  if (channel.has_output()) watch_worker();
  const auto first_look = request_.limits.cpu.count() > 0 ? std::min(request_.limits.wall_clock, request_.limits.cpu)
                                                          : request_.limits.wall_clock;
  set_timer(started_ + first_look);
}

RunState::Progress RunState::advance() {
  switch (phase_) {
    case Phase::waiting:
      return advance_waiting();
    case Phase::starting:
      return advance_starting();
    case Phase::checking:
      return advance_checking();
    case Phase::running:
      return advance_running();
    case Phase::finished:
      return Progress::finished;
  }
  return Progress::finished;
}

RunState::Progress RunState::advance_waiting() {
  auto assigned = pool_->take_assigned(waiter_);
  if (!assigned.ok()) return fail(std::move(assigned).error());
  if (!assigned.value()) return Progress::blocked;
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t drained = ::read(descriptors_.wake.get(), &count, sizeof count);
  take_worker(std::move(assigned).value());
  return Progress::again;
}

RunState::Progress RunState::advance_starting() {
  const auto ready = worker_->poll_ready(pool_->options().cold_start);
  if (ready.ok() && !ready.value()) return Progress::blocked;
  if (ready.ok()) {
    pool_->count_ready();
    send_order();
    return Progress::again;
  }
  // Its supervisor is gone, which is nothing of this worker's or of the run's: there will be another (JAIL-21).
  if (ready.error().code == Errc::disconnected && attempts_ <= pool_->options().workers + 2) {
    try_another_worker();
    return Progress::again;
  }
  discard_worker(Discard::after_a_failure);
  return fail(ready.error());
}

RunState::Progress RunState::advance_checking() {
  auto received = worker_->channel().receive();
  if (received.ok() && !received.value() && Clock::now() < deadline_) return Progress::blocked;
  if (received.ok() && received.value()) {
    auto message = wire::as_message(*received.value());
    if (message.ok()) {
      const auto number = wire::read_pong(std::move(message).value());
      if (number.ok() && number.value() == worker_->calls()) {
        send_order();
        return Progress::again;
      }
    }
  }
  try_another_worker();
  return Progress::again;
}

RunState::Progress RunState::advance_running() {
  if (worker_->channel().has_output()) {
    auto flushed = worker_->channel().flush();
    if (flushed.ok() && flushed.value()) watch_worker();
    // A failure to send shows as the end of what can be received, which may hold the reason.
  }
  for (;;) {
    auto received = worker_->channel().receive();
    if (!received.ok()) return lost_worker(received.error());
    if (!received.value()) break;
    if (take_frame(*received.value()) == Progress::finished) return Progress::finished;
  }
  return Clock::now() >= deadline_ ? check_clock() : Progress::blocked;
}

RunState::Progress RunState::take_frame(const wire::Frame& frame) {
  if (frame.type == wire::FrameType::data) {
    value_ += frame.payload;  // no more than the credit granted: output_bytes
    return Progress::again;
  }
  auto message = wire::as_message(frame);
  if (!message.ok()) return lost_worker(message.error());
  auto done = protocol::read_done(std::move(message).value());
  if (!done.ok()) return lost_worker(done.error());
  if (done.value().run != run_) return lost_worker(broken_protocol("it answers another run"));
  const bool has_value = done.value().ending == protocol::Ending::ok;
  if (value_.size() != (has_value ? done.value().value_bytes : 0)) {
    return lost_worker(broken_protocol("it announced another size than it sent"));
  }
  return take_done(done.value());
}

RunState::Progress RunState::take_done(const protocol::Done& done) {
  if (done.ending == protocol::Ending::ok && core::check_json(value_)) {
    return lost_worker(broken_protocol("its value is not JSON"));
  }
  Outcome outcome;
  Discard why = Discard::after_a_kill;
  bool healthy = true;
  if (stop_ != Stop::none) {
    // The stop was sent, so the limit is the verdict: nothing that the worker says can change it (SBX-21).
    outcome.kind = Outcome::Kind::limit;
    outcome.limit = stopped_for_;
    healthy = done.ending != protocol::Ending::fault;
  } else {
    switch (done.ending) {
      case protocol::Ending::ok:
        outcome.kind = Outcome::Kind::ok;
        outcome.value = std::move(value_);
        break;
      case protocol::Ending::threw:
        outcome.kind = Outcome::Kind::threw;
        if (done.name) outcome.name = core::bound_text(*done.name);
        outcome.message = core::bound_text(done.message);
        outcome.line = done.line;
        outcome.column = done.column;
        break;
      case protocol::Ending::memory:
      case protocol::Ending::output:
        outcome.kind = Outcome::Kind::limit;
        outcome.limit = done.ending == protocol::Ending::memory ? LimitKind::memory : LimitKind::output;
        break;
      case protocol::Ending::input_too_large:
        outcome.kind = Outcome::Kind::input_too_large;
        break;
      case protocol::Ending::stopped:
        return lost_worker(broken_protocol("it stopped without having been told to"));
      case protocol::Ending::fault:
        outcome.kind = Outcome::Kind::infrastructure;
        outcome.error = core::make_error(Errc::system, "run a script", "the engine faulted; the worker was replaced");
        healthy = false;
        break;
    }
  }
  outcome = measured(std::move(outcome));
  worker_->channel().revoke();
  if (healthy) {
    unwatch_worker();
    pool_->give_back(std::move(worker_));
  } else {
    discard_worker(why);
  }
  return finish(std::move(outcome));
}

// WIRE-2, WIRE-3: the worker broke the rules or is gone. It is killed and replaced, and the run is over.
RunState::Progress RunState::lost_worker(const core::Error& error) {
  if (stop_ != Stop::none) return hit_limit(stopped_for_);
  const bool died = error.code == Errc::disconnected;
  Outcome outcome;
  outcome.kind = Outcome::Kind::infrastructure;
  outcome.error = core::make_error(error.code, "run a script",
                                   died ? "the worker died: " + worker_->describe_end() : error.message());
  outcome = measured(std::move(outcome));
  discard_worker(Discard::after_a_kill);
  return finish(std::move(outcome));
}

// A deadline has come. Soft stop, then the jump out, then SIGKILL.
RunState::Progress RunState::check_clock() {
  const core::TimePoint now = Clock::now();
  const PoolOptions& options = pool_->options();
  if (stop_ == Stop::none) {
    const auto cpu_budget = duration_cast<microseconds>(request_.limits.cpu);
    const microseconds cpu_used = worker_->cpu_time() - cpu_before_;
    const core::TimePoint wall_end = started_ + request_.limits.wall_clock;
    const bool cpu_spent = cpu_budget.count() > 0 && cpu_used >= cpu_budget;
    if (!cpu_spent && now < wall_end) {
      // The worker has one thread: it cannot use CPU time faster than time passes.
      set_timer(std::min(wall_end, now + (cpu_budget - cpu_used)));
      return Progress::blocked;
    }
    stopped_for_ = cpu_spent ? LimitKind::cpu : LimitKind::wall_clock;
    stop_ = Stop::soft;
    worker_->send_signal(protocol::kSoftStopSignal, static_cast<int>(run_));
    set_timer(now + options.soft_grace);
    return Progress::blocked;
  }
  if (stop_ == Stop::soft) {
    stop_ = Stop::hard;
    worker_->send_signal(protocol::kHardStopSignal, static_cast<int>(run_));
    set_timer(now + options.hard_grace);
    return Progress::blocked;
  }
  return hit_limit(stopped_for_);
}

RunState::Progress RunState::hit_limit(LimitKind kind) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::limit;
  outcome.limit = kind;
  outcome = measured(std::move(outcome));
  discard_worker(Discard::after_a_kill);
  return finish(std::move(outcome));
}

RunState::Progress RunState::fail(core::Error error) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::infrastructure;
  outcome.error = std::move(error);
  return finish(std::move(outcome));
}

RunState::Progress RunState::finish(Outcome outcome) {
  phase_ = Phase::finished;
  outcome_ = std::move(outcome);
  // Readable until the outcome has been taken, also when it was there before anybody waited.
  set_timer(Clock::now());
  return Progress::finished;
}

Outcome RunState::measured(Outcome outcome) {
  if (phase_ != Phase::running || !worker_) return outcome;
  outcome.elapsed = duration_cast<microseconds>(Clock::now() - started_);
  const microseconds now = worker_->cpu_time();
  if (now > cpu_before_) outcome.cpu = now - cpu_before_;
  if (account_) {
    worker_->add_denials(*account_);
    outcome.explanation = explain(*account_);
    account_.reset();
  }
  return outcome;
}

void RunState::set_timer(core::TimePoint when) {
  deadline_ = when;
  const auto since_epoch = duration_cast<std::chrono::nanoseconds>(when.time_since_epoch()).count();
  itimerspec spec{};
  spec.it_value.tv_sec = static_cast<time_t>(since_epoch / 1'000'000'000);
  spec.it_value.tv_nsec = static_cast<long>(since_epoch % 1'000'000'000);
  HEDDLE_CHECK(::timerfd_settime(descriptors_.timer.get(), TFD_TIMER_ABSTIME, &spec, nullptr) == 0);
}

void RunState::watch_worker() {
  epoll_event event{};
  event.events = worker_->channel().has_output() ? EPOLLIN | EPOLLOUT : EPOLLIN;
  const int operation = watching_ ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  HEDDLE_CHECK(::epoll_ctl(descriptors_.epoll.get(), operation, worker_->channel().fd().get(), &event) == 0);
  watching_ = true;
}

void RunState::unwatch_worker() {
  if (!watching_) return;
  HEDDLE_CHECK(::epoll_ctl(descriptors_.epoll.get(), EPOLL_CTL_DEL, worker_->channel().fd().get(), nullptr) == 0);
  watching_ = false;
}

void RunState::discard_worker(Discard why) {
  if (!worker_) return;
  unwatch_worker();
  pool_->discard(std::move(worker_), why);
}

}  // namespace heddle::sandbox::quickjs

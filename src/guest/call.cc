#include "heddle/guest/call.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "heddle/wire/hello.h"

namespace heddle::guest {
namespace {

using core::Errc;
using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;

core::TimePoint now() { return core::Clock::now(); }

}  // namespace

Call::Call(std::shared_ptr<Pool> pool, CallDescriptors descriptors, Exchange& exchange, CallLimits limits,
           Accounting accounting)
    : pool_(std::move(pool)),
      descriptors_(std::move(descriptors)),
      exchange_(exchange),
      limits_(limits),
      accounting_(accounting) {
  waiter_.wake = &descriptors_.wake;
  pool_->enter(waiter_);
}

Call::~Call() {
  discard_guest();
  pool_->leave(waiter_);
  pool_->keep_descriptors(std::move(descriptors_), waiter_);
}

void Call::start() {
  phase_ = Phase::waiting;
  const milliseconds limit = pool_->options().queue_limit;
  if (attempts_ == 0 && limit.count() > 0) give_up_ = now() + limit;
  auto leased = pool_->lease(waiter_);
  if (!leased.ok()) {
    fail(std::move(leased).error());
  } else if (leased.value()) {
    take_guest(std::move(leased).value());
  } else if (deadline_ != give_up_) {
    set_timer(give_up_);
  }
  // Ended before anybody waits for it: readable until that has been taken.
  if (phase_ == Phase::ended) set_timer(now());
}

std::optional<CallEnd> Call::poll() {
  while (!end_ && phase_ != Phase::ended) {
    if (pool_->closed()) {
      fail(pool_->closed_error());
    } else if (advance() == Progress::blocked) {
      return std::nullopt;
    }
  }
  std::optional<CallEnd> taken;
  taken.swap(end_);
  return taken;
}

CallEnd Call::abandon() {
  CallEnd abandoned = measured(Kind::abandoned);
  discard_guest();
  pool_->leave(waiter_);
  end_.reset();
  phase_ = Phase::ended;
  return abandoned;
}

void Call::take_guest(Pool::Lease guest) {
  guest_ = std::move(guest);
  ++attempts_;
  watch_guest();
  if (guest_->ready()) {
    ask_if_lively();
    return;
  }
  phase_ = Phase::starting;
  set_timer(guest_->spawned_at() + pool_->options().cold_start);
}

// A guest that has said anything while it was idle, or is gone, is not asked. Nothing of the call has been sent yet, so
// another one takes it.
void Call::ask_if_lively() {
  auto unasked = guest_->channel().receive();
  if (!unasked.ok() || unasked.value()) {
    try_another_guest();
    return;
  }
  if (now() - guest_->idle_since() < pool_->options().liveness_after) {
    ask();
    return;
  }
  phase_ = Phase::checking;
  guest_->channel().queue(wire::ping_message(guest_->calls()));
  (void)guest_->channel().flush();  // a failure shows when the answer is read
  set_timer(now() + pool_->options().liveness_wait);
}

bool Call::may_try_another() const { return attempts_ <= pool_->options().size + 2; }

void Call::try_another_guest() {
  discard_guest();
  if (may_try_another()) {
    start();
  } else {
    fail(core::make_error(Errc::start_up, "find a guest", "one after another died while idle"));
  }
}

void Call::ask() {
  phase_ = Phase::asked;
  number_ = guest_->next_call();
  if (accounting_ == Accounting::kept) account_ = guest_->begin_account();
  const Clock clock = exchange_.ask(*guest_, number_);
  if (clock == Clock::opens) {
    open_clock();
  } else {
    set_timer(guest_->spawned_at() + pool_->options().cold_start);
  }
  send();
}

// What the socket takes now; it is watched for the rest. A failure shows as the end of what can be received, which may
// hold the reason.
void Call::send() {
  if (!guest_->channel().has_output()) return;
  (void)guest_->channel().flush();
  if (guest_->channel().has_output() != sending_) watch_guest();
}

void Call::open_clock() {
  phase_ = Phase::running;
  cpu_before_ = guest_->cpu_time();
  opened_ = now();
  set_timer(opened_ + (limits_.cpu.count() > 0 ? std::min(limits_.wall_clock, limits_.cpu) : limits_.wall_clock));
}

Call::Progress Call::advance() {
  switch (phase_) {
    case Phase::waiting:
      return advance_waiting();
    case Phase::starting:
      return advance_starting();
    case Phase::checking:
      return advance_checking();
    case Phase::asked:
    case Phase::running:
      return advance_asked();
    case Phase::ended:
      return Progress::ended;
  }
  return Progress::ended;
}

Call::Progress Call::advance_waiting() {
  auto assigned = pool_->take_assigned(waiter_);
  if (!assigned.ok()) return fail(std::move(assigned).error());
  if (assigned.value()) {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t drained = ::read(descriptors_.wake.get(), &count, sizeof count);
    take_guest(std::move(assigned).value());
    return Progress::again;
  }
  if (now() < deadline_) return Progress::blocked;
  return fail(core::make_error(Errc::timed_out, "wait for a guest",
                               "none of the pool's " + std::to_string(pool_->options().size) + " was free within " +
                                   std::to_string(pool_->options().queue_limit.count()) + " ms"));
}

Call::Progress Call::advance_starting() {
  const auto ready = guest_->poll_ready(pool_->options().cold_start);
  if (ready.ok() && !ready.value()) return Progress::blocked;
  if (ready.ok()) {
    pool_->count_ready();
    ask();
    return Progress::again;
  }
  // Its supervisor is gone, which is nothing of this guest's or of the call's: there will be another (JAIL-21).
  if (ready.error().code == Errc::disconnected && may_try_another()) {
    try_another_guest();
    return Progress::again;
  }
  pool_->count_failure(ready.error());
  return fail(ready.error());
}

Call::Progress Call::advance_checking() {
  auto received = guest_->channel().receive();
  if (received.ok() && !received.value() && now() < deadline_) return Progress::blocked;
  if (received.ok() && received.value()) {
    auto message = wire::as_message(*received.value());
    if (message.ok()) {
      const auto number = wire::read_pong(std::move(message).value());
      if (number.ok() && number.value() == guest_->calls()) {
        ask();
        return Progress::again;
      }
    }
  }
  try_another_guest();
  return Progress::again;
}

Call::Progress Call::advance_asked() {
  send();
  for (;;) {
    auto received = guest_->channel().receive();
    if (!received.ok()) return lose(received.error());
    if (!received.value()) break;
    if (hear(*received.value()) == Progress::ended) return Progress::ended;
  }
  send();  // the exchange may have had something to say to that
  if (now() < deadline_) return Progress::blocked;
  return phase_ == Phase::asked ? fail(guest_->too_slow(pool_->options().cold_start)) : check_clock();
}

Call::Progress Call::hear(const wire::Frame& frame) {
  const auto heard = exchange_.take(frame);
  if (!heard.ok()) return lose(heard.error());
  switch (heard.value()) {
    case Heard::more:
      return Progress::again;
    case Heard::begun:
      if (phase_ == Phase::asked) open_clock();
      return Progress::again;
    case Heard::last:
    case Heard::unfit:
      break;
  }
  // Once it has been told to stop the limit is the verdict: nothing that a guest says can change it (SBX-21).
  CallEnd answered = measured(stops_ > 0 ? overrun_ : Kind::answered);
  guest_->channel().revoke();
  // One that has answered before it was told everything would take the rest for the next question.
  if (heard.value() == Heard::last && !guest_->channel().has_output()) {
    unwatch_guest();
    pool_->give_back(std::move(guest_));
  } else {
    discard_guest(Discard::after_a_kill);
  }
  return end(std::move(answered));
}

// WIRE-2, WIRE-3: the guest broke the rules or is gone. It is killed and replaced, and the call is over.
Call::Progress Call::lose(const core::Error& error) {
  if (stops_ > 0) return overrun();
  core::Error lost = error;
  if (error.code == Errc::disconnected) lost.context = guest_->describe_end();
  CallEnd with = measured(Kind::lost);
  with.error = std::move(lost);
  discard_guest(Discard::after_a_kill);
  return end(std::move(with));
}

// A deadline has come: it is told to stop, once for each grace, and killed after the last.
Call::Progress Call::check_clock() {
  const core::TimePoint at = now();
  if (stops_ == 0) {
    const auto cpu_budget = duration_cast<microseconds>(limits_.cpu);
    const microseconds cpu_used = guest_->cpu_time() - cpu_before_;
    const core::TimePoint wall_end = opened_ + limits_.wall_clock;
    const bool cpu_spent = cpu_budget.count() > 0 && cpu_used >= cpu_budget;
    if (!cpu_spent && at < wall_end) {
      // A guest of one thread cannot use CPU time faster than time passes; one of several is looked at late.
      set_timer(std::min(wall_end, at + (cpu_budget - cpu_used)));
      return Progress::blocked;
    }
    overrun_ = cpu_spent ? Kind::cpu : Kind::wall_clock;
  }
  const auto& graces = pool_->options().stop_graces;
  if (stops_ >= graces.size()) return overrun();
  exchange_.stop(*guest_, number_, stops_);
  set_timer(at + graces[stops_++]);
  return Progress::blocked;
}

Call::Progress Call::overrun() {
  CallEnd with = measured(overrun_);
  discard_guest(Discard::after_a_kill);
  return end(std::move(with));
}

Call::Progress Call::fail(core::Error error) {
  discard_guest();
  pool_->leave(waiter_);  // an ended call takes nobody's turn
  CallEnd with;
  with.error = std::move(error);
  return end(std::move(with));
}

Call::Progress Call::end(CallEnd with) {
  phase_ = Phase::ended;
  end_ = std::move(with);
  return Progress::ended;
}

CallEnd Call::measured(Kind kind) {
  CallEnd with;
  with.kind = kind;
  if (!guest_) return with;
  if (phase_ == Phase::running) {
    with.elapsed = duration_cast<microseconds>(now() - opened_);
    const microseconds used = guest_->cpu_time();
    if (used > cpu_before_) with.cpu = used - cpu_before_;
  }
  if (account_) {
    guest_->add_denials(*account_);
    with.account.swap(account_);
  }
  return with;
}

void Call::set_timer(core::TimePoint when) {
  deadline_ = when;
  const auto since_epoch = duration_cast<std::chrono::nanoseconds>(when.time_since_epoch()).count();
  itimerspec spec{};
  spec.it_value.tv_sec = static_cast<time_t>(since_epoch / 1'000'000'000);
  spec.it_value.tv_nsec = static_cast<long>(since_epoch % 1'000'000'000);
  HEDDLE_CHECK(::timerfd_settime(descriptors_.timer.get(), TFD_TIMER_ABSTIME, &spec, nullptr) == 0);
}

void Call::watch_guest() {
  sending_ = guest_->channel().has_output();
  epoll_event event{};
  event.events = sending_ ? EPOLLIN | EPOLLOUT : EPOLLIN;
  const int operation = watching_ ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  HEDDLE_CHECK(::epoll_ctl(descriptors_.epoll.get(), operation, guest_->channel().fd().get(), &event) == 0);
  watching_ = true;
}

void Call::unwatch_guest() {
  if (!watching_) return;
  HEDDLE_CHECK(::epoll_ctl(descriptors_.epoll.get(), EPOLL_CTL_DEL, guest_->channel().fd().get(), nullptr) == 0);
  watching_ = false;
}

// A guest that may still be busy with this call is of no use to another one.
void Call::discard_guest() {
  const bool asked = phase_ == Phase::asked || phase_ == Phase::running;
  discard_guest(asked ? Discard::after_a_kill : Discard::after_a_failure);
}

void Call::discard_guest(Discard why) {
  if (!guest_) return;
  unwatch_guest();
  pool_->discard(std::move(guest_), why);
}

}  // namespace heddle::guest

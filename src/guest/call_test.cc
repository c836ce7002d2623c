#include "heddle/guest/call.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "testing/world.h"
#include "tests/support/processes.h"

namespace heddle::guest {
namespace {

using core::Errc;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Kind = CallEnd::Kind;

// Drives a call until its guest has been asked.
void run_until_asked(Call& call, const Asking& asking) {
  const core::Deadline patience = core::Deadline::after(minutes(1));
  while (asking.calls.empty() && !patience.passed()) {
    ASSERT_FALSE(call.poll());
    pollfd item{call.fd(), POLLIN, 0};
    (void)::poll(&item, 1, 100);
  }
  ASSERT_FALSE(asking.calls.empty());
}

TEST(Call, IsAnsweredByAGuestThatIsAskedAgain) {
  const auto pool = make_pool();
  Asking asking("echo");
  for (int i = 0; i < 3; ++i) {
    const auto call = start_call(pool, asking);
    const CallEnd end = wait_end(*call);
    EXPECT_EQ(end.kind, Kind::answered) << end.error.message();
    EXPECT_GT(end.elapsed.count(), 0);
    EXPECT_FALSE(end.account);
    EXPECT_FALSE(call->poll()) << "the end is told once";
  }
  EXPECT_EQ(asking.calls, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(pool->statistics().spawned, 1U);
}

// ISO-9, ISO-10: what a guest loads first is bounded by its cold start; the call's clock opens when it has loaded.
TEST(Call, AClockThatWaitsOpensWhenTheGuestBegins) {
  const auto pool = make_pool();
  const CallLimits short_limits{milliseconds(20)};
  Asking loading("echo", Clock::waits);
  const CallEnd end = wait_end(*start_call(pool, loading, {minutes(1)}));
  EXPECT_EQ(end.kind, Kind::answered) << end.error.message();

  Asking busy("hang", Clock::waits);
  const CallEnd over = wait_end(*start_call(pool, busy, short_limits));
  EXPECT_EQ(over.kind, Kind::wall_clock) << "it had begun";
  EXPECT_GE(over.elapsed, short_limits.wall_clock);

  // Control: with the clock open from the beginning the same load is over the limit.
  Asking opened("load");
  EXPECT_EQ(wait_end(*start_call(pool, opened, short_limits)).kind, Kind::wall_clock);
}

// ISO-9: one that never has loaded failed to start, however much its limits allow.
TEST(Call, AGuestThatDoesNotBeginIsBoundedByItsColdStart) {
  class Waiting final : public Exchange {
   public:
    Clock ask(Process& guest, std::uint32_t /*call*/) override {
      guest.channel().queue(wire::Message("ask").set("what", "hang").set("number", 1U));
      return Clock::waits;
    }
    core::Result<Heard> take(const wire::Frame& /*frame*/) override { return Heard::more; }
    void stop(Process& /*guest*/, std::uint32_t /*call*/, std::size_t /*attempt*/) override {}
  } waiting;
  PoolOptions options;
  options.cold_start = seconds(2);
  const auto pool = make_pool(options);
  const CallEnd end = wait_end(*start_call(pool, waiting, {minutes(1)}));
  EXPECT_EQ(end.kind, Kind::not_asked);
  EXPECT_EQ(end.error.code, Errc::start_up);
  EXPECT_NE(end.error.message().find("within 2000 ms"), std::string::npos) << end.error.message();
  EXPECT_TRUE(test::descendants_named("heddle-test-ans").empty());
}

// SBX-21, ISO-8: told to stop once for each grace, killed after the last; a guest that stops is kept, and the limit is
// the verdict all the same.
TEST(Call, EscalatesFromStopToKill) {
  const CallLimits limits{milliseconds(50)};
  PoolOptions options;
  options.stop_graces = {minutes(1)};
  const auto patient = make_pool(options);
  Asking yielding("yield");
  EXPECT_EQ(wait_end(*start_call(patient, yielding, limits)).kind, Kind::wall_clock);
  EXPECT_EQ(yielding.stops, (std::vector<std::size_t>{0}));
  EXPECT_EQ(patient->statistics().killed, 0U);
  EXPECT_EQ(patient->statistics().alive, 1U);

  options.stop_graces = {milliseconds(20), milliseconds(30)};
  const auto pool = make_pool(options);
  Asking stubborn("hang");
  EXPECT_EQ(wait_end(*start_call(pool, stubborn, limits)).kind, Kind::wall_clock);
  EXPECT_EQ(stubborn.stops, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(pool->statistics().killed, 1U);
  EXPECT_EQ(pool->statistics().alive, 0U);

  const auto abrupt = make_pool();
  Asking unasked("yield");
  EXPECT_EQ(wait_end(*start_call(abrupt, unasked, limits)).kind, Kind::wall_clock);
  EXPECT_TRUE(unasked.stops.empty());
  EXPECT_EQ(abrupt->statistics().killed, 1U);
}

// SBX-21
TEST(Call, CpuTimeIsALimitOfItsOwn) {
  const auto pool = make_pool();
  const CallEnd end = call_once(pool, "hang", {minutes(1), milliseconds(100)});
  EXPECT_EQ(end.kind, Kind::cpu);
  EXPECT_GE(end.cpu, milliseconds(100));
}

// WIRE-2, WIRE-3, ISO-13: a guest that dies or breaks the protocol costs its call, and is replaced.
TEST(Call, ALostGuestIsToldAndReplaced) {
  const auto pool = make_pool();
  const CallEnd died = call_once(pool, "exit");
  EXPECT_EQ(died.kind, Kind::lost);
  EXPECT_EQ(died.error.code, Errc::disconnected);
  EXPECT_EQ(died.error.context, "it exited with status 3");
  const CallEnd broke = call_once(pool, "wrong");
  EXPECT_EQ(broke.kind, Kind::lost);
  EXPECT_EQ(broke.error.code, Errc::protocol);
  EXPECT_EQ(pool->statistics().killed, 2U);
  EXPECT_EQ(call_once(pool, "echo").kind, Kind::answered);
}

// WIRE-2
TEST(Call, ABreachEndsTheGuest) {
  const auto pool = make_pool();
  Asking first("late");
  EXPECT_EQ(wait_end(*start_call(pool, first)).kind, Kind::answered);
  // What it says unasked does not reach the next call, which has another guest.
  Asking second("echo");
  const CallEnd end = wait_end(*start_call(pool, second));
  EXPECT_EQ(end.kind, Kind::answered) << end.error.message();
  EXPECT_EQ(second.calls.back(), 1U);

  Asking unfit("echo");
  unfit.says_of_answer = Heard::unfit;
  EXPECT_EQ(wait_end(*start_call(pool, unfit)).kind, Kind::answered);
  EXPECT_EQ(pool->statistics().alive, 0U);
  EXPECT_EQ(pool->statistics().killed, 1U);
}

// Sends `extra` after its question, and takes data within `credit`.
class Sending final : public Exchange {
 public:
  Sending(std::string what, std::uint64_t credit, std::string extra = {})
      : what_(std::move(what)), credit_(credit), extra_(std::move(extra)) {}
  Clock ask(Process& guest, std::uint32_t call) override {
    guest.channel().queue(wire::Message("ask").set("what", what_).set("number", call));
    guest.channel().queue_data(extra_);
    guest.channel().grant(credit_);
    return Clock::opens;
  }
  core::Result<Heard> take(const wire::Frame& frame) override {
    if (frame.type != wire::FrameType::data) return Heard::last;
    data += frame.payload;
    return Heard::more;
  }
  void stop(Process& /*guest*/, std::uint32_t /*call*/, std::size_t /*attempt*/) override {}
  std::string data;

 private:
  const std::string what_;
  const std::uint64_t credit_;
  const std::string extra_;
};

// WIRE-2: credit that a call did not use is not the next one's.
TEST(Call, CreditEndsWithItsCall) {
  const auto pool = make_pool();
  Sending granted("data", 10);
  EXPECT_EQ(wait_end(*start_call(pool, granted)).kind, Kind::answered);
  EXPECT_EQ(granted.data, "0123456789");
  Sending unused("echo", 10);
  EXPECT_EQ(wait_end(*start_call(pool, unused)).kind, Kind::answered);
  Sending without("data", 0);
  const CallEnd end = wait_end(*start_call(pool, without));
  EXPECT_EQ(end.kind, Kind::lost);
  EXPECT_EQ(end.error.code, Errc::protocol) << end.error.message();
}

// WIRE-4: a guest that answers and does not read has answered, and is asked nothing more.
TEST(Call, AGuestThatAnswersBeforeItHasReadAllIsUnfit) {
  const auto pool = make_pool();
  Sending large("echo", 0, std::string(std::size_t{8} << 20, 'x'));
  EXPECT_EQ(wait_end(*start_call(pool, large)).kind, Kind::answered);
  EXPECT_EQ(pool->statistics().killed, 1U);
  EXPECT_EQ(pool->statistics().alive, 0U);
}

// JAIL-13, JAIL-14
TEST(Call, KeepsAnAccountWhereItIsWanted) {
  const auto pool = make_pool();
  Asking trying("try");
  const CallEnd end = wait_end(*start_call(pool, trying, kPatientLimits, Accounting::kept));
  ASSERT_TRUE(end.account);
  EXPECT_TRUE(end.account->applied);
  ASSERT_EQ(end.account->denials.denials.size(), 1U);
  EXPECT_EQ(end.account->denials.denials[0].syscall, "openat");
}

// SBX-8, JAIL-12: the guest of a call that is given up or dropped is gone, and who waits gets another.
TEST(Call, AnAbandonedCallTakesItsGuestAlong) {
  const auto pool = make_pool();
  for (const bool dropped : {false, true}) {
    Asking hanging("hang");
    auto busy = start_call(pool, hanging);
    run_until_asked(*busy, hanging);
    Asking patient("echo");
    const auto waiting = start_call(pool, patient);
    EXPECT_FALSE(waiting->poll());
    if (!dropped) {
      EXPECT_EQ(busy->abandon().kind, Kind::abandoned);
      EXPECT_FALSE(busy->poll());
    } else {
      busy.reset();
    }
    EXPECT_EQ(wait_end(*waiting).kind, Kind::answered);
  }
  EXPECT_EQ(pool->statistics().killed, 2U);
}

// ISO-10: waiting for a guest has a limit of its own, told apart; and who gave up takes nobody's turn.
TEST(Call, WaitingHasALimitOfItsOwn) {
  PoolOptions options;
  options.queue_limit = milliseconds(200);
  const auto pool = make_pool(options);
  Asking hanging("hang");
  const auto busy = start_call(pool, hanging);
  run_until_asked(*busy, hanging);
  Asking never("echo");
  const auto given_up = start_call(pool, never);
  const CallEnd end = wait_end(*given_up);
  EXPECT_EQ(end.kind, Kind::not_asked);
  EXPECT_EQ(end.error.code, Errc::timed_out);
  EXPECT_TRUE(never.calls.empty());
  Asking nobody("echo");
  const auto abandoned = start_call(pool, nobody);
  EXPECT_EQ(abandoned->abandon().kind, Kind::abandoned);
  Asking next("echo");
  const auto waiting = start_call(pool, next);
  (void)busy->abandon();
  EXPECT_EQ(wait_end(*waiting).kind, Kind::answered);
}

// JAIL-21: what was asked under a supervisor that died is lost; what was only to be asked has another guest.
TEST(Call, OutlivesItsSupervisorUnlessItWasAsked) {
  const auto pool = make_pool();
  Asking hanging("hang");
  const auto busy = start_call(pool, hanging);
  run_until_asked(*busy, hanging);
  kill_supervisors();
  const CallEnd lost = wait_end(*busy);
  EXPECT_EQ(lost.kind, Kind::lost);
  EXPECT_EQ(lost.error.code, Errc::disconnected);
  Asking starting("echo");
  const auto call = start_call(pool, starting);
  kill_supervisors();
  const CallEnd end = wait_end(*call);
  EXPECT_EQ(end.kind, Kind::answered) << end.error.message();
}

}  // namespace
}  // namespace heddle::guest

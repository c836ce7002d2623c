// JAIL-18: a guest's deadline is the supervisor's.
#include <signal.h>
#include <unistd.h>

#include "world.h"

namespace heddle::jail {
namespace {

using core::Deadline;
using std::chrono::milliseconds;
using std::chrono::seconds;

class GuestDeadline : public ::testing::Test {
 protected:
  Started start(const char* what = "spin") {
    core::Result<Started> started = start_guest(supervisor_, "heddle-test-guest", {what});
    Started guest = std::move(started).value();
    EXPECT_EQ(next_message(guest.channel).op(), "ready");
    return guest;
  }
  Supervisor supervisor_ = start_supervisor().value();
};

// The host does nothing but look.
TEST_F(GuestDeadline, EndsAGuestByItself) {
  Started late = start();
  Started other = start();
  const core::TimePoint when = core::Clock::now() + milliseconds(300);
  ASSERT_TRUE(late.guest.set_deadline(Deadline::at(when)).ok());
  ASSERT_TRUE(other.guest.set_deadline(Deadline::after(seconds(600))).ok());
  EXPECT_TRUE(late.guest.process().wait_exit(Deadline::after(seconds(20))));
  EXPECT_GE(core::Clock::now(), when);
  const Death death = wait_death(late.guest);
  EXPECT_EQ(death.kind, Death::Kind::timed_out);
  EXPECT_EQ(death.code, SIGKILL);
  EXPECT_FALSE(other.guest.process().has_exited());
}

// The last one counts, whether it is later, earlier or none; one that is long over ends the guest at once.
TEST_F(GuestDeadline, IsReplacedByTheNextOne) {
  Started moved = start();
  Started freed = start();
  Started hurried = start();
  ASSERT_TRUE(moved.guest.set_deadline(Deadline::after(milliseconds(500))).ok());
  ASSERT_TRUE(moved.guest.set_deadline(Deadline::after(seconds(600))).ok());
  ASSERT_TRUE(freed.guest.set_deadline(Deadline::after(milliseconds(500))).ok());
  ASSERT_TRUE(freed.guest.set_deadline(Deadline::never()).ok());
  ASSERT_TRUE(hurried.guest.set_deadline(Deadline::after(seconds(600))).ok());
  ASSERT_TRUE(hurried.guest.set_deadline(Deadline::at(core::TimePoint::min())).ok());
  EXPECT_EQ(wait_death(hurried.guest).kind, Death::Kind::timed_out);
  ::sleep(1);
  EXPECT_FALSE(moved.guest.process().has_exited());
  EXPECT_FALSE(freed.guest.process().has_exited());
}

// From the spawn on, whatever the guest has come to: this one never says that it is ready.
TEST_F(GuestDeadline, MayComeWithTheSpawn) {
  const Policy policy = Policy::script().value();
  const Program program = open_program(kTestPrograms + "heddle-test-guest").value();
  for (const bool reaches : {true, false}) {
    core::FdPair ends = core::stream_pair().value();
    Guest guest = supervisor_
                      .spawn(policy, program, {"spin"}, std::move(ends.second), {},
                             Deadline::after(reaches ? milliseconds(200) : milliseconds(600'000)))
                      .value();
    EXPECT_EQ(guest.process().wait_exit(Deadline::after(seconds(reaches ? 20 : 1))), reaches);
    if (!reaches) guest.kill();
    EXPECT_EQ(wait_death(guest).kind, reaches ? Death::Kind::timed_out : Death::Kind::killed);
  }
}

// A guest that has ended by itself, or by the host's hand, did not end at its deadline.
TEST_F(GuestDeadline, SaysNothingOfOtherEnds) {
  Started killed = start();
  ASSERT_TRUE(killed.guest.set_deadline(Deadline::after(milliseconds(300))).ok());
  killed.guest.kill();
  ASSERT_TRUE(killed.guest.process().wait_exit(Deadline::after(seconds(20))));
  ::sleep(1);
  EXPECT_EQ(wait_death(killed.guest).kind, Death::Kind::killed);
  ASSERT_TRUE(killed.guest.set_deadline(Deadline::after(milliseconds(1))).ok());  // of no use, and no harm
  EXPECT_EQ(wait_death(killed.guest).kind, Death::Kind::killed);
  EXPECT_TRUE(start().guest.take_denials().ok());  // the supervisor is well
  killed.guest.close();
  EXPECT_FALSE(killed.guest.set_deadline(Deadline::never()).ok());
}

}  // namespace
}  // namespace heddle::jail

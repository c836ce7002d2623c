#include <gtest/gtest.h>
#include <signal.h>

#include "heddle/jail/supervisor.h"
#include "heddle/wire/channel.h"

namespace heddle::jail {
namespace {

using std::chrono::seconds;

TEST(Spawn, ConfinesVerifiesKillsAndReaps) {
  SupervisorOptions options;
  options.program = HEDDLE_LIBEXEC_DIR "/heddle-supervisor";
  auto started = Supervisor::start(options);
  ASSERT_TRUE(started.ok()) << started.error().message();
  Supervisor supervisor = std::move(started).value();
  const auto policy = Policy::script();
  ASSERT_TRUE(policy.ok()) << policy.error().message();
  auto program = open_program(HEDDLE_TEST_LIBEXEC_DIR "/heddle-test-guest");
  ASSERT_TRUE(program.ok()) << program.error().message();
  auto pair = core::stream_pair().value();
  auto guest = supervisor.spawn(policy.value(), program.value(), {"confined"}, std::move(pair.second));
  ASSERT_TRUE(guest.ok()) << guest.error().message();
  auto channel = wire::Channel::adopt(std::move(pair.first)).value();
  auto frame = channel.wait_frame(core::Deadline::after(seconds(10)));
  ASSERT_TRUE(frame.ok()) << frame.error().message();
  EXPECT_EQ(wire::as_message(frame.value()).value().op(), "ready") << frame.value().payload;
  const auto verified = guest.value().verify_confined();
  EXPECT_TRUE(verified.ok()) << verified.error().message();
  guest.value().kill();
  const auto death = guest.value().wait(core::Deadline::after(seconds(10)));
  ASSERT_TRUE(death.ok());
  ASSERT_TRUE(death.value().has_value());
  EXPECT_EQ(death.value()->kind, Death::Kind::killed);
  EXPECT_EQ(death.value()->code, SIGKILL);
  const pid_t pid = guest.value().pid();
  guest.value().close();
  EXPECT_EQ(::kill(pid, 0), -1);
}

}  // namespace
}  // namespace heddle::jail

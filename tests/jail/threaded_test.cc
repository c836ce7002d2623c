// The profiles `tool` and `plugin` as processes: what the host reads of them, and the second filter's step made to
// fail.
#include "heddle/jail/unsafe/threaded_policy.h"

#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <algorithm>

#include "world.h"

namespace heddle::jail {
namespace {

core::Result<Started> start_plugin(Supervisor& supervisor, const char* mode, const Policy& policy) {
  return start_guest(supervisor, "heddle-test-guest", {mode}, policy);
}

// JAIL-16: the host believes the kernel that the second filter is there.
TEST(Threaded, TheSecondFilterIsVerifiedFromOutside) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  const Policy policy = ThreadedPolicy::plugin().value();
  for (const char* mode : {"narrowed", "confined"}) {
    auto started = start_plugin(supervisor.value(), mode, policy);
    ASSERT_TRUE(started.ok()) << started.error().message();
    ASSERT_EQ(next_message(started.value().channel).op(), "ready");
    const Guest& guest = started.value().guest;
    EXPECT_TRUE(guest.verify_confined().ok());
    const bool narrowed = std::string(mode) == "narrowed";
    const auto verdict = guest.verify_narrowed();
    EXPECT_EQ(verdict.ok(), narrowed) << mode;
    if (!narrowed) {
      EXPECT_NE(verdict.error().message().find("second system call filter"), std::string::npos);
    }
    const AppliedPolicy applied = guest.applied().value();
    EXPECT_EQ(applied.filters, narrowed ? 2U : 1U);
    EXPECT_EQ(applied.profile, Profile::plugin);
    const std::vector<std::string> lines = to_lines(applied);
    EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
      return line.find("no file, no execute") != std::string::npos;
    }));
  }
}

// JAIL-11: the second filter fails to load, or there is none: the payload never runs, and the step is named.
TEST(Threaded, WithoutItsSecondFilterAPluginNeverRuns) {
  const struct {
    std::vector<Injection> injections;
    Policy policy;
    int error;
  } rows[] = {
      {{{SYS_seccomp, EACCES, {{0, kAll, SECCOMP_SET_MODE_FILTER}, {1, kAll, SECCOMP_FILTER_FLAG_TSYNC}}}},
       ThreadedPolicy::plugin().value(),
       EACCES},
      {{{SYS_reboot, EPERM, {}}}, ThreadedPolicy::tool().value(), EINVAL},
  };
  for (const auto& row : rows) {
    const InjectedSupervisor injected(row.injections);
    auto supervisor = start_supervisor(injected.path());
    ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
    auto started = start_plugin(supervisor.value(), "narrowed", row.policy);
    ASSERT_TRUE(started.ok()) << started.error().message();
    wire::Message message = next_message(started.value().channel);
    ASSERT_EQ(message.op(), "refused");
    EXPECT_EQ(message.take_number("step").value(), static_cast<unsigned>(Step::second_filter));
    EXPECT_EQ(message.take_number("errno").value(), static_cast<unsigned>(row.error));
    EXPECT_FALSE(started.value().guest.verify_narrowed().ok());
    EXPECT_EQ(next_message(started.value().channel).op(), "gone");
  }
}

}  // namespace
}  // namespace heddle::jail

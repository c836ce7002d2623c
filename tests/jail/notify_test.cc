// JAIL-14: a refused call arrives at the host by name, with the kernel's arguments, and says what refused it.
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "world.h"

namespace heddle::jail {
namespace {

using core::Errc;
constexpr unsigned kAll = ~0U;

struct Attempt {
  int error = -1;  // as the guest saw it; -1: it did not come back
  Death death;
  Denials denials;
  core::Result<void> verified;
};

Attempt attempt(Supervisor& supervisor, const std::string& name, const std::string& parameter,
                const DenialOptions& options = {}) {
  Attempt result;
  auto started = start_guest(supervisor, "heddle-test-attacker", {"confined", name, parameter}, {}, options);
  EXPECT_TRUE(started.ok()) << started.error().message();
  if (!started.ok()) return result;
  wire::Channel& channel = started.value().channel;
  EXPECT_EQ(next_message(channel).op(), "armed");
  wire::Message message = next_message(channel);
  if (message.op() == "attack") result.error = static_cast<int>(message.take_number("errno").value());
  result.death = wait_death(started.value().guest);
  auto denials = started.value().guest.take_denials();
  EXPECT_TRUE(denials.ok()) << denials.error().message();
  if (denials.ok()) result.denials = std::move(denials).value();
  return result;
}

// JAIL-14
TEST(Notifications, NameTheCallAndItsArguments) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  const Attempt kill = attempt(supervisor.value(), "kill", std::to_string(::getpid()));
  EXPECT_EQ(kill.error, EPERM);
  EXPECT_EQ(kill.death.kind, Death::Kind::exited);
  ASSERT_EQ(kill.denials.denials.size(), 1U);
  const Denial& denial = kill.denials.denials[0];
  EXPECT_TRUE(denial.number_known);
  EXPECT_EQ(denial.number, SYS_kill);
  EXPECT_EQ(denial.syscall, "kill");
  EXPECT_EQ(denial.arguments[0], static_cast<std::uint64_t>(::getpid()));
  EXPECT_EQ(denial.arguments[1], 0U);
  EXPECT_EQ(denial.object, Denial::Object::none);
  EXPECT_EQ(denial.rule, "seccomp: not in the script profile's list");
  EXPECT_NE(denial.hint, "");
  EXPECT_EQ(kill.denials.total, 1U);
  EXPECT_EQ(kill.denials.dropped, 0U);
}

// JAIL-14: paths and addresses, observed.
TEST(Notifications, ShowPathsAndAddresses) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  const Attempt open = attempt(supervisor.value(), "read_file", "/etc/passwd");
  EXPECT_EQ(open.error, EPERM);
  ASSERT_EQ(open.denials.denials.size(), 1U);
  EXPECT_EQ(open.denials.denials[0].syscall, "openat");
  EXPECT_EQ(open.denials.denials[0].object, Denial::Object::path);
  EXPECT_EQ(open.denials.denials[0].observed, "/etc/passwd");
  EXPECT_EQ(to_line(open.denials.denials[0]), "openat /etc/passwd (observed): seccomp: a script has no files");

  for (const auto& [path, shown] : {std::pair{"/run/there", "unix:/run/there"}, {"@name", "unix:@name"}}) {
    const Attempt connect = attempt(supervisor.value(), "connect_unix", path);
    EXPECT_EQ(connect.error, EPERM);
    ASSERT_EQ(connect.denials.denials.size(), 2U);  // the socket, and then the inherited one
    EXPECT_EQ(connect.denials.denials[0].syscall, "socket");
    EXPECT_EQ(connect.denials.denials[1].syscall, "connect");
    EXPECT_EQ(connect.denials.denials[1].object, Denial::Object::address);
    EXPECT_EQ(connect.denials.denials[1].observed, shown);
  }
}

}  // namespace
}  // namespace heddle::jail

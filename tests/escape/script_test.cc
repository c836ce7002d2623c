// A hostile native program under the script policy, and the same program free: what is refused must be refused by the
// jail and not by chance.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "attacks.h"

namespace heddle::jail {
namespace {

// Told to the supervisor, and where somebody further out listens already, killed.
enum class Mode : std::uint8_t { listening, killing };

class Attacks : public ::testing::TestWithParam<Mode> {
 protected:
  Attacks() : busy_({}, Outer::listens) {}
  core::Result<Supervisor> supervisor() {
    return start_supervisor(GetParam() == Mode::killing ? busy_.path() : kSupervisor);
  }
  [[nodiscard]] static int expected(int confined) {
    if (confined != kDenied) return confined;
    return GetParam() == Mode::killing ? kKilled : EPERM;
  }

 private:
  InjectedSupervisor busy_;
};
INSTANTIATE_TEST_SUITE_P(Modes, Attacks, ::testing::Values(Mode::listening, Mode::killing), [](const auto& parameter) {
  return parameter.param == Mode::listening ? "Listening" : "Killing";
});

// JAIL-2, JAIL-4, JAIL-5, JAIL-6, JAIL-14
TEST_P(Attacks, AreRefusedUnderTheScriptPolicy) {
  Host host;
  auto supervisor = this->supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  for (const AttackRow& row : attack_rows()) {
    expect_outcome(attack_jailed(supervisor.value(), "confined", row.name, host.parameter(row.parameter)),
                   expected(row.confined), row);
    EXPECT_TRUE(host.file_whole()) << row.name;
    EXPECT_TRUE(host.nothing_arrived()) << row.name;
  }
}

TEST(Attack, ControlTheyWorkWithoutAJail) {
  Host host;
  for (const AttackRow& row : attack_rows()) {
    const int outcome = attack_free(row.name, host.parameter(row.parameter));
    const bool worked = outcome == 0 || outcome == kExecuted;
    const bool must = row.control == Control::works || (row.control == Control::works_for_root && ::geteuid() == 0);
    EXPECT_TRUE(worked || !must) << row.name << ": " << outcome_words(outcome);
    host.make_file();
  }
}

// JAIL-5: every family. Control: those that every machine has.
TEST_P(Attacks, NoSocketOfAnyFamily) {
  auto supervisor = this->supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  for (int family = 0; family <= 46; ++family) {
    EXPECT_EQ(attack_jailed(supervisor.value(), "confined", "socket", std::to_string(family)), EPERM) << family;
  }
  for (const int family : {AF_UNIX, AF_INET, AF_NETLINK}) {
    EXPECT_EQ(attack_free("socket", std::to_string(family)), 0) << family;
  }
}

// JAIL-10: stdout works and leads nowhere.
TEST_P(Attacks, StdoutLeadsNowhere) {
  auto supervisor = this->supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(attack_jailed(supervisor.value(), "confined", "write_stdout", ""), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

// What holds before the filter: JAIL-2, 8. Each layer is shown to stand by itself.
TEST(Attack, TheLayersBelowTheFilterHoldByThemselves) {
  Host host;
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  const AttackRow rows[] = {
      {"read_file", "/etc/passwd", EACCES, Control::works},
      {"read_file", "./file", EACCES, Control::works},
      {"create_file", "./created", EACCES, Control::works},
      {"list_folder", "", EACCES, Control::works},
      {"remove_file", "./file", EACCES, Control::works},
      {"make_folder", "./made", EACCES, Control::works},
      {"fork", "", EAGAIN, Control::works},
      {"too_much_memory", "", ENOMEM, Control::works},
      {"mount_tmpfs", "./mount", EPERM, Control::works_for_root},
      {"change_root", "", EPERM, Control::works_for_root},
      // Itself only: it had to be startable. Landlock would let a memory file be executed, but nothing can be written
      // into it.
      {"execve", "", kExecuted, Control::works},
      {"memfd_exec", "", -SIGXFSZ, Control::works},
  };
  for (const AttackRow& row : rows) {
    expect_outcome(attack_jailed(supervisor.value(), "launched", row.name, host.parameter(row.parameter), Need::off),
                   row.confined, row);
  }
  // JAIL-2: after start-up nothing has execute.
  EXPECT_EQ(attack_jailed(supervisor.value(), "sealed", "execve", "", Need::off), EACCES);
  EXPECT_EQ(attack_jailed(supervisor.value(), "sealed", "read_file", "/proc/self/exe", Need::off), EACCES);
  EXPECT_TRUE(host.file_whole());
}

// JAIL-7: what namespaces add, without the filter: the files and processes of the host are not refused but not there.
TEST(Attacks, InNamespacesTheHostIsNotThere) {
  const Host host;
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  {
    const Policy policy = Policy::script({}, {}, NamespaceOrder{Need::required}).value();
    auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"}, policy);
    if (!started.ok()) GTEST_SKIP() << started.error().message();
  }
  for (const char* name : {"read_file", "remove_file"}) {
    const std::string file = host.parameter("./file");
    EXPECT_EQ(attack_jailed(supervisor.value(), "launched", name, file, Need::required), ENOENT) << name;
  }
  const std::string self = std::to_string(::getpid());
  EXPECT_EQ(attack_jailed(supervisor.value(), "launched", "kill", self, Need::required), ESRCH);
  EXPECT_TRUE(host.file_whole());
}

// JAIL-8, 10: what a guest is born with.
TEST(Attack, AGuestIsBornWithNothing) {
  // A descriptor that the host forgot to mark, which plain fork and exec would pass on.
  const core::Fd leaked(::open("/etc/passwd", O_RDONLY));
  ASSERT_TRUE(leaked.valid());
  ASSERT_EQ(::setenv("HEDDLE_TEST_SECRET", "1", 1), 0);
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  Limits limits;
  limits.cpu = std::chrono::seconds(77);
  auto started = start_guest(supervisor.value(), "heddle-test-attacker", {"launched", "facts"}, limits);
  ASSERT_TRUE(started.ok()) << started.error().message();
  wire::Message facts = next_message(started.value().channel);
  ASSERT_EQ(facts.op(), "facts");
  EXPECT_EQ(facts.take_string("descriptors").value(), "0 1 2 3 4 5 ");
  EXPECT_EQ(facts.take_number("variables").value(), 0U);
  EXPECT_EQ(facts.take_string("folder").value(), "/");
  EXPECT_EQ(facts.take_number("umask").value(), 077U);
  EXPECT_TRUE(facts.take_bool("own_session").value());
  EXPECT_TRUE(facts.take_bool("own_group").value());
  EXPECT_FALSE(facts.take_bool("terminal").value());
  EXPECT_TRUE(facts.take_bool("null_stdio").value());
  const std::uint64_t uid = facts.take_number("uid").value();
  const std::uint64_t gid = facts.take_number("gid").value();
  if (::geteuid() == 0) {
    EXPECT_GE(uid, 0x70000000U);
    EXPECT_LT(uid, 0x7fff0000U);
    EXPECT_EQ(gid, uid);
    EXPECT_EQ(facts.take_number("groups").value(), 0U);
  } else {
    EXPECT_EQ(uid, ::getuid());
  }
  EXPECT_EQ(facts.take_number("data").value(), limits.data_bytes);
  EXPECT_EQ(facts.take_number("stack").value(), limits.stack_bytes);
  EXPECT_EQ(facts.take_number("files").value(), limits.open_files);
  EXPECT_EQ(facts.take_number("processes").value(), 1U);
  EXPECT_EQ(facts.take_number("cpu").value(), 77U);
  for (const char* zero : {"file_bytes", "core", "locked", "queues"}) {
    EXPECT_EQ(facts.take_number(zero).value(), 0U) << zero;
  }
}

// JAIL-1, 6: no capability in any set, as root too.
TEST(Attack, AGuestHasNoCapabilities) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
  ASSERT_TRUE(started.ok()) << started.error().message();
  ASSERT_EQ(next_message(started.value().channel).op(), "ready");
  std::ifstream file("/proc/" + std::to_string(started.value().guest.pid()) + "/status");
  std::stringstream text;
  text << file.rdbuf();
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
    EXPECT_NE(text.str().find(std::string(set) + ":\t0000000000000000"), std::string::npos) << set;
  }
  // Only root can empty the bounding set; no_new_privs makes it moot for others.
  if (::geteuid() == 0) {
    EXPECT_NE(text.str().find("CapBnd:\t0000000000000000"), std::string::npos) << text.str();
  }
}

// Two guests of one host are different users when the host is root, and cannot signal each other.
TEST_P(Attacks, GuestsAreStrangersToEachOther) {
  auto supervisor = this->supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto other = start_guest(supervisor.value(), "heddle-test-guest", {"confined"});
  ASSERT_TRUE(other.ok()) << other.error().message();
  ASSERT_EQ(next_message(other.value().channel).op(), "ready");
  const std::string pid = std::to_string(other.value().guest.pid());
  EXPECT_EQ(attack_jailed(supervisor.value(), "confined", "kill", pid), expected(kDenied));
  EXPECT_EQ(attack_jailed(supervisor.value(), "confined", "tgkill", pid), EPERM);
  EXPECT_EQ(attack_jailed(supervisor.value(), "confined", "process_vm_readv", pid), expected(kDenied));
  if (::geteuid() == 0) {
    EXPECT_EQ(attack_jailed(supervisor.value(), "launched", "kill", pid, Need::off), EPERM);
  }
}

}  // namespace
}  // namespace heddle::jail

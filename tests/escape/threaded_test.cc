// The same hostile program under the profiles `tool` and `plugin`, and under `plugin` with its second filter, when a
// plugin's own code runs. The controls of all rows are script_test.cc's: free, they work.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "attacks.h"
#include "heddle/jail/unsafe/threaded_policy.h"

namespace heddle::jail {
namespace {

struct Stage {
  const char* name;
  const char* stage;
  bool plugin;
  bool listened;
};

class ThreadedAttacks : public ::testing::TestWithParam<Stage> {
 protected:
  ThreadedAttacks() : busy_({}, Outer::listens) {}
  core::Result<Supervisor> supervisor() { return start_supervisor(GetParam().listened ? kSupervisor : busy_.path()); }
  [[nodiscard]] static Policy policy() {
    return GetParam().plugin ? ThreadedPolicy::plugin().value() : ThreadedPolicy::tool().value();
  }
  [[nodiscard]] static int attack(Supervisor& supervisor, const Policy& policy, const char* name,
                                  const std::string& parameter) {
    return attack_jailed(supervisor, policy, GetParam().stage, name, parameter);
  }
  // What a script is refused is refused here, but for threads; a plugin that is not narrowed yet is its own test.
  [[nodiscard]] static int expected(const AttackRow& row) {
    const std::string name = row.name;
    if (name == "many_threads") return EAGAIN;
    // The second filter answers by itself.
    if (GetParam().plugin && name == "connect_unix") return EPERM;
    // A plugin's filter has a row for some sockets; what misses it is refused as an unlisted call is.
    const bool sockets = name == "socket_upper_bits" || name == "sendmsg_unix";
    if (GetParam().plugin && !GetParam().listened && sockets) return kKilled;
    if (row.confined != kDenied) return row.confined;
    return GetParam().listened ? EPERM : kKilled;
  }

 private:
  InjectedSupervisor busy_;
};
INSTANTIATE_TEST_SUITE_P(All, ThreadedAttacks,
                         ::testing::Values(Stage{"Tool", "confined", false, true},
                                           Stage{"ToolKilling", "confined", false, false},
                                           Stage{"PluginNarrowed", "narrowed", true, true},
                                           Stage{"PluginNarrowedKilling", "narrowed", true, false}),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

// JAIL-2, 4, 5, 6, 8
TEST_P(ThreadedAttacks, AreRefused) {
  const Host host;
  auto supervisor = this->supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  const Policy policy = this->policy();
  for (const AttackRow& row : attack_rows()) {
    expect_outcome(attack(supervisor.value(), policy, row.name, host.parameter(row.parameter)), expected(row), row);
    EXPECT_TRUE(host.file_whole()) << row.name;
    EXPECT_TRUE(host.nothing_arrived()) << row.name;
  }
}

// What the profiles are for, and a script has not: threads, and sleep.
TEST_P(ThreadedAttacks, ThreadsAndSleepWork) {
  auto supervisor = this->supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  for (const char* name : {"thread", "nap"}) {
    EXPECT_EQ(attack(supervisor.value(), policy(), name, ""), 0) << name;
  }
  if (GetParam().listened) {
    EXPECT_EQ(attack_jailed(supervisor.value(), "confined", "thread", ""), EPERM);
    EXPECT_EQ(attack_jailed(supervisor.value(), "confined", "nap", ""), EPERM);
  }
}

// JAIL-5: a plugin host reaches a socket by its path until it narrows itself; then no thread of it does, those that
// were there before included. The host's abstract sockets it never reaches where Landlock has scopes.
TEST(PluginAttacks, ConnectUntilTheSecondFilter) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  const Policy policy = ThreadedPolicy::plugin().value();
  const auto connect = [&](const char* stage, const Host& host) {
    return attack_jailed(supervisor.value(), policy, stage, "connect_unix", host.path("stream"));
  };
  {
    const Host reached;
    EXPECT_EQ(connect("confined", reached), 0);  // the control of the next two
    EXPECT_FALSE(reached.nothing_arrived());
  }
  const Host whole;
  EXPECT_EQ(connect("narrowed", whole), EPERM);
  EXPECT_EQ(connect("thread", whole), EPERM);
  EXPECT_TRUE(whole.nothing_arrived());
  for (const char* name : {"socket_upper_bits", "socketpair"}) {
    EXPECT_EQ(attack_jailed(supervisor.value(), policy, "confined", name, ""), EPERM) << name;
  }
  // Families: UNIX until then, and nothing after it.
  for (int family = 0; family <= 46; ++family) {
    const std::string number = std::to_string(family);
    EXPECT_EQ(attack_jailed(supervisor.value(), policy, "confined", "socket", number), family == AF_UNIX ? 0 : EPERM);
    EXPECT_EQ(attack_jailed(supervisor.value(), policy, "narrowed", "socket", number), EPERM) << family;
  }
}

}  // namespace
}  // namespace heddle::jail

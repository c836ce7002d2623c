#include "exec_policy.h"

#include <gtest/gtest.h>

namespace heddle::cli {
namespace {

std::string fault_of(std::string_view text) {
  const auto policy = parse_exec_policy(text, "p.toml");
  if (policy.ok()) return "accepted";
  EXPECT_EQ(policy.error().code, core::Errc::invalid_argument);
  return policy.error().context;
}

// JAIL-2, JAIL-8: nothing but what a line grants.
TEST(ExecPolicy, DefaultsGrantTheRuntimeAndNothingElse) {
  const auto policy = parse_exec_policy("profile = \"program\"", "p.toml");
  ASSERT_TRUE(policy.ok()) << policy.error().message();
  for (const jail::PathGrant& grant : policy.value().needs.paths) {
    EXPECT_EQ(grant.access, grant.path == "/dev/null" ? jail::Access::write : jail::Access::read) << grant.path;
  }
  EXPECT_EQ(policy.value().needs.namespaces.need, jail::Need::required);
  EXPECT_EQ(policy.value().needs.subprocesses, jail::Subprocesses::none);
  EXPECT_TRUE(policy.value().environment.empty());
  EXPECT_EQ(policy.value().input, StandardInput::null);
}

// JAIL-8
TEST(ExecPolicy, ReadsEveryKey) {
  const auto read = parse_exec_policy(R"(
profile = "program"
namespaces = "if_available"
notifications = "required"
control_groups = "required"
network_namespace = true
allow_exec = true
runtime_files = false
working_directory = "/data"
[paths]
read = ["/a"]
write = ["/b"]
execute = ["/c"]
[environment]
LANG = "C.UTF-8"
[limits]
memory = "128MiB"
stack = "1MiB"
file_size = 1000000
open_files = 32
processes = 8
cpu = "1500ms"
cpu_percent = 150
denials = 5
wall_clock = "3s"
[stdio]
stdin = "inherit"
stdout = "null"
stderr = "relay"
max_output = "1kB"
)",
                                      "p.toml");
  ASSERT_TRUE(read.ok()) << read.error().message();
  const ExecPolicy& policy = read.value();
  EXPECT_EQ(policy.needs.namespaces.need, jail::Need::if_available);
  EXPECT_EQ(policy.needs.namespaces.set, jail::kAllNamespaces);
  EXPECT_EQ(policy.needs.subprocesses, jail::Subprocesses::allowed);
  EXPECT_EQ(policy.working_directory, "/data");
  ASSERT_EQ(policy.needs.paths.size(), 3U);
  for (const jail::PathGrant& grant : policy.needs.paths) {
    const jail::Access expected = grant.path == "/a"   ? jail::Access::read
                                  : grant.path == "/b" ? jail::Access::write
                                                       : jail::Access::execute;
    EXPECT_EQ(grant.access, expected) << grant.path;
  }
  EXPECT_EQ(policy.environment, std::vector<std::string>{"LANG=C.UTF-8"});
  EXPECT_EQ(policy.needs.limits.data_bytes, 128U << 20);
  EXPECT_EQ(policy.needs.limits.stack_bytes, 1U << 20);
  EXPECT_EQ(policy.needs.limits.file_bytes, 1'000'000U);
  EXPECT_EQ(policy.needs.limits.open_files, 32U);
  EXPECT_EQ(policy.needs.denials.notifications, jail::Notifications::required);
  EXPECT_EQ(policy.needs.denials.quota, 5U);
  const jail::GroupLimits& group = policy.needs.limits.group;
  EXPECT_EQ(group.memory_bytes, (jail::GroupLimit{128U << 20, jail::Need::required}));
  EXPECT_EQ(group.processes, (jail::GroupLimit{8, jail::Need::required}));
  EXPECT_EQ(group.cpu_percent, (jail::GroupLimit{150, jail::Need::required}));
  EXPECT_EQ(group.own_group, jail::Need::required);
  EXPECT_EQ(policy.needs.limits.processes, 9U);  // the group refuses first, and can say so
  EXPECT_EQ(policy.needs.limits.cpu.count(), 2);
  EXPECT_EQ(policy.wall_clock, std::chrono::seconds(3));
  EXPECT_EQ(policy.input, StandardInput::inherit);
  EXPECT_EQ(policy.output, StandardOutput::null);
  EXPECT_EQ(policy.max_output, 1000U);
}

// JAIL-9: groups where the host has them, and none where the policy says so.
TEST(ExecPolicy, LimitsAllProcessesTogetherWhereTheHostCan) {
  const auto usual = parse_exec_policy("profile = \"program\"", "p.toml").value();
  EXPECT_EQ(usual.needs.limits.group.processes, (jail::GroupLimit{64, jail::Need::if_available}));
  EXPECT_FALSE(usual.needs.limits.group.cpu_percent);
  const auto off = parse_exec_policy("profile = \"program\"\ncontrol_groups = \"off\"", "p.toml").value();
  EXPECT_FALSE(off.needs.limits.group.any());
  EXPECT_EQ(off.needs.limits.processes, 64U);
}

// JAIL-11: what is not understood is refused, with its place and what may stand there.
TEST(ExecPolicy, RefusesWhatItDoesNotKnow) {
  const struct {
    const char* text;
    const char* place;
    const char* words;
  } rows[] = {
      {"profile = \"program\"\nprofil = 1", "p.toml:2:1:", "here may stand: profile"},
      {"profile = \"program\"\n[limits]\n  memori = 1", "p.toml:3:3:", "limits.memori"},
      {"profile = \"tool\"", "p.toml:1:11:", "none of: program"},
      {"profile = \"program\"\ncontrol_groups = \"off\"\nlimits.cpu_percent = 5", "p.toml: ", "control_groups"},
      {"notifications = \"off\"", "p.toml:1:17:", "required, if_available"},
      {"profile = 1", "p.toml:1:11:", "must be a string"},
      {"allow_exec = \"yes\"", "p.toml:1:14:", "true or false"},
      {"namespaces = \"maybe\"", "p.toml:1:14:", "required, if_available, off"},
      {"[paths]\nread = \"/a\"", "p.toml:2:8:", "list of paths"},
      {"[paths]\nread = [\"/a\", \"b\"]", "p.toml:2:15:", "absolute"},
      {"[limits]\nmemory = \"1 apple\"", "p.toml:2:10:", "apple"},
      {"[limits]\nmemory = -1", "p.toml:2:10:", "-1"},
      {"[limits]\nopen_files = 3", "p.toml:2:14:", "from 16"},
      {"[environment]\nA = 1", "p.toml:2:5:", "must be a string"},
      {"limits = 1", "p.toml:1:10:", "[limits]"},
      {"profile = \"program\"\nprofile = \"program\"", "p.toml:2:", ""},
      {"profile = ", "p.toml:1:", ""},
      {"", "p.toml: ", "profile is missing"},
      {"\xff", "p.toml: ", "UTF-8"},
  };
  for (const auto& row : rows) {
    const std::string fault = fault_of(row.text);
    EXPECT_NE(fault.find(row.place), std::string::npos) << row.text << " → " << fault;
    EXPECT_NE(fault.find(row.words), std::string::npos) << row.text << " → " << fault;
  }
}

}  // namespace
}  // namespace heddle::cli

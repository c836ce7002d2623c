#include "heddle/jail/policy_file/policy_file.h"

#include <gtest/gtest.h>

namespace heddle::jail {
namespace {

core::Result<ProgramFile> parse_program(std::string_view text, const std::string& file) {
  HEDDLE_ASSIGN(auto policy, parse_policy(text, file));
  return std::get<ProgramFile>(std::move(policy));
}

std::string fault_of(std::string_view text) {
  const auto policy = parse_policy(text, "p.toml");
  if (policy.ok()) return "accepted";
  return policy.error().context;
}

// JAIL-2, JAIL-8: nothing but what a line grants.
TEST(PolicyFile, DefaultsGrantTheRuntimeAndNothingElse) {
  const auto policy = parse_program("profile = \"program\"", "p.toml");
  ASSERT_TRUE(policy.ok()) << policy.error().message();
  for (const PathGrant& grant : policy.value().needs.paths) {
    EXPECT_EQ(grant.access, grant.path == "/dev/null" ? Access::write : Access::read) << grant.path;
  }
  EXPECT_EQ(policy.value().needs.namespaces.need, Need::required);
  EXPECT_EQ(policy.value().needs.subprocesses, Subprocesses::none);
  EXPECT_TRUE(policy.value().environment.empty());
  EXPECT_EQ(policy.value().input, StandardInput::null);
}

// JAIL-8
TEST(PolicyFile, ReadsEveryKey) {
  const auto read = parse_program(R"(
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
  const ProgramFile& policy = read.value();
  EXPECT_EQ(policy.needs.namespaces.need, Need::if_available);
  EXPECT_EQ(policy.needs.namespaces.set, kAllNamespaces);
  EXPECT_EQ(policy.needs.subprocesses, Subprocesses::allowed);
  EXPECT_EQ(policy.working_directory, "/data");
  ASSERT_EQ(policy.needs.paths.size(), 3U);
  for (const PathGrant& grant : policy.needs.paths) {
    const Access expected = grant.path == "/a" ? Access::read : grant.path == "/b" ? Access::write : Access::execute;
    EXPECT_EQ(grant.access, expected) << grant.path;
  }
  EXPECT_EQ(policy.environment, std::vector<std::string>{"LANG=C.UTF-8"});
  EXPECT_EQ(policy.needs.limits.data_bytes, 128U << 20);
  EXPECT_EQ(policy.needs.limits.stack_bytes, 1U << 20);
  EXPECT_EQ(policy.needs.limits.file_bytes, 1'000'000U);
  EXPECT_EQ(policy.needs.limits.open_files, 32U);
  EXPECT_EQ(policy.needs.denials.notifications, Notifications::required);
  EXPECT_EQ(policy.needs.denials.quota, 5U);
  const GroupLimits& group = policy.needs.limits.group;
  EXPECT_EQ(group.memory_bytes, (GroupLimit{128U << 20, Need::required}));
  EXPECT_EQ(group.processes, (GroupLimit{8, Need::required}));
  EXPECT_EQ(group.cpu_percent, (GroupLimit{150, Need::required}));
  EXPECT_EQ(group.own_group, Need::required);
  EXPECT_EQ(policy.needs.limits.processes, 9U);  // the group refuses first, and can say so
  EXPECT_EQ(policy.needs.limits.cpu.count(), 2);
  EXPECT_EQ(policy.wall_clock, std::chrono::seconds(3));
  EXPECT_EQ(policy.input, StandardInput::inherit);
  EXPECT_EQ(policy.output, StandardOutput::null);
  EXPECT_EQ(policy.max_output, 1000U);
}

// JAIL-9: groups where the host has them, and none where the policy says so.
TEST(PolicyFile, LimitsAllProcessesTogetherWhereTheHostCan) {
  const auto usual = parse_program("profile = \"program\"", "p.toml").value();
  EXPECT_EQ(usual.needs.limits.group.processes, (GroupLimit{64, Need::if_available}));
  EXPECT_FALSE(usual.needs.limits.group.cpu_percent);
  const auto off = parse_program("profile = \"program\"\ncontrol_groups = \"off\"", "p.toml").value();
  EXPECT_FALSE(off.needs.limits.group.any());
  EXPECT_EQ(off.needs.limits.processes, 64U);
}

// The profile script: limits and layers, and nothing that could weaken it.
TEST(PolicyFile, MakesAScriptsPolicy) {
  const auto read = parse_policy(R"(
profile = "script"
namespaces = "required"
notifications = "off"
[limits]
memory = "64MiB"
denials = 3
)",
                                 "p.toml");
  ASSERT_TRUE(read.ok()) << read.error().message();
  const ScriptFile& script = std::get<ScriptFile>(read.value());
  EXPECT_EQ(script.limits.data_bytes, 64U << 20);
  EXPECT_EQ(script.limits.processes, 1U);
  EXPECT_EQ(script.limits.group.memory_bytes, (GroupLimit{64U << 20, Need::if_available}));
  EXPECT_EQ(script.namespaces.need, Need::required);
  EXPECT_EQ(script.denials.quota, 3U);
  EXPECT_EQ(script.denials.notifications, Notifications::off);
  EXPECT_TRUE(Policy::script(script.limits, script.denials, script.namespaces).ok());
}

// The profiles tool and plugin: a script's keys, and how many threads; nothing that grants.
TEST(PolicyFile, MakesAToolsAndAPluginsPolicy) {
  const char* const text = R"(
namespaces = "required"
[limits]
memory = "64MiB"
processes = 5
open_files = 20
denials = 3
)";
  const auto check = [](const auto& needs) {
    EXPECT_EQ(needs.limits.data_bytes, 64U << 20);
    EXPECT_EQ(needs.limits.processes, 5U);
    EXPECT_EQ(needs.limits.open_files, 20U);
    EXPECT_EQ(needs.limits.file_bytes, 0U);
    EXPECT_EQ(needs.limits.group.memory_bytes, (GroupLimit{64U << 20, Need::if_available}));
    EXPECT_EQ(needs.namespaces.need, Need::required);
    EXPECT_EQ(needs.denials.quota, 3U);
  };
  const auto tool = parse_policy(std::string("profile = \"tool\"") + text, "p.toml");
  ASSERT_TRUE(tool.ok()) << tool.error().message();
  const ToolNeeds& tool_needs = std::get<ToolFile>(tool.value()).needs;
  check(tool_needs);
  EXPECT_EQ(tool_needs.namespaces.root, Root::empty);
  EXPECT_EQ(ThreadedPolicy::tool(tool_needs).value().profile(), Profile::tool);
  const auto plugin = parse_policy(std::string("profile = \"plugin\"") + text, "p.toml");
  ASSERT_TRUE(plugin.ok()) << plugin.error().message();
  const PluginNeeds& plugin_needs = std::get<PluginFile>(plugin.value()).needs;
  check(plugin_needs);
  EXPECT_EQ(plugin_needs.namespaces.root, Root::host);
  EXPECT_EQ(ThreadedPolicy::plugin(plugin_needs).value().profile(), Profile::plugin);
}

// JAIL-11: what is not understood is refused, with its place and what may stand there.
TEST(PolicyFile, RefusesWhatItDoesNotKnow) {
  const struct {
    const char* text;
    const char* place;
    const char* words;
  } rows[] = {
      {"profile = \"program\"\nprofil = 1", "p.toml:2:1:", "here may stand: profile"},
      {"profile = \"program\"\n[limits]\n  memori = 1", "p.toml:3:3:", "limits.memori"},
      {"profile = \"tols\"", "p.toml:1:11:", "none of: script, tool, plugin, program"},
      {"profile = \"tool\"\nallow_exec = true", "p.toml:2:1:", "is not a key of this profile"},
      {"profile = \"plugin\"\npaths.read = [\"/a\"]", "p.toml:2:1:", "is not a key of this profile"},
      {"profile = \"tool\"\nlimits.processes = 0", "p.toml:2:20:", "from 1"},
      {"profile = \"script\"\nallow_exec = true", "p.toml:2:1:", "is not a key of this profile"},
      {"profile = \"script\"\npaths.read = [\"/a\"]", "p.toml:2:1:", "is not a key of this profile"},
      {"profile = \"script\"\nlimits.processes = 5", "p.toml:2:8:", "is not a key of this profile"},
      {"profile = \"program\"\ncontrol_groups = \"off\"\nlimits.cpu_percent = 5", "p.toml: ", "control_groups"},
      {"profile = \"program\"\nnotifications = \"off\"", "p.toml:2:17:", "required, if_available"},
      {"profile = 1", "p.toml:1:11:", "must be a string"},
      {"profile = \"program\"\nallow_exec = \"yes\"", "p.toml:2:14:", "true or false"},
      {"profile = \"program\"\nnamespaces = \"maybe\"", "p.toml:2:14:", "required, if_available, off"},
      {"profile = \"program\"\n[paths]\nread = \"/a\"", "p.toml:3:8:", "list of paths"},
      {"profile = \"program\"\n[paths]\nread = [\"/a\", \"b\"]", "p.toml:3:15:", "absolute"},
      {"profile = \"program\"\n[limits]\nmemory = \"1 apple\"", "p.toml:3:10:", "apple"},
      {"profile = \"program\"\n[limits]\nmemory = -1", "p.toml:3:10:", "-1"},
      {"profile = \"program\"\n[limits]\nopen_files = 3", "p.toml:3:14:", "from 16"},
      {"profile = \"program\"\n[environment]\nA = 1", "p.toml:3:5:", "must be a string"},
      {"profile = \"program\"\nlimits = 1", "p.toml:2:10:", "[limits]"},
      {"profile = \"program\"\nprofile = \"program\"", "p.toml:2:", ""},
      {"profile = \"program\"\n[paths]\nread = [\"~/data\"]", "p.toml:3:9:", "write it out"},
      {"profile = \"program\"\n[paths]\nwrite = [\"$HOME\"]", "p.toml:3:10:", "variables are not replaced"},
      {"profile = \"program\"\n[paths]\nread = [\"*.c\"]", "p.toml:3:9:", "absolute"},
      {"profile = \"program\"\nworking_directory = \"~\"", "p.toml:2:21:", "write it out"},
      {"profile = \"program\"\n[environment]\n\"A\\u0000B\" = \"\"", "p.toml:3:1:", "not a name of a variable"},
      {"profile = \"program\"\n[environment]\n\"A=B\" = \"\"", "p.toml:3:1:", "not a name of a variable"},
      {"profile = \"program\"\n[environment]\n\"\" = \"\"", "p.toml:3:1:", "not a name of a variable"},
      {"profile = \"program\"\n[environment]\nA = \"\\u0000\"", "p.toml:3:5:", "NUL"},
      {"profile = \"program\"\n[environment]\nA = \"\"\nA = \"\"", "p.toml:4:", ""},
      {"profile = \"program\"\r\n[paths]\r\nread = [1]\r\n", "p.toml:3:9:", "string"},
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

// JAIL-8: a file that is made to be deep is refused by its place, and ends nothing. Control: a long one is read.
TEST(PolicyFile, RefusesWhatIsTooDeep) {
  const std::string heading = "profile = \"program\"\n";
  std::string key = "a";
  for (int i = 0; i < 200'000; ++i) key += ".a";
  for (const std::string& text : {key + " = 1", "[" + key + "]", "environment = {" + key + " = 1}",
                                  "x = " + std::string(1'000'000, '['), "paths.read = [" + std::string(500, '{')}) {
    const std::string fault = fault_of(heading + text);
    EXPECT_NE(fault.find("p.toml:2:"), std::string::npos) << fault;
    EXPECT_LT(fault.size(), 600U);
  }
  std::string many = heading + "[environment]\n";
  for (int i = 0; i < 20'000; ++i) many += "A" + std::to_string(i) + " = \"" + std::string(20, '.') + "\"\n";
  EXPECT_EQ(fault_of(many), "accepted");
}

// JAIL-8: as other systems' editors leave it.
TEST(PolicyFile, ReadsAByteOrderMarkAndLineEnds) {
  const auto read =
      parse_program("\xEF\xBB\xBFprofile = \"program\"\r\n[paths]\r\nread = [\r\n\"/a\"\r\n]\r\n", "p.toml");
  ASSERT_TRUE(read.ok()) << read.error().message();
  ASSERT_EQ(read.value().granted.size(), 1U);
  EXPECT_EQ(read.value().granted[0].path, "/a");
  EXPECT_EQ(read.value().granted[0].where, "p.toml:4:1");
}

}  // namespace
}  // namespace heddle::jail

// JAIL-13: the command, on this machine and under an outer sandbox that takes something away. The sandbox is a seccomp
// filter, so what the doctor meets is what a container's filter would let it meet.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int kNotEnforced = 20;

struct Told {
  int status = -1;
  nlohmann::json object;

  nlohmann::json layer(const std::string& id) const {
    for (const auto& layer : object["layers"]) {
      if (layer["id"] == id) return layer;
    }
    ADD_FAILURE() << "no layer " << id;
    return nlohmann::json::object();
  }
  std::string state(const std::string& id) const { return layer(id)["state"]; }
};

Told run(const std::string& program) {
  Told told;
  std::string text;
  FILE* output = ::popen((program + " doctor --json").c_str(), "re");
  if (output == nullptr) return told;
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, output)) > 0;) text.append(buffer, got);
  const int status = ::pclose(output);
  told.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  told.object = nlohmann::json::parse(text, nullptr, false);
  EXPECT_FALSE(told.object.is_discarded()) << text;
  return told;
}

// `rules`: calls that answer with an errno (tests/support/inject.cc).
Told run_without(const std::vector<std::pair<long, int>>& rules) {
  char folder[] = "/tmp/heddle-doctor-XXXXXX";
  EXPECT_NE(::mkdtemp(folder), nullptr);
  const std::string program = std::string(folder) + "/doctor";
  std::filesystem::copy_file(HEDDLE_INJECT, program);
  std::ofstream file(program + ".rules");
  file << HEDDLE_COMMAND << '\n';
  for (const auto& [number, error] : rules) file << number << ' ' << error << '\n';
  file.close();
  Told told = run(program);
  std::filesystem::remove_all(folder);
  return told;
}

// Control: whatever this machine is, the command and its exit code say the same.
TEST(DoctorProcess, ExitCodeAndObjectAgree) {
  const Told told = run(HEDDLE_COMMAND);
  ASSERT_TRUE(told.status == 0 || told.status == kNotEnforced);
  EXPECT_EQ(told.object["scriptWorker"], told.status == 0 ? "enforced" : "refused");
  EXPECT_EQ(told.object["root"], ::geteuid() == 0);
}

class OuterSandbox : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run(HEDDLE_COMMAND).status != 0) GTEST_SKIP() << "scripts do not run on this machine";
  }
};

// What scripts do not need may be missing.
TEST_F(OuterSandbox, WithoutNamespacesScriptsRun) {
  const Told told = run_without({{SYS_unshare, EPERM}});
  EXPECT_EQ(told.status, 0);
  for (const char* id : {"namespace_user", "namespace_mount", "namespace_pid", "namespace_network"}) {
    EXPECT_EQ(told.state(id), "missing") << id;
    EXPECT_NE(told.layer(id)["advice"].get<std::string>().find("container"), std::string::npos) << told.layer(id);
  }
  EXPECT_GE(told.object["outerFilters"].get<int>(), 1);
  EXPECT_EQ(told.state("worker"), "enforced");
}

// JAIL-2, 11: what they need may not.
TEST_F(OuterSandbox, WithoutLandlockScriptsAreRefused) {
  constexpr long kCreateRuleset = 444;  // landlock_create_ruleset
  const Told told = run_without({{kCreateRuleset, ENOSYS}});
  EXPECT_EQ(told.status, kNotEnforced);
  EXPECT_EQ(told.object["scriptWorker"], "refused");
  EXPECT_EQ(told.state("landlock_files"), "missing");
  EXPECT_NE(told.layer("landlock_files")["reason"].get<std::string>().find("outer sandbox"), std::string::npos);
  EXPECT_EQ(told.state("worker"), "missing");
  EXPECT_NE(told.layer("worker")["reason"].get<std::string>().find("landlock_version"), std::string::npos);
  EXPECT_EQ(told.state("seccomp_filter"), "enforced");
}

TEST_F(OuterSandbox, WithoutCloseRangeScriptsAreRefused) {
  const Told told = run_without({{SYS_close_range, EPERM}});
  EXPECT_EQ(told.status, kNotEnforced);
  EXPECT_EQ(told.state("close_range"), "missing");
  EXPECT_EQ(told.state("worker"), "missing");
}

// A call that says that it worked, and did not: only the look at what it does tells.
TEST_F(OuterSandbox, AFilterThatIsOnlyClaimedIsNotEnforced) {
  const Told told = run_without({{SYS_seccomp, 0}});
  EXPECT_EQ(told.status, kNotEnforced);
  EXPECT_EQ(told.state("seccomp_filter"), "missing");
  EXPECT_EQ(told.state("seccomp_foreign"), "missing");
}

TEST_F(OuterSandbox, LandlockThatIsOnlyClaimedIsNotEnforced) {
  constexpr long kRestrictSelf = 446;  // landlock_restrict_self
  const Told told = run_without({{kRestrictSelf, 0}});
  EXPECT_EQ(told.status, kNotEnforced);
  for (const char* id : {"landlock_files", "landlock_network", "landlock_scopes"}) {
    EXPECT_EQ(told.state(id), "missing") << id;
  }
}

}  // namespace

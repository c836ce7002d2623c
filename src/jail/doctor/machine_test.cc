// JAIL-13: the machine that the test runs on, and files of machines that it does not.
#include "heddle/jail/doctor/machine.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "attempt.h"
#include "heddle/jail/confine/landlock.h"
#include "heddle/jail/doctor/doctor.h"

namespace heddle::jail {
namespace {

class Files : public ::testing::Test {
 protected:
  Files() {
    char folder[] = "/tmp/heddle-doctor-XXXXXX";
    root_ = ::mkdtemp(folder);
  }
  ~Files() override { std::filesystem::remove_all(root_); }
  void put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void put_group(const std::string& folder, const std::string& controllers) const {
    put(folder + "/cgroup.controllers", controllers + "\n");
    put(folder + "/cgroup.procs", "");
    put(folder + "/cgroup.subtree_control", "");
  }
  std::string root_;
};

// JAIL-9
TEST_F(Files, FindTheOwnGroup) {
  put("/proc/self/mountinfo",
      "25 1 0:22 / /proc rw - proc proc rw\n"
      "31 25 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  put("/proc/self/cgroup", "0::/user.slice/a.scope\n");
  EXPECT_EQ(probe_cgroup(root_).folder, "");  // not there to be seen
  put_group("/sys/fs/cgroup/user.slice/a.scope", "memory pids");
  CgroupFacts facts = probe_cgroup(root_);
  EXPECT_EQ(facts.hierarchy, CgroupFacts::Hierarchy::version2);
  EXPECT_EQ(facts.folder, "/sys/fs/cgroup/user.slice/a.scope");
  EXPECT_EQ(facts.controllers, "memory pids");
  EXPECT_EQ(facts.writable, 0);
  EXPECT_FALSE(facts.kill);
  EXPECT_FALSE(facts.version1_too);
  put("/sys/fs/cgroup/user.slice/a.scope/cgroup.kill", "");
  EXPECT_TRUE(probe_cgroup(root_).kill);
  std::filesystem::remove(root_ + "/sys/fs/cgroup/user.slice/a.scope/cgroup.procs");
  EXPECT_EQ(probe_cgroup(root_).writable, ENOENT);
}

TEST_F(Files, FindTheGroupOfAContainer) {
  put("/proc/self/mountinfo", "31 25 0:27 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  put("/proc/self/cgroup", "0::/docker/x/inner\n");
  put_group("/sys/fs/cgroup/inner", "cpu");
  EXPECT_EQ(probe_cgroup(root_).folder, "/sys/fs/cgroup/inner");
  put("/proc/self/cgroup", "0::/../elsewhere\n");
  EXPECT_EQ(probe_cgroup(root_).folder, "");
}

TEST_F(Files, TellTheOldGroupsFromNone) {
  EXPECT_EQ(probe_cgroup(root_).hierarchy, CgroupFacts::Hierarchy::none);
  put("/proc/self/mountinfo", "31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  EXPECT_EQ(probe_cgroup(root_).hierarchy, CgroupFacts::Hierarchy::version1);
  put("/proc/self/mountinfo",
      "31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup rw\n");
  EXPECT_EQ(probe_cgroup(root_).hierarchy, CgroupFacts::Hierarchy::version2);
  EXPECT_TRUE(probe_cgroup(root_).version1_too);
}

// JAIL-7
TEST_F(Files, Switches) {
  const Switches none = read_switches(root_);
  EXPECT_FALSE(none.max_user_namespaces || none.unprivileged_userns_clone || none.apparmor_restricts_user_spaces);
  put("/proc/sys/user/max_user_namespaces", "0\n");
  put("/proc/sys/kernel/unprivileged_userns_clone", "1\n");
  put("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
  const Switches all = read_switches(root_);
  EXPECT_EQ(all.max_user_namespaces, 0);
  EXPECT_EQ(all.unprivileged_userns_clone, 1);
  EXPECT_EQ(all.apparmor_restricts_user_spaces, 1);
}

TEST_F(Files, Containers) {
  EXPECT_EQ(find_container(root_, nullptr), "");
  EXPECT_EQ(find_container(root_, "lxc"), "lxc");
  put("/proc/1/cgroup", "0::/kubepods/pod1\n");
  EXPECT_EQ(find_container(root_, ""), "kubepods");
  put("/run/systemd/container", "systemd-nspawn\n");
  EXPECT_EQ(find_container(root_, nullptr), "systemd-nspawn");
  put("/.dockerenv", "");
  EXPECT_EQ(find_container(root_, nullptr), "docker");
  put("/run/.containerenv", "");
  EXPECT_EQ(find_container(root_, nullptr), "podman");
}

// A filter that refuses nothing is not taken for one that works: the probe looks at what it is for.
TEST(Attempts, AFilterIsJudgedByWhatItDoes) {
  const unsigned char allow[] = {0x06, 0, 0, 0, 0, 0, 0xff, 0x7f};  // return ALLOW
  const std::string_view filter(reinterpret_cast<const char*>(allow), sizeof allow);
  EXPECT_EQ(try_filter(filter), EPROTO);
  EXPECT_EQ(try_foreign_call(filter), EPROTO);
  EXPECT_EQ(try_filter(filter.substr(1)), EINVAL);
}

// Without a supervisor no machine is called good.
TEST(ProbeMachine, SaysThatAHelperIsMissing) {
  ProbeOptions options;
  options.supervisor = "/nonexistent/heddle-supervisor";
  const Machine machine = probe_machine(options);
  EXPECT_NE(machine.worker_problem.find("/nonexistent/heddle-supervisor"), std::string::npos);
  EXPECT_FALSE(diagnose(machine).script_worker);
  // What the machine itself is, it still tells.
  EXPECT_FALSE(machine.release.empty());
  EXPECT_EQ(machine.landlock_abi, landlock_abi());
  EXPECT_EQ(machine.no_new_privs, 0);
  EXPECT_EQ(machine.root, ::geteuid() == 0);
}

// Every child has been waited for, and every descriptor closed.
TEST(ProbeMachine, LeavesNothingBehind) {
  const auto open_descriptors = [] {
    const std::filesystem::directory_iterator folder("/proc/self/fd");
    return std::distance(begin(folder), end(folder));
  };
  ProbeOptions options;
  options.supervisor = "/nonexistent/heddle-supervisor";
  const auto before = open_descriptors();
  (void)probe_machine(options);
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace heddle::jail

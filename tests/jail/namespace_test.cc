// JAIL-7: namespaces are there where the host permits them, are never the only layer, and where they are missing the
// guest is refused or the reason is reported, as the policy says.
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "step_row.h"

namespace heddle::jail {
namespace {

constexpr int kFolder = O_PATH | O_DIRECTORY | O_CLOEXEC;

Policy with(Need need, NamespaceSet set = kUsualNamespaces) {
  return Policy::script({}, {}, NamespaceOrder{need, set}).value();
}

bool says(const AppliedPolicy& applied, const std::string& part) {
  for (const std::string& line : to_lines(applied)) {
    if (line.find(part) != std::string::npos) return true;
  }
  return false;
}

std::string link_of(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
  return size < 0 ? "" : std::string(target, static_cast<std::size_t>(size));
}

std::string namespace_of(const std::string& process, const std::string& name) {
  return link_of("/proc/" + process + "/ns/" + name);
}

// The words of a line of /proc/PID/FILE; of its only line without a name.
std::vector<std::string> words_of(pid_t pid, const std::string& file, const std::string& name = "") {
  std::ifstream in("/proc/" + std::to_string(pid) + "/" + file);
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, name.size(), name) != 0) continue;
    std::istringstream text(line.substr(name.size()));
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    return words;
  }
  return {};
}

// Whether this host gives namespaces out at all; the tests of what they do need it.
std::string refusal(Supervisor& supervisor) {
  auto started = start_guest(supervisor, "heddle-test-guest", {"confined"}, with(Need::required, kAllNamespaces));
  return started.ok() ? "" : started.error().message();
}

// JAIL-7, JAIL-13
TEST(Namespaces, AGuestIsInThoseThatAreReported) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  if (const std::string why = refusal(supervisor.value()); !why.empty()) GTEST_SKIP() << why;
  auto started = start_bare(supervisor.value(), with(Need::if_available, kAllNamespaces));
  ASSERT_TRUE(started.ok()) << started.error().message();
  const Guest& guest = started.value().guest;
  EXPECT_EQ(guest.namespaces().set, kAllNamespaces);
  EXPECT_EQ(guest.namespaces().refused.step, Step::none);
  EXPECT_GT(guest.applied().value().landlock_abi, 0);
  for (const char* name : {"user", "pid", "mnt", "ipc", "uts", "net"}) {
    const std::string its = namespace_of(std::to_string(guest.pid()), name);
    EXPECT_FALSE(its.empty()) << name;
    EXPECT_NE(its, namespace_of("self", name)) << name;
  }
  // Its own id to itself and nothing else: root is mapped to nobody, and nobody to root.
  const std::string user = std::to_string(guest.applied().value().uid);
  EXPECT_NE(user, "0");
  EXPECT_EQ(words_of(guest.pid(), "uid_map"), (std::vector<std::string>{user, user, "1"}));
  EXPECT_EQ(words_of(guest.pid(), "gid_map").at(2), "1");
  EXPECT_EQ(words_of(guest.pid(), "setgroups"), std::vector<std::string>{"deny"});
  EXPECT_EQ(words_of(guest.pid(), "status", "NSpid:").back(), "1");
  for (const char* set : {"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"}) {
    EXPECT_EQ(words_of(guest.pid(), "status", set), std::vector<std::string>{"0000000000000000"}) << set;
  }
}

// Control for the above.
TEST(Namespaces, WithoutThemAGuestSharesTheHosts) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto started = start_bare(supervisor.value(), with(Need::off));
  ASSERT_TRUE(started.ok()) << started.error().message();
  const Guest& guest = started.value().guest;
  EXPECT_TRUE(guest.namespaces().set.empty());
  for (const char* name : {"user", "pid", "mnt", "ipc", "uts", "net"}) {
    const std::string its = namespace_of(std::to_string(guest.pid()), name);
    if (its.empty()) continue;  // as an ordinary user: the guest's /proc may be closed to us
    EXPECT_EQ(its, namespace_of("self", name)) << name;
  }
  EXPECT_EQ(words_of(guest.pid(), "status", "NSpid:").size(), words_of(::getpid(), "status", "NSpid:").size());
}

// JAIL-7: the usual set leaves the network alone; each set is what it says.
TEST(Namespaces, TheNetworkIsOnlyPartOfTheFullSet) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  if (const std::string why = refusal(supervisor.value()); !why.empty()) GTEST_SKIP() << why;
  auto started = start_bare(supervisor.value(), with(Need::required));
  ASSERT_TRUE(started.ok()) << started.error().message();
  EXPECT_EQ(started.value().guest.namespaces().set, kUsualNamespaces);
  EXPECT_EQ(namespace_of(std::to_string(started.value().guest.pid()), "net"), namespace_of("self", "net"));
}

// JAIL-7: an empty root, which not even its owner can write to.
TEST(Namespaces, TheRootFolderIsEmptyAndReadOnly) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  if (const std::string why = refusal(supervisor.value()); !why.empty()) GTEST_SKIP() << why;
  auto started = start_bare(supervisor.value(), with(Need::required));
  ASSERT_TRUE(started.ok()) << started.error().message();
  const std::string root = "/proc/" + std::to_string(started.value().guest.pid()) + "/root/";
  EXPECT_TRUE(std::filesystem::is_empty(root));
  EXPECT_LT(::open((root + "file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600), 0);
  EXPECT_TRUE(errno == EROFS || errno == EACCES) << errno;
  // One mount, and it is not the host's.
  std::ifstream mounts("/proc/" + std::to_string(started.value().guest.pid()) + "/mountinfo");
  std::string line;
  int count = 0;
  while (std::getline(mounts, line)) {
    ++count;
    EXPECT_NE(line.find(" - tmpfs "), std::string::npos) << line;
  }
  EXPECT_EQ(count, 1);
}

// JAIL-7, JAIL-16: with all layers the kernel still says what the host must read.
TEST(Namespaces, AConfinedGuestIsVerifiedAndKilled) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  if (const std::string why = refusal(supervisor.value()); !why.empty()) GTEST_SKIP() << why;
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"deaf"}, with(Need::required, kAllNamespaces));
  ASSERT_TRUE(started.ok()) << started.error().message();
  Guest& guest = started.value().guest;
  EXPECT_EQ(next_message(started.value().channel).op(), "ready");
  const auto verified = guest.verify_confined();
  EXPECT_TRUE(verified.ok()) << verified.error().message();
  guest.kill();  // process 1 of its namespace ignores what it has no handler for, but not this
  EXPECT_EQ(wait_death(guest).kind, Death::Kind::killed);
}

// JAIL-12: the supervisor's end is the end of a guest in a pid namespace.
TEST(Namespaces, AGuestDiesWithTheSupervisor) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  if (const std::string why = refusal(supervisor.value()); !why.empty()) GTEST_SKIP() << why;
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"deaf"}, with(Need::required));
  ASSERT_TRUE(started.ok()) << started.error().message();
  EXPECT_EQ(next_message(started.value().channel).op(), "ready");
  ASSERT_EQ(::kill(supervisor.value().pid(), SIGKILL), 0);
  EXPECT_TRUE(gone(started.value().guest.pid()));
}

// JAIL-11, JAIL-7: every step, where namespaces are required.
TEST(Namespaces, EveryStepThatFailsIsNamedAndNothingRuns) {
  {
    auto supervisor = start_supervisor();
    ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
    if (const std::string why = refusal(supervisor.value()); !why.empty()) GTEST_SKIP() << why;
  }
  for (const Row& row : namespace_rows()) {
    if (row.who == Who::root && ::geteuid() != 0) continue;
    SCOPED_TRACE(step_name(row.step));
    expect_refused(row, with(Need::required));
  }
}

// JAIL-7, JAIL-13: where they are not required the guest runs with the layers that are left, all of them, and what
// refused the namespaces is told.
TEST(Namespaces, WhatRefusesThemIsReported) {
  for (const Row& row : namespace_rows()) {
    if (row.who == Who::root && ::geteuid() != 0) continue;
    SCOPED_TRACE(step_name(row.step));
    const InjectedSupervisor injected({row.injection});
    auto supervisor = start_supervisor(injected.path());
    ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
    auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"}, with(Need::if_available));
    ASSERT_TRUE(started.ok()) << started.error().message();
    EXPECT_EQ(next_message(started.value().channel).op(), "ready");
    const auto verified = started.value().guest.verify_confined();
    EXPECT_TRUE(verified.ok()) << verified.error().message();
    const auto applied = started.value().guest.applied();
    ASSERT_TRUE(applied.ok()) << applied.error().message();
    const AppliedNamespaces& namespaces = applied.value().namespaces;
    EXPECT_TRUE(namespaces.set.empty());
    EXPECT_NE(namespaces.refused.step, Step::none);
    EXPECT_NE(namespaces.refused.error, 0);
    EXPECT_TRUE(says(applied.value(), step_name(namespaces.refused.step)));
  }
}

// JAIL-13: a limit and a switch have different remedies.
TEST(Namespaces, TheReasonSaysWhatToDo) {
  AppliedPolicy applied;
  applied.namespaces.wanted = Need::if_available;
  applied.namespaces.refused = Failure{Step::namespaces, EPERM, 0};
  EXPECT_TRUE(says(applied, "apparmor_restrict_unprivileged_userns"));
  applied.namespaces.refused.error = ENOSPC;
  EXPECT_TRUE(says(applied, "max_user_namespaces"));
  applied.namespaces.wanted = Need::off;
  applied.namespaces.refused = {};
  EXPECT_TRUE(says(applied, "as the policy says"));
}

}  // namespace

std::vector<Row> namespace_rows() {
  const auto decimal = [](unsigned number) { return std::to_string(number).size(); };
  // "ID ID 1"; a root host's guests have ten digits.
  const auto map_size = static_cast<unsigned>(2 * (::geteuid() == 0 ? 10 : decimal(::geteuid())) + 3);
  return {
      {Step::namespaces, {SYS_clone, EPERM, {{0, CLONE_NEWPID, CLONE_NEWPID}}}},
      {Step::namespaces, {SYS_clone, ENOSPC, {{0, CLONE_NEWPID, CLONE_NEWPID}}}},
      {Step::map_folder, {SYS_openat, ENOENT, {{2, kAll, kFolder}}}},
      {Step::root_private, {SYS_mount, EPERM, {}}},
      {Step::root_create, {SYS_fsopen, ENOSYS, {}}},
      {Step::root_create, {SYS_fsconfig, EPERM, {}}},
      {Step::root_create, {SYS_fsmount, EPERM, {}}},
      {Step::root_mount, {SYS_move_mount, EPERM, {}}},
      {Step::root_pivot, {SYS_pivot_root, EINVAL, {}}},
      {Step::root_detach, {SYS_umount2, EINVAL, {}}},
      {Step::user_namespace, {SYS_unshare, ENOSPC, {}}, Who::root},
      {Step::map_owner, {SYS_prctl, EPERM, {{0, kAll, PR_SET_DUMPABLE}, {1, kAll, 1}}}, Who::root},
      {Step::map_groups, {SYS_write, EPERM, {{2, kAll, 4}}}},
      {Step::map_ids, {SYS_write, EPERM, {{2, kAll, map_size}}}},
  };
}

}  // namespace heddle::jail

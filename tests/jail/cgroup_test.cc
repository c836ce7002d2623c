// JAIL-9, JAIL-11, JAIL-12, JAIL-13: control groups on this machine's kernel. Where its cgroup2 has no memory and no
// pids controller, making, entering, killing, removing and sweeping are shown here, and the limits in the guest
// kernels.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "group_world.h"
#include "heddle/jail/launch/cgroup.h"
#include "world.h"

namespace heddle::jail {
namespace {

using core::Errc;
using std::chrono::seconds;

#define NEEDS_GROUPS() \
  if (!GroupPlace::available()) GTEST_SKIP() << GroupPlace::missing()

Limits own_group(Need need = Need::required) {
  Limits limits;
  limits.group.own_group = need;
  limits.processes = 64;
  return limits;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Polls: what a kill sets in motion takes the kernel a moment.
template <class Condition>
bool soon(Condition condition) {
  const core::Deadline deadline = core::Deadline::after(seconds(20));
  while (!condition()) {
    if (deadline.passed()) return false;
    ::usleep(2000);
  }
  return true;
}

// A child that sleeps, in `group`.
pid_t sleeper_in(const std::string& group) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (;;) ::pause();
  }
  EXPECT_TRUE(write_control(group + "/cgroup.procs", std::to_string(pid)));
  return pid;
}

int status_of(pid_t pid) {
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return status;
}

// JAIL-9
TEST(Groups, AGuestIsBornInAGroupOfItsOwn) {
  NEEDS_GROUPS();
  const GroupPlace place;
  {
    auto supervisor = start_supervisor(kSupervisor, place.options());
    ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
    EXPECT_TRUE(place.groups().empty());  // nothing before it is needed
    auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"}, own_group());
    ASSERT_TRUE(started.ok()) << started.error().message();
    Guest& guest = started.value().guest;
    EXPECT_EQ(next_message(started.value().channel).op(), "ready");
    const AppliedCgroup& applied = guest.cgroup();
    EXPECT_EQ(applied.path.rfind(place.path() + "/heddle/" + std::to_string(supervisor.value().pid()) + "-", 0), 0U);
    EXPECT_EQ(members(applied.path), std::set<pid_t>{guest.pid()});
    EXPECT_EQ(read_control(applied.path + "/cgroup.max.descendants"), "0\n");
    EXPECT_TRUE(applied.part(GroupPart::own_group).applied.has_value());
    EXPECT_FALSE(applied.part(GroupPart::memory).asked);
    const auto verified = guest.verify_confined();
    EXPECT_TRUE(verified.ok()) << verified.error().message();

    auto other = start_guest(supervisor.value(), "heddle-test-guest", {"confined"}, own_group());
    ASSERT_TRUE(other.ok()) << other.error().message();
    EXPECT_NE(other.value().guest.cgroup().path, applied.path);
    EXPECT_EQ(place.groups().size(), 4U);

    guest.kill(KillReason::time_out);
    const Death death = wait_death(guest);
    EXPECT_EQ(death.kind, Death::Kind::timed_out);
    ASSERT_TRUE(death.group.has_value());
    EXPECT_EQ(death.group->oom_kills, 0U);
    EXPECT_GT(death.group->cpu_microseconds, 0U);
    EXPECT_TRUE(soon([&] { return place.groups().size() == 3; }));
  }
  EXPECT_TRUE(place.groups().empty());
}

// JAIL-9, JAIL-13: what is not there is reported or refused, as the policy says.
TEST(Groups, ALimitThatCannotBeHadIsReportedOrRefused) {
  NEEDS_GROUPS();
  if (GroupPlace::has_controller("memory")) GTEST_SKIP() << "this cgroup2 has the memory controller";
  const GroupPlace place;
  auto supervisor = start_supervisor(kSupervisor, place.options());
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  Limits limits = own_group();
  limits.group.memory_bytes = GroupLimit{64U << 20, Need::if_available};
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"}, limits);
  ASSERT_TRUE(started.ok()) << started.error().message();
  const AppliedCgroup::Part& memory = started.value().guest.cgroup().part(GroupPart::memory);
  EXPECT_TRUE(memory.asked);
  EXPECT_FALSE(memory.applied.has_value());
  EXPECT_EQ(memory.problem, GroupProblem::no_controller);
  EXPECT_TRUE(says(describe(started.value().guest.cgroup()), "memory.max: not applied"));

  limits.group.memory_bytes->need = Need::required;
  const std::size_t before = place.groups().size();
  const auto refused = start_guest(supervisor.value(), "heddle-test-guest", {"confined"}, limits);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::unsupported);
  EXPECT_TRUE(says(refused.error().message(), "memory.max is required")) << refused.error().message();
  EXPECT_EQ(place.groups().size(), before);

  // Only limits that cannot be had, none of them required: no group.
  Limits wishes;
  wishes.group.memory_bytes = GroupLimit{64U << 20, Need::if_available};
  auto without = start_guest(supervisor.value(), "heddle-test-guest", {"confined"}, wishes);
  ASSERT_TRUE(without.ok()) << without.error().message();
  EXPECT_TRUE(without.value().guest.cgroup().path.empty());
  EXPECT_EQ(next_message(without.value().channel).op(), "ready");
  EXPECT_TRUE(without.value().guest.verify_confined().ok());
}

// JAIL-9: the switch, folders that are no groups, folders that anybody can write, and who has none.
TEST(Groups, AParentIsVerified) {
  const auto problem = [](const CgroupOptions& options) {
    auto supervisor = start_supervisor(kSupervisor, options);
    EXPECT_TRUE(supervisor.ok());
    auto wished = start_guest(supervisor.value(), "heddle-test-guest", {"confined"}, own_group(Need::if_available));
    auto required = start_guest(supervisor.value(), "heddle-test-guest", {"confined"}, own_group());
    EXPECT_TRUE(wished.ok());
    EXPECT_EQ(required.ok(), wished.value().guest.cgroup().part(GroupPart::own_group).applied.has_value());
    if (!required.ok()) {
      EXPECT_EQ(required.error().step, step_name(Step::group_parent));
    }
    return wished.value().guest.cgroup().part(GroupPart::own_group).problem;
  };
  CgroupOptions options;
  options.parent = CgroupOptions::Parent::none;
  EXPECT_EQ(problem(options), GroupProblem::switched_off);
  options.parent = CgroupOptions::Parent::folder;
  options.folder = "/tmp";
  EXPECT_EQ(problem(options), GroupProblem::not_a_group);
  options.folder = "/nonexistent";
  EXPECT_EQ(problem(options), GroupProblem::not_a_group);
  options.parent = CgroupOptions::Parent::found;
  const GroupProblem found = problem(options);
  if (!GroupPlace::available()) {
    EXPECT_NE(found, GroupProblem::none);
    GTEST_SKIP() << GroupPlace::missing();
  }
  EXPECT_EQ(found, GroupProblem::none);
  const GroupPlace place;
  EXPECT_EQ(problem(place.options()), GroupProblem::none);
  ASSERT_EQ(::chmod(place.path().c_str(), 0777), 0);
  EXPECT_EQ(problem(place.options()), GroupProblem::untrusted_folder);
  ASSERT_EQ(::chmod(place.path().c_str(), 0755), 0);
  ASSERT_EQ(::chown((place.path() + "/cgroup.procs").c_str(), 12345, 12345), 0);
  EXPECT_EQ(problem(place.options()), GroupProblem::not_delegated);
}

// JAIL-9: without clone3, as under container filters, the child enters the group by itself, first of all; and without
// openat2.
TEST(Groups, WorkWithoutNewerCalls) {
  NEEDS_GROUPS();
  for (const long missing : {SYS_clone3, SYS_openat2}) {
    const GroupPlace place;
    const InjectedSupervisor injected({{missing, ENOSYS, {}}});
    auto supervisor = start_supervisor(injected.path(), place.options());
    ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
    auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"}, own_group());
    ASSERT_TRUE(started.ok()) << started.error().message();
    EXPECT_EQ(next_message(started.value().channel).op(), "ready");
    EXPECT_EQ(members(started.value().guest.cgroup().path), std::set<pid_t>{started.value().guest.pid()});
    EXPECT_TRUE(started.value().guest.verify_confined().ok());
  }
}

// JAIL-11
TEST(Groups, AChildThatCannotEnterNeverRuns) {
  NEEDS_GROUPS();
  const GroupPlace place;
  const InjectedSupervisor injected({{SYS_clone3, ENOSYS, {}}, {SYS_pwrite64, EACCES, {{2, ~0U, 2}}}});
  auto supervisor = start_supervisor(injected.path(), place.options());
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"}, own_group());
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().step, step_name(Step::group_enter)) << started.error().message();
  EXPECT_EQ(place.groups().size(), 2U) << "its group stays";  // heddle and the supervisor's own
}

// JAIL-16: a write that lies.
TEST(Groups, AGuestThatIsNotInItsGroupIsNotBelieved) {
  NEEDS_GROUPS();
  const GroupPlace place;
  const InjectedSupervisor injected({{SYS_clone3, ENOSYS, {}}, {SYS_pwrite64, 0, {{2, ~0U, 2}}}});
  auto supervisor = start_supervisor(injected.path(), place.options());
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"}, own_group());
  ASSERT_TRUE(started.ok()) << started.error().message();
  EXPECT_EQ(next_message(started.value().channel).op(), "ready");
  const auto verified = started.value().guest.verify_confined();
  ASSERT_FALSE(verified.ok());
  EXPECT_TRUE(says(verified.error().message(), "control group")) << verified.error().message();
}

// JAIL-12: descendants in sessions of their own end with the guest, however it ends. Control: without a group they
// stay. No pid namespace, which would end them too.
TEST(Groups, EndAllDescendants) {
  NEEDS_GROUPS();
  const GroupPlace place;
  auto supervisor = start_supervisor(kSupervisor, place.options());
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  for (const bool killed : {true, false}) {
    auto started = start_guest(supervisor.value(), "heddle-test-guest", {"family"},
                               Policy::script(own_group(), {}, NamespaceOrder{}).value());
    ASSERT_TRUE(started.ok()) << started.error().message();
    wire::Message ready = next_message(started.value().channel);
    ASSERT_EQ(ready.take_number("children").value(), 3U);
    const std::set<pid_t> family = members(started.value().guest.cgroup().path);
    ASSERT_EQ(family.size(), 4U);
    if (killed) {
      started.value().guest.kill();
    } else {
      const wire::Channel closed = std::move(started.value().channel);
    }
    EXPECT_EQ(wait_death(started.value().guest).kind, killed ? Death::Kind::killed : Death::Kind::exited);
    for (const pid_t pid : family) EXPECT_TRUE(gone(pid));
    EXPECT_TRUE(soon([&] { return place.groups().size() == 2; }));
  }
  // Without a group they fall to the supervisor, which ends them one by one. That they would live otherwise is shown by
  // ExecHost.ControlTheyAreLeftWithoutAJail.
  Limits plain;
  plain.processes = 64;
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"family"},
                             Policy::script(plain, {}, NamespaceOrder{}).value());
  ASSERT_TRUE(started.ok()) << started.error().message();
  EXPECT_EQ(next_message(started.value().channel).op(), "ready");
  const pid_t parent = started.value().guest.pid();
  std::set<pid_t> children;
  std::ifstream list("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  for (pid_t pid = 0; list >> pid;) children.insert(pid);
  ASSERT_EQ(children.size(), 3U);
  started.value().guest.close();
  for (const pid_t pid : children) EXPECT_TRUE(gone(pid));
}

// JAIL-9, JAIL-12: both ways to end a group; the second is that of kernels before 5.14.
TEST(Groups, AreKilledBothWays) {
  NEEDS_GROUPS();
  const GroupPlace place;
  for (const bool freeze : {false, true}) {
    const std::string path = place.make("g");
    const core::Result<GroupFolder> group = GroupFolder::open(path);
    ASSERT_TRUE(group.ok()) << group.error().message();
    std::set<pid_t> children;
    for (int i = 0; i < 5; ++i) children.insert(sleeper_in(path));
    EXPECT_TRUE(group.value().has_processes());
    if (freeze) {
      group.value().freeze_and_kill();
    } else {
      group.value().kill();
    }
    for (const pid_t pid : children) {
      const int status = status_of(pid);
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    EXPECT_FALSE(group.value().has_processes());
    EXPECT_EQ(::rmdir(path.c_str()), 0);
  }
}

// JAIL-9: control files are never made, and nothing leads out of the folder. On a folder of files, since cgroup2 has
// none of these.
TEST(Groups, OpenOnlyWhatIsThere) {
  char folder[] = "/tmp/heddle-groups-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = folder;
  EXPECT_EQ(GroupFolder::open(path).error().code, Errc::unsupported);
  ASSERT_TRUE(write_control(path + "/there", "old"));
  ASSERT_EQ(::mkdir((path + "/below").c_str(), 0755), 0);
  ASSERT_EQ(::symlink("there", (path + "/link").c_str()), 0);
  const GroupFolder group(core::Fd(::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  EXPECT_EQ(group.write("there", "new"), 0);
  EXPECT_EQ(read_control(path + "/there"), "new");
  EXPECT_EQ(group.read("there").value(), "new");
  EXPECT_EQ(group.write("missing", "x"), ENOENT);
  EXPECT_NE(::access((path + "/missing").c_str(), F_OK), 0);
  EXPECT_EQ(group.write("link", "x"), ELOOP);
  EXPECT_EQ(group.read("below/../../passwd").error().sys_errno, EXDEV);
  EXPECT_TRUE(group.open_below("below").ok());
  EXPECT_FALSE(group.open_below("link").ok());
  EXPECT_FALSE(group.open_below("there").ok());
  std::filesystem::remove_all(path);
}

// JAIL-12: what a killed supervisor left is removed by the next one; nobody else's is.
TEST(Groups, AreSweptAfterAKilledSupervisor) {
  NEEDS_GROUPS();
  const GroupPlace place;
  std::set<pid_t> left;
  {
    auto killed = start_supervisor(kSupervisor, place.options());
    ASSERT_TRUE(killed.ok()) << killed.error().message();
    auto started = start_guest(killed.value(), "heddle-test-guest", {"family"}, own_group());
    ASSERT_TRUE(started.ok()) << started.error().message();
    EXPECT_EQ(next_message(started.value().channel).op(), "ready");
    left = members(started.value().guest.cgroup().path);
    ASSERT_EQ(left.size(), 4U);
    ASSERT_EQ(::kill(killed.value().pid(), SIGKILL), 0);
    EXPECT_EQ(wait_death(started.value().guest).kind, Death::Kind::with_supervisor);
  }
  EXPECT_EQ(place.groups().size(), 3U);  // nobody has cleaned up yet
  auto living = start_supervisor(kSupervisor, place.options());
  ASSERT_TRUE(living.ok()) << living.error().message();
  EXPECT_TRUE(place.groups().empty());
  for (const pid_t pid : left) EXPECT_TRUE(gone(pid));

  // A living supervisor's guest, somebody else's folder, a pid that is another process's today, a lock that is held.
  auto started = start_guest(living.value(), "heddle-test-guest", {"confined"}, own_group());
  ASSERT_TRUE(started.ok()) << started.error().message();
  place.make("heddle/not-ours");
  place.make("heddle/" + std::to_string(::getpid()) + "-1/7");
  const std::string locked = place.make("heddle/" + std::to_string(::getpid()) + "-2");
  const core::Fd lock(::open(locked.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  std::set<std::string> expected = place.groups();
  expected.erase("heddle/" + std::to_string(::getpid()) + "-1/7");
  expected.erase("heddle/" + std::to_string(::getpid()) + "-1");
  auto third = start_supervisor(kSupervisor, place.options());
  ASSERT_TRUE(third.ok()) << third.error().message();
  EXPECT_EQ(place.groups(), expected);
  EXPECT_FALSE(started.value().guest.process().has_exited());
}

// In a child: a host with two guests in groups, each with children that nothing but its group ends. Says that they are
// there, and waits to be killed.
[[noreturn]] void hosts_two(const CgroupOptions& options, const core::Fd& up) {
  auto supervisor = start_supervisor(kSupervisor, options);
  std::vector<Started> guests;
  for (int i = 0; i < 2 && supervisor.ok(); ++i) {
    auto started = start_guest(supervisor.value(), "heddle-test-guest", {"family"}, own_group());
    if (!started.ok() || next_message(started.value().channel).op() != "ready") ::_exit(1);
    guests.push_back(std::move(started).value());
  }
  if (core::write_all(up, "x").ok()) ::pause();
  ::_exit(1);
}

// JAIL-12: with the host gone, while its guests live, their supervisor takes the groups away with all that is in them.
// No other one is started, which would do so too.
TEST(Groups, AreRemovedWhenTheHostIsKilled) {
  NEEDS_GROUPS();
  const GroupPlace place;
  core::FdPair up = core::pipe_pair().value();
  const pid_t host = ::fork();
  if (host == 0) hosts_two(place.options(), up.second);
  up.second.reset();
  char byte = 0;
  ASSERT_EQ(::read(up.first.get(), &byte, 1), 1);
  std::set<pid_t> left;
  for (const std::string& group : place.groups()) left.merge(members(place.path() + "/" + group));
  EXPECT_GE(left.size(), 8U);  // and a child that is made ahead
  ASSERT_EQ(::kill(host, SIGKILL), 0);
  EXPECT_EQ(::waitpid(host, nullptr, 0), host);
  for (int tries = 0; tries < 6000 && !place.groups().empty(); ++tries) ::usleep(5000);
  EXPECT_TRUE(place.groups().empty());
  for (const pid_t pid : left) EXPECT_TRUE(gone(pid));
}

// JAIL-9: systemd's delegation with the host in the delegated group itself, as in a scope: both move below it. In a
// child, since this process stays where it is.
int moves_the_host(const std::string& group, CgroupOptions::Host host) {
  if (!write_control(group + "/cgroup.procs", "0")) return 1;
  if (::setxattr(group.c_str(), "trusted.delegate", "1", 1, 0) != 0) return 2;
  CgroupOptions options;
  options.host = host;
  auto supervisor = start_supervisor(kSupervisor, options);
  if (!supervisor.ok()) return 3;
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"confined"}, own_group());
  if (host == CgroupOptions::Host::stays) return started.ok() && members(group).count(::getpid()) == 1 ? 0 : 4;
  if (!started.ok()) return 5;
  if (started.value().guest.cgroup().path.rfind(group + "/heddle/", 0) != 0) return 6;
  const std::set<pid_t> expected = {::getpid(), supervisor.value().pid()};
  if (members(group + "/heddle-host") != expected) return 7;
  // The next supervisor finds its way from below.
  auto second = start_supervisor(kSupervisor, options);
  if (!second.ok()) return 8;
  auto again = start_guest(second.value(), "heddle-test-guest", {"confined"}, own_group());
  if (!again.ok()) return 9;
  return again.value().guest.cgroup().path.rfind(group + "/heddle/", 0) == 0 ? 0 : 10;
}

TEST(Groups, MoveTheHostOnlyWhenToldTo) {
  NEEDS_GROUPS();
  const GroupPlace place;
  const std::string group = place.make("scope");
  EXPECT_EXIT(::_exit(moves_the_host(group, CgroupOptions::Host::may_move)), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(place.groups(), (std::set<std::string>{"scope", "scope/heddle-host"}));
  const std::string other = place.make("other");
  EXPECT_EXIT(::_exit(moves_the_host(other, CgroupOptions::Host::stays)), ::testing::ExitedWithCode(0), "");
}

// JAIL-9: without any control group.
TEST(Groups, TellATimeOutFromAKill) {
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  auto started = start_guest(supervisor.value(), "heddle-test-guest", {"spin"});
  ASSERT_TRUE(started.ok()) << started.error().message();
  started.value().guest.kill(KillReason::time_out);
  started.value().guest.kill();  // the first reason stays
  const Death death = wait_death(started.value().guest);
  EXPECT_EQ(death.kind, Death::Kind::timed_out);
  EXPECT_FALSE(death.group.has_value());
}

// JAIL-9: out of memory, the limit of processes.
TEST(Groups, TellOutOfMemoryAndProcessLimitApart) {
  NEEDS_GROUPS();
  if (!GroupPlace::has_controller("memory") || !GroupPlace::has_controller("pids"))
    GTEST_SKIP() << "cgroup version 1 owns memory and pids here: shown in the guest kernels";
  const GroupPlace place;
  auto supervisor = start_supervisor(kSupervisor, place.options());
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  Limits limits;
  limits.processes = 64;
  limits.data_bytes = 1U << 30;
  limits.group.memory_bytes = GroupLimit{32U << 20, Need::required};
  limits.group.swap_bytes = GroupLimit{0, Need::if_available};
  limits.group.processes = GroupLimit{4, Need::required};
  limits.group.cpu_percent = GroupLimit{50, Need::required};

  auto hungry = start_guest(supervisor.value(), "heddle-test-guest", {"eat"}, limits);
  ASSERT_TRUE(hungry.ok()) << hungry.error().message();
  EXPECT_EQ(next_message(hungry.value().channel).op(), "ready");
  const std::string group = hungry.value().guest.cgroup().path;
  EXPECT_EQ(read_control(group + "/memory.max"), std::to_string(32U << 20) + "\n");
  EXPECT_EQ(read_control(group + "/memory.oom.group"), "1\n");
  EXPECT_EQ(read_control(group + "/pids.max"), "4\n");
  EXPECT_EQ(read_control(group + "/cpu.max"), "50000 100000\n");
  hungry.value().channel.queue(wire::Message("go"));
  (void)hungry.value().channel.wait_flushed(core::Deadline::after(seconds(20)));
  const Death starved = wait_death(hungry.value().guest);
  EXPECT_EQ(starved.kind, Death::Kind::out_of_memory) << describe(starved);
  ASSERT_TRUE(starved.group.has_value());
  EXPECT_GT(starved.group->oom_kills, 0U);
  if (starved.group->peak_bytes) {
    EXPECT_GT(*starved.group->peak_bytes, 24U << 20);
    EXPECT_LE(*starved.group->peak_bytes, 32U << 20);
  }

  auto parent = start_guest(supervisor.value(), "heddle-test-guest", {"breed"}, limits);
  ASSERT_TRUE(parent.ok()) << parent.error().message();
  wire::Message ready = next_message(parent.value().channel);
  EXPECT_EQ(ready.take_number("children").value(), 3U);
  const Death refused = wait_death(parent.value().guest);
  EXPECT_EQ(refused.kind, Death::Kind::process_limit) << describe(refused);
  EXPECT_EQ(refused.code, 9);
  EXPECT_TRUE(soon([&] { return place.groups().size() == 2; }));
}

}  // namespace
}  // namespace heddle::jail

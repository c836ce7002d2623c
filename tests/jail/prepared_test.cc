// JAIL-7, JAIL-11, JAIL-12: a guest that was made ahead is what a guest made from nothing is, and a child that waits
// outlives nobody. That every failing step refuses it too is in step_test.cc; the other tests of this folder run once
// more with every guest made ahead (HEDDLE_TEST_PREPARED).
#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "group_world.h"
#include "world.h"

namespace heddle::jail {
namespace {

Policy apart(NamespaceSet set, Need need = Need::required) {
  return Policy::script({}, {}, NamespaceOrder{need, set}).value();
}

// Of one process, without those that have ended and are not collected yet.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::ifstream list("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  for (pid_t child = 0; list >> child;) children.push_back(child);
  return children;
}

bool wait_for_children(pid_t parent, std::size_t count) {
  const core::Deadline deadline = core::Deadline::after(std::chrono::seconds(20));
  while (children_of(parent).size() != count) {
    if (deadline.passed()) return false;
    ::usleep(1000);
  }
  return true;
}

// What the kernel says about a process, but for what differs from one to the next.
std::map<std::string, std::string> portrait(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/";
  std::map<std::string, std::string> all;
  std::ifstream status(folder + "status");
  for (std::string line; std::getline(status, line);) {
    const std::string name = line.substr(0, line.find(':'));
    for (const char* kept : {"Umask", "NSpid", "Groups", "Threads", "SigBlk", "SigIgn", "SigCgt", "ShdPnd", "CapInh",
                             "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters"}) {
      if (name == kept) all[name] = line;
    }
  }
  // Process 1 of a namespace of its own, or one of the host's.
  const std::string number = all["NSpid"].substr(all["NSpid"].rfind('\t') + 1);
  all["NSpid"] = number == std::to_string(pid) ? "the host's" : number;
  std::ifstream mounts(folder + "mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string id;
    std::string parent;
    std::string device;
    std::string rest;
    words >> id >> parent >> device;
    std::getline(words, rest);
    all["mounts"] += rest + "\n";
  }
  for (const char* file : {"limits", "setgroups", "cgroup", "environ", "cmdline", "oom_score_adj"}) {
    std::ifstream in(folder + file);
    std::ostringstream text;
    text << in.rdbuf();
    all[file] = text.str();
  }
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "fd", ignored)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored).string();
    all["fd " + entry.path().filename().string()] = target.substr(0, target.find('['));
  }
  for (const char* link : {"cwd", "root"}) all[link] = std::filesystem::read_symlink(folder + link, ignored).string();
  std::ifstream stat(folder + "stat");
  std::string line;
  std::getline(stat, line);
  std::istringstream words(line.substr(std::min(line.size(), line.rfind(')') + 2)));
  std::string state;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  words >> state >> parent >> group >> session;
  all["session"] = group == pid && session == pid ? "its own" : "another's";
  return all;
}

// The user that a process is, by the kernel's account.
std::uint32_t user_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::uint32_t user = 0;
  for (std::string word; status >> word;) {
    if (word == "Uid:") status >> user;
  }
  return user;
}

// A process that is that user, and nobody else; what `work` returns.
template <typename Work>
pid_t fork_as(std::uint32_t user, const Work& work) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  const bool become = ::syscall(SYS_setgroups, 0, nullptr) == 0 && ::syscall(SYS_setresgid, user, user, user) == 0 &&
                      ::syscall(SYS_setresuid, user, user, user) == 0;
  ::_exit(become ? work() : 255);
}

// What the kernel says to such a process that wants to trace another: 0, or errno.
int trace_as(std::uint32_t user, pid_t target) {
  const pid_t pid = fork_as(user, [&] { return ::ptrace(PTRACE_SEIZE, target, nullptr, nullptr) == 0 ? 0 : errno; });
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WEXITSTATUS(status);
}

std::size_t descriptors_of(pid_t pid) {
  const std::filesystem::directory_iterator folder("/proc/" + std::to_string(pid) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(folder), end(folder)));
}

class PreparedGuest : public testing::Test {
 protected:
  void SetUp() override {
    auto started = start_supervisor();
    ASSERT_TRUE(started.ok()) << started.error().message();
    supervisor_.emplace(std::move(started).value());
    const auto there = start_guest(*supervisor_, "heddle-test-guest", {"confined"}, apart(kAllNamespaces));
    if (!there.ok()) GTEST_SKIP() << there.error().message();
  }
  Supervisor& supervisor() { return *supervisor_; }
  std::optional<Supervisor> supervisor_;
};

// JAIL-7, JAIL-10: whatever the kernel tells about the two is the same.
TEST_F(PreparedGuest, IsWhatAGuestMadeFromNothingIs) {
  for (const NamespaceSet set : {NamespaceSet(), kUsualNamespaces, kAllNamespaces}) {
    SCOPED_TRACE(to_text(set));
    const Policy policy = apart(set, set.empty() ? Need::off : Need::required);
    auto from_nothing = start_bare(supervisor(), policy);
    ASSERT_TRUE(from_nothing.ok()) << from_nothing.error().message();
    const auto ready = supervisor().prepare(policy);
    ASSERT_TRUE(ready.ok()) << ready.error().message();
    auto prepared = start_bare(supervisor(), policy);
    ASSERT_TRUE(prepared.ok()) << prepared.error().message();
    EXPECT_EQ(portrait(prepared.value().guest.pid()), portrait(from_nothing.value().guest.pid()));
    const auto applied = prepared.value().guest.applied();
    ASSERT_TRUE(applied.ok()) << applied.error().message();
    EXPECT_EQ(applied.value().namespaces.set, set);
    EXPECT_EQ(applied.value().landlock_abi, from_nothing.value().guest.applied().value().landlock_abi);
  }
}

// JAIL-7: each has namespaces of its own; and the child that waited is the guest, with the next one behind it.
TEST_F(PreparedGuest, IsTheChildThatWaited) {
  const Policy policy = apart(kAllNamespaces);
  ASSERT_TRUE(wait_for_children(supervisor().pid(), 0));
  ASSERT_TRUE(supervisor().prepare(policy).ok());
  ASSERT_EQ(children_of(supervisor().pid()).size(), 1U);
  std::map<std::string, int> networks;
  std::vector<Started> guests;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(wait_for_children(supervisor().pid(), guests.size() + 1));
    const auto waiting = children_of(supervisor().pid());
    auto started = start_bare(supervisor(), policy);
    ASSERT_TRUE(started.ok()) << started.error().message();
    const pid_t pid = started.value().guest.pid();
    EXPECT_EQ(std::count(waiting.begin(), waiting.end(), pid), 1);
    ++networks[std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/ns/net").string()];
    guests.push_back(std::move(started).value());
  }
  ++networks[std::filesystem::read_symlink("/proc/self/ns/net").string()];
  EXPECT_EQ(networks.size(), 4U);
  EXPECT_TRUE(wait_for_children(supervisor().pid(), 4));
  // Asked again, there is one; asked right after a spawn, it is made at once.
  ASSERT_TRUE(supervisor().prepare(policy).ok());
  EXPECT_EQ(children_of(supervisor().pid()).size(), 4U);
  auto another = start_bare(supervisor(), policy);
  ASSERT_TRUE(another.ok()) << another.error().message();
  ASSERT_TRUE(supervisor().prepare(policy).ok());
  EXPECT_EQ(children_of(supervisor().pid()).size(), 5U);
}

// JAIL-16: confined, verified, killed, like any other.
TEST_F(PreparedGuest, IsVerifiedAndKilled) {
  ASSERT_TRUE(supervisor().prepare(apart(kAllNamespaces)).ok());
  auto started = start_guest(supervisor(), "heddle-test-guest", {"deaf"}, apart(kAllNamespaces));
  ASSERT_TRUE(started.ok()) << started.error().message();
  Guest& guest = started.value().guest;
  EXPECT_EQ(next_message(started.value().channel).op(), "ready");
  const auto verified = guest.verify_confined();
  EXPECT_TRUE(verified.ok()) << verified.error().message();
  guest.kill();
  EXPECT_EQ(wait_death(guest).kind, Death::Kind::killed);
}

// JAIL-12: neither the host's end nor the supervisor's leaves a child that waits.
TEST_F(PreparedGuest, AChildThatWaitsEndsWithTheSupervisor) {
  ASSERT_TRUE(supervisor().prepare(apart(kAllNamespaces)).ok());
  const auto killed = children_of(supervisor().pid());
  ASSERT_EQ(killed.size(), 1U);
  ASSERT_EQ(::kill(supervisor().pid(), SIGKILL), 0);
  EXPECT_TRUE(gone(killed.front()));

  auto another = start_supervisor();
  ASSERT_TRUE(another.ok()) << another.error().message();
  ASSERT_TRUE(another.value().prepare(apart(kAllNamespaces)).ok());
  const auto closed = children_of(another.value().pid());
  ASSERT_EQ(closed.size(), 1U);
  { const Supervisor ended = std::move(another).value(); }
  EXPECT_TRUE(gone(closed.front()));
}

// Somebody ends the child that waits: the guest is made from nothing, and the next child too.
TEST_F(PreparedGuest, WithoutTheChildThatWaitedTheGuestStartsAllTheSame) {
  const Policy policy = apart(kUsualNamespaces);
  ASSERT_TRUE(supervisor().prepare(policy).ok());
  const auto waiting = children_of(supervisor().pid());
  ASSERT_EQ(waiting.size(), 1U);
  if (::kill(waiting.front(), SIGKILL) != 0) GTEST_SKIP() << "not permitted to end it";
  auto started = start_bare(supervisor(), policy);
  ASSERT_TRUE(started.ok()) << started.error().message();
  EXPECT_NE(started.value().guest.pid(), waiting.front());
  EXPECT_TRUE(gone(waiting.front()));
  EXPECT_TRUE(wait_for_children(supervisor().pid(), 2));
}

// JAIL-13: each has a user of its own, the one that its child waited as; and none is lost, however often one is made.
TEST_F(PreparedGuest, HasAUserOfItsOwn) {
  if (::geteuid() != 0) GTEST_SKIP() << "an ordinary user has one user for all";
  constexpr std::uint32_t kCount = 4;
  SupervisorOptions options;
  options.program = kSupervisor;
  options.identities.count = kCount;
  auto other = Supervisor::start(options);
  ASSERT_TRUE(other.ok()) << other.error().message();
  const Policy policy = apart(kUsualNamespaces);
  std::set<std::uint32_t> all;
  for (std::uint32_t round = 0; round < 3 * kCount; ++round) {
    ASSERT_TRUE(other.value().prepare(policy).ok());
    const auto waiting = children_of(other.value().pid());
    ASSERT_EQ(waiting.size(), 1U);
    const std::uint32_t user = user_of(waiting.front());
    std::vector<Started> guests;
    std::set<std::uint32_t> users;
    // All but the one that the child after them waits as.
    for (std::uint32_t i = 0; i + 1 < kCount; ++i) {
      auto started = start_bare(other.value(), policy);
      ASSERT_TRUE(started.ok()) << started.error().message();
      users.insert(user_of(started.value().guest.pid()));
      EXPECT_EQ(started.value().guest.applied().value().uid, user_of(started.value().guest.pid()));
      guests.push_back(std::move(started).value());
      if (i == 0) {
        EXPECT_EQ(guests.front().guest.pid(), waiting.front());
        EXPECT_EQ(user_of(guests.front().guest.pid()), user);
      }
    }
    EXPECT_EQ(users.size(), kCount - 1);
    all.merge(users);
  }
  EXPECT_EQ(all.size(), kCount);
  EXPECT_EQ(all.count(0), 0U);
}

// JAIL-11: a failure keeps no user id.
TEST_F(PreparedGuest, AFailureKeepsNoUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "an ordinary user has one user for all";
  const InjectedSupervisor injected({{SYS_fsopen, EPERM, {}}});
  SupervisorOptions options;
  options.program = injected.path();
  options.identities.count = 1;
  auto other = Supervisor::start(options);
  ASSERT_TRUE(other.ok()) << other.error().message();
  for (int i = 0; i < 3; ++i) {
    const auto ready = other.value().prepare(apart(kUsualNamespaces));
    ASSERT_FALSE(ready.ok());
    EXPECT_EQ(ready.error().step, std::string("prepare guests: ") + step_name(Step::root_create));
  }
  const auto started = start_bare(other.value(), apart(NamespaceSet(), Need::off));
  EXPECT_TRUE(started.ok()) << started.error().message();
}

// JAIL-6: the child that waits has root's memory, and a user whom another process may be: nobody looks into it.
TEST_F(PreparedGuest, AChildThatWaitsIsNotTraced) {
  if (::geteuid() != 0) GTEST_SKIP() << "it is the host's own user";
  for (const NamespaceSet set : {NamespaceSet(), kUsualNamespaces}) {
    SCOPED_TRACE(to_text(set));
    auto other = start_supervisor();
    ASSERT_TRUE(other.ok()) << other.error().message();
    ASSERT_TRUE(other.value().prepare(apart(set, set.empty() ? Need::off : Need::required)).ok());
    const auto waiting = children_of(other.value().pid());
    ASSERT_EQ(waiting.size(), 1U);
    const std::uint32_t user = user_of(waiting.front());
    ASSERT_NE(user, 0U);
    const pid_t control = fork_as(user, [] {
      ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
      return ::pause();
    });
    const core::Deadline deadline = core::Deadline::after(std::chrono::seconds(10));
    int traced = EPERM;
    while ((traced = trace_as(user, control)) != 0 && !deadline.passed()) ::usleep(1000);
    EXPECT_EQ(trace_as(user, waiting.front()), EPERM);
    ::kill(control, SIGKILL);
    ::waitpid(control, nullptr, 0);
    if (traced != 0) GTEST_SKIP() << "this host lets nobody trace (Yama)";
  }
}

// What guests leave behind is closed once nothing is asked for.
TEST_F(PreparedGuest, NothingOfThemStaysOpen) {
  const Policy policy = apart(kUsualNamespaces);
  auto other = start_supervisor();
  ASSERT_TRUE(other.ok()) << other.error().message();
  const pid_t pid = other.value().pid();
  ASSERT_TRUE(other.value().prepare(policy).ok());
  const std::size_t before = descriptors_of(pid);
  for (int i = 0; i < 5; ++i) {
    auto started = start_guest(other.value(), "heddle-test-guest", {"confined"}, policy);
    ASSERT_TRUE(started.ok()) << started.error().message();
    EXPECT_EQ(next_message(started.value().channel).op(), "ready");
  }
  // It may be as many in passing: here for as long as ten looks.
  const core::Deadline deadline = core::Deadline::after(std::chrono::seconds(20));
  for (int looks = 0; looks < 10 && !deadline.passed(); ::usleep(5000)) {
    looks = descriptors_of(pid) == before ? looks + 1 : 0;
  }
  EXPECT_EQ(descriptors_of(pid), before);
}

// JAIL-9: in a group of its own, the one that it waited in; groups of children that wait go with the supervisor.
TEST_F(PreparedGuest, IsBornInItsGroup) {
  if (!GroupPlace::available()) GTEST_SKIP() << GroupPlace::missing();
  const GroupPlace place;
  Limits limits;
  limits.group.own_group = Need::required;
  const Policy policy = Policy::script(limits, {}, NamespaceOrder{Need::required, kUsualNamespaces}).value();
  {
    auto other = start_supervisor(kSupervisor, place.options());
    ASSERT_TRUE(other.ok()) << other.error().message();
    const auto ready = other.value().prepare(policy);
    ASSERT_TRUE(ready.ok()) << ready.error().message();
    const auto waiting = children_of(other.value().pid());
    ASSERT_EQ(waiting.size(), 1U);
    EXPECT_EQ(place.groups().size(), 3U);
    auto started = start_guest(other.value(), "heddle-test-guest", {"confined"}, policy);
    ASSERT_TRUE(started.ok()) << started.error().message();
    Guest& guest = started.value().guest;
    EXPECT_EQ(next_message(started.value().channel).op(), "ready");
    EXPECT_EQ(guest.pid(), waiting.front());
    EXPECT_EQ(members(guest.cgroup().path), std::set<pid_t>{guest.pid()});
    EXPECT_TRUE(guest.cgroup().part(GroupPart::own_group).applied.has_value());
    const auto verified = guest.verify_confined();
    EXPECT_TRUE(verified.ok()) << verified.error().message();
    EXPECT_TRUE(wait_for_children(other.value().pid(), 2));
    EXPECT_EQ(place.groups().size(), 4U);
    // Another group's limits are another kind: made from nothing, and not from the child that waits.
    const auto there = children_of(other.value().pid());
    limits.group.own_group = Need::if_available;
    auto another = start_guest(other.value(), "heddle-test-guest", {"confined"},
                               Policy::script(limits, {}, NamespaceOrder{Need::required, kUsualNamespaces}).value());
    ASSERT_TRUE(another.ok()) << another.error().message();
    EXPECT_EQ(std::count(there.begin(), there.end(), another.value().guest.pid()), 0);
    guest.kill();
    const Death death = wait_death(guest);
    ASSERT_TRUE(death.group.has_value());
    EXPECT_GT(death.group->cpu_microseconds, 0U);
  }
  EXPECT_TRUE(place.groups().empty());
}

// JAIL-11: a child that cannot get what is its guest's is no guest; the next one is made from nothing.
TEST_F(PreparedGuest, WithoutItsHandoverItNeverRuns) {
  constexpr int kHandover = 63;  // launch/child.h
  const InjectedSupervisor injected({{SYS_recvmsg, EIO, {{0, kAll, kHandover}}}});
  auto started_supervisor = start_supervisor(injected.path());
  ASSERT_TRUE(started_supervisor.ok()) << started_supervisor.error().message();
  Supervisor& other = started_supervisor.value();
  ASSERT_TRUE(other.prepare(apart(kUsualNamespaces)).ok());
  auto started = start_bare(other, apart(kUsualNamespaces));
  ASSERT_TRUE(started.ok()) << started.error().message();
}

// JAIL-11: what cannot be made ahead is said, with the step.
TEST_F(PreparedGuest, AFailingStepIsNamed) {
  const std::vector<std::pair<Injection, Step>> rows = {{{SYS_fsopen, EPERM, {}}, Step::root_create},
                                                        {{SYS_socketpair, EMFILE, {}}, Step::handover},
                                                        {{SYS_sendto, EIO, {{0, kAll, 63}}}, Step::handover}};
  for (const auto& [injection, step] : rows) {
    SCOPED_TRACE(step_name(step));
    const InjectedSupervisor injected({injection});
    auto other = start_supervisor(injected.path());
    ASSERT_TRUE(other.ok()) << other.error().message();
    const auto ready = other.value().prepare(apart(kUsualNamespaces));
    ASSERT_FALSE(ready.ok());
    EXPECT_EQ(ready.error().step, std::string("prepare guests: ") + step_name(step)) << ready.error().message();
    EXPECT_EQ(ready.error().sys_errno, injection.error);
    EXPECT_TRUE(children_of(other.value().pid()).empty());
  }
}

// Its mounts would be those of the time when it was made.
TEST_F(PreparedGuest, HasNoCopyOfTheHostsRoot) {
  const auto ready = supervisor().prepare(
      Policy::script({}, {}, NamespaceOrder{Need::required, kUsualNamespaces, Root::host}).value());
  ASSERT_FALSE(ready.ok());
  EXPECT_EQ(ready.error().code, core::Errc::unsupported) << ready.error().message();
}

TEST_F(PreparedGuest, KindsAreFew) {
  for (std::uint8_t bits = 1; bits <= 7; bits += 2) {
    const auto ready = supervisor().prepare(apart(NamespaceSet(bits)));
    ASSERT_TRUE(ready.ok()) << ready.error().message();
  }
  const auto fifth = supervisor().prepare(apart(kAllNamespaces));
  ASSERT_FALSE(fifth.ok());
  EXPECT_EQ(fifth.error().code, core::Errc::exhausted) << fifth.error().message();
  EXPECT_TRUE(supervisor().prepare(apart(NamespaceSet(1))).ok());
}

}  // namespace
}  // namespace heddle::jail

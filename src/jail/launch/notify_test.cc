#include "heddle/jail/launch/notify.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <utility>
#include <vector>

#include "heddle/jail/confine/notify.h"
#include "heddle/jail/launch/control.h"

namespace heddle::jail {
namespace {

// JAIL-14: the ring is bounded, keeps the first, and counts what it lost.
TEST(DenialLog, KeepsTheFirstAndCountsTheRest) {
  DenialLog log;
  for (std::size_t i = 0; i < DenialLog::kRoom + 10; ++i) {
    DenialRecord record;
    record.number = static_cast<int>(i);
    log.add(std::move(record));
  }
  EXPECT_EQ(log.total(), DenialLog::kRoom + 10);
  EXPECT_EQ(log.dropped(), 10U);
  DenialRecord record;
  for (std::size_t i = 0; i < DenialLog::kRoom; ++i) {
    ASSERT_TRUE(log.take(record));
    EXPECT_EQ(record.number, static_cast<int>(i));
  }
  EXPECT_FALSE(log.take(record));
  log.add({});
  EXPECT_TRUE(log.take(record));  // there is room again
}

// EXE-3: only what changes nothing. The upper halves of arguments are no part of an id.
TEST(HeldIdsTest, OnlyWhatChangesNothingIsDone) {
  constexpr HeldIds kIds{1000, 2000};
  const auto result = [&](int number, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
    return result_of_keeping(kIds, number, {a, b, c, 0, 0, 0});
  };
  constexpr std::uint64_t kAsItIs = ~std::uint64_t{0};
  constexpr std::uint64_t kUpperHalf = std::uint64_t{7} << 32U;
  EXPECT_EQ(result(SYS_setuid, 1000), 0);
  EXPECT_EQ(result(SYS_setuid, 1000 | kUpperHalf), 0);
  EXPECT_EQ(result(SYS_setgid, 2000), 0);
  EXPECT_EQ(result(SYS_setresuid, kAsItIs, 1000, kAsItIs), 0);
  EXPECT_EQ(result(SYS_setresgid, 2000, 2000, 2000), 0);
  EXPECT_EQ(result(SYS_setreuid, kAsItIs, kAsItIs), 0);
  EXPECT_EQ(result(SYS_setfsuid, 1000), 1000);
  EXPECT_EQ(result(SYS_setfsgid, kAsItIs), 2000);
  for (const int number : {SYS_setuid, SYS_setreuid, SYS_setresuid, SYS_setfsuid}) {
    EXPECT_FALSE(result(number, 0, 1000, 1000)) << number;
    EXPECT_FALSE(result(number, 2000, 1000, 1000)) << number;
    EXPECT_FALSE(result(number, 1001, 1000, 1000)) << number;
  }
  EXPECT_FALSE(result(SYS_setuid, kAsItIs));
  EXPECT_FALSE(result(SYS_setgid, 1000));
  EXPECT_FALSE(result(SYS_setreuid, 1000, 0));
  EXPECT_FALSE(result(SYS_setresuid, 1000, 1000, 0));
  EXPECT_FALSE(result(SYS_setresgid, 2000, 0, 2000));
  EXPECT_FALSE(result(SYS_setgroups, 0));
  EXPECT_FALSE(result(SYS_kill, 1000));
}

// JAIL-14: every bit of a record crosses the supervisor's socket, in packets of bounded size.
TEST(DenialReport, CrossesWhole) {
  DenialLog log;
  for (std::size_t i = 0; i < kDenialsAPacket + 1; ++i) {
    DenialRecord record;
    record.number = i == 0 ? -1 : SYS_connect;
    record.architecture = 0xC000003E;
    for (std::uint64_t& argument : record.arguments) argument = ~std::uint64_t{0} - i;
    record.object = DenialRecord::Object::address;
    record.left_to_landlock = true;
    record.count = ~std::uint64_t{0};
    record.folder = std::string(kMaxObservedBytes, '\xFE');
    record.bytes = std::string(kMaxObservedBytes - 1, '\xFF') + '\0';
    log.add(std::move(record));
  }
  const DenialReport first = decode_denials(wire::Message::parse(encode_denials(log).text()).value()).value();
  ASSERT_EQ(first.records.size(), kDenialsAPacket);
  EXPECT_EQ(first.total, kDenialsAPacket + 1);
  EXPECT_EQ(first.records[0].number, -1);
  EXPECT_EQ(first.records[1].number, SYS_connect);
  EXPECT_EQ(first.records[1].architecture, 0xC000003E);
  EXPECT_EQ(first.records[1].arguments[5], ~std::uint64_t{0} - 1);
  EXPECT_EQ(first.records[1].object, DenialRecord::Object::address);
  EXPECT_TRUE(first.records[1].left_to_landlock);
  EXPECT_EQ(first.records[1].count, ~std::uint64_t{0});
  EXPECT_EQ(first.records[1].folder, std::string(kMaxObservedBytes, '\xFE'));
  EXPECT_EQ(first.records[1].bytes, std::string(kMaxObservedBytes - 1, '\xFF') + '\0');
  EXPECT_EQ(decode_denials(encode_denials(log)).value().records.size(), 1U);
}

TEST(DenialReport, RefusesWhatCannotBeRead) {
  for (const char* words :
       {"", "1", "3e c000003e 0 0 0 0 0 ", "3e c000003e 0 0 0 0 0 0 9 0 1  ", "3e c000003e 0 0 0 0 0 0 1 0 1  f",
        "3e c000003e 0 0 0 0 0 0 1 0 1  fg", "3e c000003e 0 0 0 0 0 0 1 0 1 fg ", "3e c000003e 0 0 0 0 0 0 1 2 1  ",
        "x c000003e 0 0 0 0 0 0 0 0 1  ", "3e c000003e 0 0 0 0 0 0 0 0 1 "}) {
    wire::Message message("denials");
    message.set("total", 1U).set("dropped", 0U).set("unobserved", 0U).set("left", 0U).set("denial.0", words);
    EXPECT_FALSE(decode_denials(std::move(message)).ok()) << words;
  }
}

// Control: the same words, whole.
TEST(DenialReport, ReadsWhatCanBeRead) {
  wire::Message message("denials");
  message.set("total", 1U).set("dropped", 0U).set("unobserved", 0U).set("left", 0U);
  message.set("denial.0", "3e c000003e 0 0 0 0 0 0 1 1 2 2f 61");
  const DenialReport report = decode_denials(std::move(message)).value();
  EXPECT_EQ(report.records.at(0).folder, "/");
  EXPECT_EQ(report.records.at(0).bytes, "a");
}

// JAIL-14: one record for one call however often it is made; bounded; apart from what was refused.
TEST(DenialLog, ObservedCallsAreKeptOnceWithTheirCount) {
  DenialLog log;
  const auto open = [&](const std::string& path, std::uint64_t flags) {
    DenialRecord record;
    record.number = SYS_openat;
    record.arguments[2] = flags;
    record.left_to_landlock = true;
    record.bytes = path;
    log.observe(std::move(record));
  };
  for (int i = 0; i < 3; ++i) open("/a", 0);
  open("/a", 1);
  log.add({});
  DenialRecord record;
  ASSERT_TRUE(log.take(record));
  EXPECT_FALSE(record.left_to_landlock);  // refused ones first
  EXPECT_EQ(log.waiting(), 4U);
  ASSERT_TRUE(log.take(record));
  EXPECT_EQ(record.count, 3U);
  EXPECT_EQ(log.waiting(), 1U);
  ASSERT_TRUE(log.take(record));
  EXPECT_EQ(record.count, 1U);
  EXPECT_EQ(log.waiting(), 0U);
  EXPECT_FALSE(log.take(record));
  EXPECT_EQ(log.total(), 1U);
  for (std::size_t i = 0; i < DenialLog::kObservedRoom + 5; ++i) open(std::to_string(i), 0);
  EXPECT_EQ(log.observed_dropped(), 5U);
  EXPECT_EQ(log.dropped(), 0U);
}

class Handshake : public ::testing::Test {
 protected:
  Handshake() {
    int raw[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw), 0);
    guest_ = core::Fd(raw[1]);
    notifier_ =
        Notifier({NotifyOrder::if_available, 64, {}, false, false, false}, ::getpid(), HeldIds{}, core::Fd(raw[0]));
  }
  Notifier::Verdict say(std::initializer_list<std::uint8_t> words) {
    EXPECT_EQ(::send(guest_.get(), std::data(words), words.size(), 0), static_cast<ssize_t>(words.size()));
    return notifier_.take_message();
  }
  static constexpr std::uint8_t word(NotifyWord word) { return static_cast<std::uint8_t>(word); }
  core::Fd guest_;
  Notifier notifier_;
};

// JAIL-11: what is not known, or not whole, ends the guest.
TEST_F(Handshake, TakesOnlyWhatItKnows) {
  EXPECT_EQ(say({0}), Notifier::Verdict::kill);
  EXPECT_EQ(say({word(NotifyWord::required)}), Notifier::Verdict::kill);
  EXPECT_EQ(say({word(NotifyWord::killing)}), Notifier::Verdict::kill);
  EXPECT_EQ(say({word(NotifyWord::listening), 0}), Notifier::Verdict::kill);
  EXPECT_EQ(say({word(NotifyWord::listening)}), Notifier::Verdict::kill);  // without one
  EXPECT_EQ(notifier_.state(), NotifyState::awaited);
}

TEST_F(Handshake, TellsTheGuestBeforeItAsks) {
  EXPECT_EQ(notifier_.begin(), Notifier::Verdict::go_on);
  std::uint8_t said = 0;
  ASSERT_EQ(::recv(guest_.get(), &said, sizeof said, MSG_DONTWAIT), 1);
  EXPECT_EQ(said, word(NotifyWord::if_available));
}

TEST_F(Handshake, OfAGuestThatHasEndedIsNoFailure) {
  guest_.reset();
  EXPECT_EQ(notifier_.begin(), Notifier::Verdict::go_on);
  EXPECT_EQ(notifier_.take_message(), Notifier::Verdict::closed);
  EXPECT_EQ(notifier_.state(), NotifyState::awaited);
}

TEST_F(Handshake, IsConcludedOnce) {
  EXPECT_EQ(say({word(NotifyWord::killing), EBUSY}), Notifier::Verdict::go_on);
  EXPECT_EQ(notifier_.state(), NotifyState::killing);
  EXPECT_EQ(notifier_.error(), EBUSY);
  EXPECT_FALSE(notifier_.socket().valid());
}

// A listener whose last process is ending stays readable: it is put away, not read again and again.
TEST_F(Handshake, AListenerOfNobodyIsPutAway) {
  const pid_t child = ::fork();
  if (child == 0) {
    sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const sock_fprog program{1, &allow};
    (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const long listener = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    // Out of the way first: kNotifyFd may be the number that it got.
    const int moved = listener < 0 ? -1 : ::fcntl(static_cast<int>(listener), F_DUPFD_CLOEXEC, kNotifyFd + 1);
    if (moved < 0) ::_exit(1);
    ::close(static_cast<int>(listener));
    if (::dup2(guest_.get(), kNotifyFd) < 0) ::_exit(2);
    ::_exit(notify_pass(moved) == 0 ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 1) GTEST_SKIP() << "no listener to be had: somebody listens already";
  ASSERT_EQ(status, 0);
  ASSERT_EQ(notifier_.take_message(), Notifier::Verdict::listen);
  EXPECT_EQ(notifier_.state(), NotifyState::listening);
  pollfd item{notifier_.listener().get(), POLLIN, 0};
  const int ready = ::poll(&item, 1, 0);
  if (ready == 0) GTEST_SKIP() << "this kernel does not tell (before Linux 5.9)";
  EXPECT_EQ(notifier_.serve(static_cast<std::uint32_t>(item.revents)), Notifier::Verdict::closed);
}

#ifdef SYS_fork
// A process whose filter has a listener for what makes processes: at each byte it tries the three ways in turn and
// answers with their errnos.
class Parent {
 public:
  explicit Parent(NotifyRules rules) {
    int raw[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw), 0);
    core::Fd theirs(raw[1]);
    int talk[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, talk), 0);
    core::Fd far(talk[1]);
    pid_ = ::fork();
    if (pid_ == 0) run(raw[1], talk[1]);
    socket_ = core::Fd(talk[0]);
    notifier_ = Notifier(std::move(rules), pid_, HeldIds{}, core::Fd(raw[0]));
  }
  Parent(const Parent&) = delete;
  Parent& operator=(const Parent&) = delete;
  ~Parent() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  // False: somebody listens already.
  bool listens() {
    pollfd item{notifier_.socket().get(), POLLIN, 0};
    return ::poll(&item, 1, 20'000) == 1 && notifier_.take_message() == Notifier::Verdict::listen;
  }
  // errnos of fork, vfork's clone, and a clone into a user namespace.
  std::array<int, 3> attempt() {
    std::array<int, 3> errors{-1, -1, -1};
    EXPECT_EQ(::send(socket_.get(), "", 1, 0), 1);
    for (int rounds = 0; rounds < 1000; ++rounds) {
      pollfd items[] = {{socket_.get(), POLLIN, 0}, {notifier_.listener().get(), POLLIN, 0}};
      if (::poll(items, notifier_.listener().valid() ? 2 : 1, 20'000) <= 0) break;
      if (items[0].revents != 0) {
        EXPECT_EQ(::recv(socket_.get(), errors.data(), sizeof errors, 0), static_cast<ssize_t>(sizeof errors));
        break;
      }
      EXPECT_EQ(notifier_.serve(static_cast<std::uint32_t>(items[1].revents)), Notifier::Verdict::go_on);
    }
    return errors;
  }
  Notifier& notifier() { return notifier_; }

 private:
  [[noreturn]] static void run(int notify, int talk) {
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),  // the number
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fork, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{sizeof code / sizeof code[0], code};
    (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const int high = ::fcntl(talk, F_DUPFD_CLOEXEC, kNotifyFd + 1);
    const int far = ::fcntl(notify, F_DUPFD_CLOEXEC, kNotifyFd + 1);
    const long listener = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    if (listener < 0) ::_exit(1);
    const int moved = ::fcntl(static_cast<int>(listener), F_DUPFD_CLOEXEC, kNotifyFd + 1);
    ::close(static_cast<int>(listener));
    if (::dup2(far, kNotifyFd) < 0 || notify_pass(moved) != 0) ::_exit(2);
    ::close(moved);
    for (char byte = 0; ::recv(high, &byte, 1, 0) == 1;) {
      std::array<int, 3> errors{};
      const auto born = [](long child) {
        if (child == 0) ::_exit(0);
        return child < 0 ? errno : 0;
      };
      errors[0] = born(::syscall(SYS_fork));
      errors[1] = born(::syscall(SYS_clone, CLONE_VFORK | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
      errors[2] = born(::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
      if (::send(high, errors.data(), sizeof errors, 0) < 0) ::_exit(3);
    }
    ::_exit(0);
  }
  pid_t pid_ = -1;
  core::Fd socket_;
  Notifier notifier_;
};

// JAIL-12: a guest's processes make others while somebody answers for it, and none once its end was seen.
TEST(Births, GoOnUntilNobodyAnswers) {
  Parent parent({NotifyOrder::if_available, 64, {}, false, false, true});
  if (!parent.listens()) GTEST_SKIP() << "no listener to be had: somebody listens already";
  EXPECT_EQ(parent.attempt(), (std::array{0, 0, EPERM}));
  EXPECT_EQ(parent.notifier().log().total(), 1U);  // the namespace
  DenialRecord record;
  ASSERT_TRUE(parent.notifier().log().take(record));
  EXPECT_EQ(record.number, SYS_clone);
  EXPECT_FALSE(parent.notifier().log().take(record));
  std::vector<core::Fd> open;
  parent.notifier().end(open);
  open.clear();
  EXPECT_EQ(parent.attempt(), (std::array{ENOSYS, ENOSYS, ENOSYS}));
}

// Control: where the rules do not say so they are refused as any call is.
TEST(Births, AreRefusedWhereTheRulesDoNotSaySo) {
  Parent parent({NotifyOrder::if_available, 64, {}, false, false});
  if (!parent.listens()) GTEST_SKIP() << "no listener to be had: somebody listens already";
  EXPECT_EQ(parent.attempt(), (std::array{EPERM, EPERM, EPERM}));
  EXPECT_EQ(parent.notifier().log().total(), 3U);
}
#endif

TEST(ObjectArguments, AreWhereTheKernelTakesThem) {
  EXPECT_EQ(object_argument(SYS_openat).pointer, 1U);
  EXPECT_EQ(object_argument(SYS_connect).length, 2U);
  EXPECT_EQ(object_argument(SYS_sendto).length, 5U);
  EXPECT_EQ(object_argument(SYS_openat).folder, 0U);
  EXPECT_EQ(second_path(SYS_renameat2).pointer, 3U);
  EXPECT_EQ(second_path(SYS_renameat2).folder, 2U);
  EXPECT_EQ(second_path(SYS_openat).object, DenialRecord::Object::none);
  EXPECT_EQ(object_argument(SYS_getpid).object, DenialRecord::Object::none);
}

}  // namespace
}  // namespace heddle::jail

// What a guest's first ruleset grants, which it starts under and the second one takes back.
#include "birth.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>

#include "heddle/jail/confine/landlock.h"

namespace heddle::jail {
namespace {

constexpr int kNoRuleset = 125;

class FirstRuleset : public ::testing::Test {
 protected:
  FirstRuleset() {
    EXPECT_GE(core::Fd(::mkstemp(path_)).get(), 0);
    plan_.program = core::Fd(::open(path_, O_PATH | O_CLOEXEC));
  }
  ~FirstRuleset() override { ::unlink(path_); }
  void SetUp() override {
    if (landlock_abi() < 0) GTEST_SKIP() << "no Landlock here";
  }
  // 0 or the errno that `action` met, in a child.
  [[nodiscard]] int outcome(bool confined, const std::function<int()>& action) {
    int abi = 0;
    if (confined && take_ruleset(plan_, abi).step != Step::none) return kNoRuleset;
    const pid_t child = ::fork();
    if (child == 0) {
      if (confined && (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || landlock_enforce(plan_.ruleset.get()) < 0)) {
        ::_exit(kNoRuleset);
      }
      ::_exit(action() < 0 ? errno : 0);
    }
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  char path_[32] = "/tmp/heddle-birth-XXXXXX";
  SpawnPlan plan_;
};

// JAIL-2: its own program to be started and read, never to be written. A program that runs cannot show it, since nobody
// may write one then (ETXTBSY): so the file is one that does not run.
TEST_F(FirstRuleset, LetsAGuestReadItsProgramAndNeverWriteIt) {
  const auto reads = [&] { return ::open(path_, O_RDONLY); };
  const auto writes = [&] { return ::open(path_, O_WRONLY); };
  const auto truncates = [&] { return ::truncate(path_, 0); };
  const auto reads_another = [] { return ::open("/proc/self/exe", O_RDONLY); };
  EXPECT_EQ(outcome(true, reads), 0);
  EXPECT_EQ(outcome(true, writes), EACCES);
  EXPECT_EQ(outcome(true, truncates), landlock_abi() >= 3 ? EACCES : 0);
  EXPECT_EQ(outcome(true, reads_another), EACCES);
  // Controls.
  EXPECT_EQ(outcome(false, writes), 0);
  EXPECT_EQ(outcome(false, truncates), 0);
  EXPECT_EQ(outcome(false, reads_another), 0);
}

}  // namespace
}  // namespace heddle::jail

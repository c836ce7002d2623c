#include "heddle/core/pidfd.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heddle::core {
namespace {

// A child that exits with the value that came with SIGUSR1, or dies of whatever else it is sent.
pid_t start_child() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    siginfo_t info{};
    while (sigwaitinfo(&set, &info) != SIGUSR1) {
    }
    ::_exit(info.si_value.sival_int);
  }
  return pid;
}

TEST(Pidfd, QueuesAValueAndSeesTheExit) {
  const pid_t pid = start_child();
  const Pidfd child = Pidfd::open(pid).value();
  EXPECT_FALSE(child.has_exited());
  EXPECT_FALSE(child.wait_exit(Deadline::after(std::chrono::milliseconds(20))));
  ASSERT_TRUE(child.queue_signal(SIGUSR1, 42).ok());
  EXPECT_TRUE(child.wait_exit(Deadline::after(std::chrono::seconds(10))));
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 42);
  EXPECT_EQ(child.send_signal(SIGKILL).error().code, Errc::not_found);
}

TEST(Deadline, SaturatesAndRoundsUp) {
  EXPECT_TRUE(Deadline::after(Duration::max()).is_never());
  EXPECT_EQ(Deadline::never().poll_ms(), -1);
  EXPECT_EQ(Deadline::at(Clock::now() - std::chrono::seconds(1)).poll_ms(), 0);
  EXPECT_GE(Deadline::after(std::chrono::microseconds(900)).poll_ms(), 1);
  EXPECT_LE(Deadline::after(std::chrono::hours(50)).poll_ms(), 3'600'000);
}

}  // namespace
}  // namespace heddle::core

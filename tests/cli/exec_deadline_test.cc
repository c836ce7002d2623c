// A program's deadline holds whatever becomes of the command, of those who read its output, and of what is refused.
#include <fcntl.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "exec_fixture.h"

namespace heddle::test {
namespace {

using std::chrono::seconds;

// The program is a copy of its own, so that it is found wherever it is.
class ExecDeadline : public Exec {
 protected:
  ExecDeadline() {
    put("/bin/dash", "data/held");
    fs::permissions(folder_.path("data"), fs::perms(0755));
  }
  [[nodiscard]] Launch held(const std::string& policy, const std::string& script, bool explain = false) const {
    return launch("paths.write = [" + quoted("work") + "]\n" + policy,
                  {folder_.path("data/held"), "-c", "d=" + folder_.path("work") + "; " + script}, explain);
  }
  [[nodiscard]] std::vector<pid_t> living() const { return running_below(folder_.path("data")); }
  void wait_until_begun() const {
    const auto deadline = core::Deadline::after(kPatience);
    while (!fs::exists(folder_.path("work/begun")) && !deadline.passed()) ::usleep(1000);
    ASSERT_FALSE(deadline.passed());
  }
  static constexpr const char* kWall = "limits.wall_clock = \"2s\"\n";
};

constexpr const char* kForever = "echo >$d/begun; while :; do :; done";
// A descendant goes on working.
constexpr const char* kFillsErrors = "(while :; do :; done) & echo >$d/begun; while :; do echo 0123456789 >&2; done";

// JAIL-18: pr-stopped-host. As a shell stops a job.
TEST_F(ExecDeadline, HoldsWhileTheCommandIsStopped) {
  Process process(held(kWall, kForever));
  wait_until_begun();
  process.signal(SIGSTOP);
  EXPECT_TRUE(gone_within(living(), seconds(30)));
  process.signal(SIGCONT);
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 124);
  EXPECT_TRUE(has(ended.err, "took longer than wall_clock, 2s")) << ended.err;
  // The control: nothing but the deadline ends it.
  fs::remove(folder_.path("work/begun"));
  Process control(held("", kForever));
  wait_until_begun();
  control.signal(SIGSTOP);
  EXPECT_FALSE(gone_within(living(), seconds(4)));
  control.signal(SIGCONT);
  control.signal(SIGTERM);
  EXPECT_EQ(control.wait().code, 130);
}

// JAIL-18: pr-stderr-stuck: a pipe that nobody reads, a terminal that nobody reads, one that is stopped.
TEST_F(ExecDeadline, HoldsWhileStandardErrorIsStuck) {
  enum class Kind { pipe, unread, stopped };
  for (const Kind kind : {Kind::pipe, Kind::unread, Kind::stopped}) {
    const Terminal terminal;
    Launch launched = held(std::string(kWall) + "limits.processes = 10\n", kFillsErrors, true);
    if (kind != Kind::pipe) launched.err = terminal.stream();
    ASSERT_EQ(::tcflow(terminal.stream().fd, kind == Kind::stopped ? TCOOFF : TCOON), 0);
    Process process(launched);
    wait_until_begun();
    EXPECT_TRUE(gone_within(living(), seconds(30)));
    if (kind == Kind::pipe) {
      const Ended ended = process.wait();
      EXPECT_EQ(ended.code, 124);
      EXPECT_TRUE(has(ended.err, "took longer than wall_clock")) << ended.err.size();
    } else {
      process.signal(SIGTERM);  // heeded, though nothing can be said any more
      EXPECT_EQ(process.wait().code, 130);
    }
    fs::remove(folder_.path("work/begun"));
  }
}

// JAIL-18: pr-denial-flood. What is refused is bounded in the host, and fetching it holds nothing up.
TEST_F(ExecDeadline, HoldsInAFloodOfDenials) {
  fs::create_directories(folder_.path("closed"));
  const std::string folder = folder_.path("closed/");
  const std::string name(200, 'n');
  for (int i = 0; i < 3000; ++i) {
    fs::permissions(folder_.write("closed/" + name + std::to_string(i), ""), fs::perms(0644));
  }
  const std::string flood =
      "echo >$d/begun; p=0; while [ $p -lt 60 ]; do p=$((p+1)); (i=0; while :; do i=$(((i+1)%3000)); true 2>/dev/null "
      "<" +
      folder + name + "$i; done) & done; wait";
  const std::string policy = "limits.wall_clock = \"4s\"\nlimits.processes = 100\n";
  for (const bool explain : {true, false}) {
    Launch launched = held(policy, flood, explain);
    launched.out = path_stream("/dev/null");
    Process process(launched);
    wait_until_begun();
    ::sleep(1);
    EXPECT_GT(living().size(), 10U);  // its processes were there
    EXPECT_TRUE(gone_within(living(), seconds(60)));
    EXPECT_LT(process.status("VmHWM"), 100L << 10);
    const Ended ended = process.wait();
    EXPECT_EQ(ended.code, 124) << ended.err.substr(0, 1000);
    EXPECT_EQ(has(ended.err, "calls more were not kept"), explain) << ended.err.size();
    fs::remove(folder_.path("work/begun"));
  }
}

// EXE-1: pr-background. With tostop, and something typed that a foreground job would read.
TEST_F(ExecDeadline, ABackgroundJobIsNotStopped) {
  const Terminal terminal;
  const Launch job =
      launch("stdio.stdin = \"inherit\"\npaths.write = [" + quoted("work") + "]\n",
             {"/bin/sh", "-c",
              "d=" + folder_.path("work") +
                  "; echo begun; echo >$d/begun; i=0; while [ ! -e $d/go ]; do i=$((i+1)); done; echo over"});
  std::string command = job.program;
  for (const std::string& word : job.args) command += " '" + word + "'";
  const std::string script = "stty tostop -echo; set -m; " + command + " & wait $!; echo \"code $?\"";
  Process shell({"/usr/bin/setsid",
                 {"-c", "-w", "/bin/bash", "-c", script},
                 terminal.stream(),
                 terminal.stream(),
                 terminal.stream()});
  wait_until_begun();
  terminal.type("typed\n");
  ::sleep(1);
  folder_.write("work/go", "");
  fs::permissions(folder_.path("work/go"), fs::perms(0644));
  EXPECT_EQ(shell.wait().code, 0);
  const std::string shown = terminal.shown();
  EXPECT_TRUE(has(shown, "begun\r\nover\r\n")) << shown;
  EXPECT_TRUE(has(shown, "code 0")) << shown;
}

// The control: in the foreground it reads what is typed.
TEST_F(ExecDeadline, AForegroundJobReadsItsTerminal) {
  const Terminal terminal;
  const Launch job = launch("stdio.stdin = \"inherit\"\n", {"/bin/sh", "-c", "read a; echo got $a"});
  std::string command = job.program;
  for (const std::string& word : job.args) command += " '" + word + "'";
  terminal.type("typed\n");
  Process shell({"/usr/bin/setsid",
                 {"-c", "-w", "/bin/bash", "-c", "stty -echo; " + command},
                 terminal.stream(),
                 terminal.stream(),
                 terminal.stream()});
  EXPECT_EQ(shell.wait().code, 0);
  EXPECT_TRUE(has(terminal.shown(), "got typed"));
}

}  // namespace
}  // namespace heddle::test

// What becomes of a program's output, and of what Heddle says of it, whoever reads it.
#include <signal.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "exec_fixture.h"

namespace heddle::test {
namespace {

using std::chrono::seconds;

// The policy of a program that tells by a file that it is about to end.
class ExecOutput : public Exec {
 protected:
  [[nodiscard]] std::string policy() const { return "paths.write = [" + quoted("work") + "]\n"; }
  [[nodiscard]] std::vector<std::string> shell(const std::string& script) const {
    return {"/bin/sh", "-c", "d=" + folder_.path("work") + "; " + script};
  }
  void wait_for(const char* file) const {
    const auto deadline = core::Deadline::after(kPatience);
    while (!fs::exists(folder_.path(file)) && !deadline.passed()) ::usleep(1000);
    EXPECT_FALSE(deadline.passed()) << file;
  }
  // So much that the reader's pipe and the command are full and the program's own pipe is not.
  const std::string much_ = "x=0123456789abcdefghij; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do x=$x$x; done; ";
  static constexpr std::size_t kMuch = std::size_t{20} << 13U;
};

// EXE-1: pr-output-late. Nothing waits for the reader but the end of the command.
TEST_F(ExecOutput, ALateReaderGetsAllOfIt) {
  for (const char* to : {"", " >&2"}) {
    Process late(launch(policy(), shell(much_ + "printf %s $x" + to)));
    ::sleep(4);  // longer than the command waits for anything but a reader
    const Ended ended = late.wait();
    EXPECT_EQ(ended.code, 0) << ended.err.substr(0, 200);
    EXPECT_EQ((*to == '\0' ? ended.out : ended.err).size(), kMuch);
  }
  Process large(launch("", {"/usr/bin/head", "-c", "1000000", "/dev/zero"}));
  ::sleep(1);
  const Ended ended = large.wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out.size(), 1'000'000U);
}

// EXE-1: what was written before the end is all there, also where somebody that got away has the pipe open still.
TEST_F(ExecOutput, ThePipesEndIsNotWaitedFor) {
  const Ended ended = exec("namespaces = \"off\"\nallow_exec = true\npaths.execute = [\"/usr/bin\"]\n",
                           {"/bin/sh", "-c", "/usr/bin/setsid /usr/bin/sleep 1000 & echo $!; exit 3"});
  EXPECT_EQ(ended.code, 3) << ended.err;
  const long survivor = std::strtol(ended.out.c_str(), nullptr, 10);
  ASSERT_GT(survivor, 1) << ended.out;
  (void)::kill(static_cast<pid_t>(survivor), SIGKILL);  // where it is not gone
}

// EXE-1: pr-output-full. The program itself ends with 0.
TEST_F(ExecOutput, OutputThatCannotBeWrittenIsAnError) {
  for (const int stream : {1, 2}) {
    const auto command = shell("trap '' PIPE; echo x >&" + std::to_string(stream) + "; exit 0");
    for (const bool closed : {false, true}) {
      Launch launched = launch("", command);
      const Stream broken = closed ? closed_stream() : path_stream("/dev/full");
      (stream == 1 ? launched.out : launched.err) = broken;
      const Ended lost = run(launched);
      EXPECT_EQ(lost.code, 74);
      EXPECT_EQ(has(lost.err, "standard output"), stream == 1) << lost.err;
      (stream == 1 ? launched.out : launched.err) = path_stream("/dev/null");
      EXPECT_EQ(run(launched).code, 0);
      // What was never written is not missed.
      Launch quiet = launch("", shell("exit 7"));
      (stream == 1 ? quiet.out : quiet.err) = broken;
      EXPECT_EQ(run(quiet).code, 7);
    }
  }
}

// EXE-1: a reader that leaves, before and after the program's end; quiet.
TEST_F(ExecOutput, ABrokenPipeIsAnErrorOfItsOwn) {
  Process busy(launch("", {"/usr/bin/yes"}));
  EXPECT_EQ(busy.line(), "y");
  busy.close_output();
  Ended ended = busy.wait();
  EXPECT_EQ(ended.code, 141);
  EXPECT_EQ(ended.err, "");
  Process over(launch(policy(), shell(much_ + "printf %s $x; echo >$d/ended")));
  wait_for("work/ended");
  over.close_output();
  ended = over.wait();
  EXPECT_EQ(ended.code, 141);
  EXPECT_EQ(ended.err, "");
}

// EXE-1: what Heddle has to say counts too where it is all that there is.
TEST_F(ExecOutput, AnExplanationThatCannotBeWrittenIsAnError) {
  Launch launched = launch("", {"/bin/true"}, true);
  launched.err = path_stream("/dev/full");
  EXPECT_EQ(run(launched).code, 74);
  launched.err = path_stream("/dev/null");
  EXPECT_EQ(run(launched).code, 0);
}

// EXE-1: the ceiling is told also when the program has ended by itself meanwhile.
TEST_F(ExecOutput, WhatIsOverTheCeilingIsToldOfBothStreams) {
  for (const char* to : {"", " >&2"}) {
    const Ended ended = exec("stdio.max_output = 4\n", shell(std::string("echo 12345678") + to));
    EXPECT_EQ(ended.code, 123);
    const std::string& text = *to == '\0' ? ended.out : ended.err;
    EXPECT_EQ(text.substr(0, 4), "1234");
    EXPECT_FALSE(has(text, "5678"));
    EXPECT_TRUE(has(ended.err, "max_output")) << ended.err;
  }
}

// EXE-1: an input that cannot be read is not an empty one.
TEST_F(ExecOutput, AnInputThatCannotBeReadIsAnError) {
  Launch launched = launch("stdio.stdin = \"inherit\"\n", {"/bin/cat"});
  launched.in = path_stream("/");
  const Ended ended = run(launched);
  EXPECT_EQ(ended.code, 74);
  EXPECT_TRUE(has(ended.err, "standard input")) << ended.err;
}

// JAIL-18, EXE-1: a signal is heeded while the program's end waits for a reader, and while the program fills a stream
// that nobody reads.
TEST_F(ExecOutput, ASignalIsHeededWhoeverReads) {
  for (const char* to : {"", " >&2"}) {
    for (const char* then : {"", "; while :; do :; done"}) {
      Process stuck(launch("paths.write = [" + quoted("work") + "]\nlimits.cpu = \"1h\"\n",
                           shell(much_ + "echo >$d/begun; printf %s $x" + to + then)));
      wait_for("work/begun");
      ::sleep(1);
      stuck.signal(SIGTERM);
      EXPECT_EQ(stuck.wait().code, 130);
      fs::remove(folder_.path("work/begun"));
    }
  }
}

// JAIL-18: a terminal that was stopped, and one that has little room left.
TEST_F(ExecOutput, ASignalIsHeededBehindAStoppedTerminal) {
  for (const bool stopped : {false, true}) {
    const Terminal terminal;
    Launch launched = launch(policy(), shell("echo >$d/begun; while :; do echo 0123456789; done >&2"));
    launched.err = terminal.stream();
    ASSERT_EQ(::tcflow(terminal.stream().fd, stopped ? TCOOFF : TCOON), 0);
    Process process(launched);
    wait_for("work/begun");
    ::sleep(1);
    process.signal(SIGTERM);
    EXPECT_EQ(process.wait().code, 130) << stopped;
    fs::remove(folder_.path("work/begun"));
  }
}

}  // namespace
}  // namespace heddle::test

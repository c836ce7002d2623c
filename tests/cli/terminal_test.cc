// What a person at a terminal sees.
#include <gtest/gtest.h>
#include <signal.h>
#include <termios.h>

#include "process.h"

namespace heddle::test {
namespace {

TEST(TerminalTest, ProgressIsForTerminalsOnlyAndFits) {
  const Folder folder;
  std::string rows;
  for (int i = 0; i < 400; ++i) rows += i % 10 == 0 ? "bad\n" : "1\n";
  const Terminal terminal;
  Launch launch{HEDDLE_FAKE_COMMAND,
                {"run", folder.write("job.js", "sleep 1"), "--each", folder.write("rows", rows), "--workers", "1"}};
  launch.err = terminal.stream();
  const auto ended = run(launch);
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(split_lines(ended.out).size(), 400U);
  const auto text = terminal.shown();
  EXPECT_NE(text.find("% "), std::string::npos) << text;
  EXPECT_NE(text.find("400 runs, 360 ok, 40 not ok"), std::string::npos) << text;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find_first_of("\r\n", at), text.size());
    EXPECT_LT(end - at, 80U) << text.substr(at, end - at);
    at = end + 1;
  }
  launch.err = pipe_stream();
  EXPECT_EQ(run(launch).err, "");
}

// JAIL-18's sense: a terminal that is stopped (^S) holds neither the runs nor a signal.
TEST(TerminalTest, AStoppedTerminalHoldsNothing) {
  const Folder folder;
  std::string rows;
  for (int i = 0; i < 400; ++i) rows += "1\n";
  const Terminal terminal;
  ASSERT_EQ(::tcflow(terminal.stream().fd, TCOOFF), 0);
  Launch launch{HEDDLE_FAKE_COMMAND,
                {"run", folder.write("job.js", "sleep 1"), "--each", folder.write("rows", rows), "--workers", "1"}};
  launch.err = terminal.stream();
  Process process(launch);
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(process.line()) << i;
  process.signal(SIGTERM);
  EXPECT_NE(process.wait().code, 0);
}

// JRN-4's sense for people: what a guest wrote cannot drive the terminal, and stays the same JSON.
TEST(TerminalTest, AResultCannotDriveTheTerminal) {
  const Folder folder;
  Launch launch{HEDDLE_FAKE_COMMAND, {"run", folder.write("job.js", "control")}};
  EXPECT_EQ(run(launch).out,
            "\"a\x7F\xC2\x9B"
            "31mb\"\n");  // the control: to a file it goes as it came
  const Terminal terminal;
  launch.out = terminal.stream();
  EXPECT_EQ(run(launch).code, 0);
  EXPECT_EQ(terminal.shown(), "\"a\\u007f\\u009b31mb\"\r\n");
}

}  // namespace
}  // namespace heddle::test

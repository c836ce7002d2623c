// What a person at a terminal sees.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>

#include "process.h"

namespace heddle::test {
namespace {

struct Terminal {
  core::Fd ours;
  core::Fd theirs;
};

Terminal open_terminal() {
  Terminal terminal;
  terminal.ours = core::Fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  EXPECT_TRUE(terminal.ours.valid());
  EXPECT_EQ(::grantpt(terminal.ours.get()), 0);
  EXPECT_EQ(::unlockpt(terminal.ours.get()), 0);
  std::array<char, 64> name{};
  EXPECT_EQ(::ptsname_r(terminal.ours.get(), name.data(), name.size()), 0);
  terminal.theirs = core::Fd(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  EXPECT_TRUE(terminal.theirs.valid());
  return terminal;
}

// What stands in the terminal when the program has ended.
std::string shown(const Terminal& terminal) {
  std::string text;
  std::array<char, 4096> chunk;
  for (;;) {
    pollfd wait{terminal.ours.get(), POLLIN, 0};
    if (::poll(&wait, 1, 0) <= 0) return text;
    const ssize_t got = ::read(terminal.ours.get(), chunk.data(), chunk.size());
    if (got <= 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

TEST(TerminalTest, ProgressIsForTerminalsOnlyAndFits) {
  const Folder folder;
  std::string rows;
  for (int i = 0; i < 400; ++i) rows += i % 10 == 0 ? "bad\n" : "1\n";
  const auto terminal = open_terminal();
  Launch launch{HEDDLE_FAKE_COMMAND,
                {"run", folder.write("job.js", "sleep 1"), "--each", folder.write("rows", rows), "--workers", "1"}};
  launch.err = given_stream(terminal.theirs.get());
  const auto ended = run(launch);
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(split_lines(ended.out).size(), 400U);
  const auto text = shown(terminal);
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

// JRN-4's sense for people: what a guest wrote cannot drive the terminal, and stays the same JSON.
TEST(TerminalTest, AResultCannotDriveTheTerminal) {
  const Folder folder;
  Launch launch{HEDDLE_FAKE_COMMAND, {"run", folder.write("job.js", "control")}};
  EXPECT_EQ(run(launch).out,
            "\"a\x7F\xC2\x9B"
            "31mb\"\n");  // the control: to a file it goes as it came
  const auto terminal = open_terminal();
  launch.out = given_stream(terminal.theirs.get());
  EXPECT_EQ(run(launch).code, 0);
  EXPECT_EQ(shown(terminal), "\"a\\u007f\\u009b31mb\"\r\n");
}

}  // namespace
}  // namespace heddle::test

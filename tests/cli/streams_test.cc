// Standard output and standard error of every command: what cannot be written is an error, and a reader that sleeps
// holds nobody.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "heddle/core/check.h"
#include "heddle/core/text.h"
#include "process.h"

namespace heddle::test {
namespace {

class Streams : public ::testing::Test {
 protected:
  Launch command(std::vector<std::string> args) const { return {HEDDLE_COMMAND, std::move(args)}; }
  // Each writes something to standard output and ends by itself.
  std::vector<Launch> all() const {
    const std::string script = folder_.write("job.js", "'x'.repeat(5)");
    const std::string lines = folder_.write("lines", "1\n2\n");
    std::vector<Launch> commands;
    for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
             {"--help"},
             {"--version"},
             {"run", script},
             {"run", "--json", script},
             {"run", script, "--each", lines},
             {"doctor"},
             {"doctor", "--json"},
             {"doctor", "--help"},
             {"log", "--help"},
             {"replay", "--help"},
             {"conformance", "--help"},
             {"plugin", "--help"},
         }) {
      commands.push_back(command(args));
    }
    return commands;
  }
  Folder folder_;
};

std::string name_of(const Launch& launch) {
  std::string name;
  for (const std::string& word : launch.args) name += word + " ";
  return name;
}

// Both ends of a pipe that takes no byte more.
core::FdPair full_pipe() {
  auto pipe = core::pipe_pair();
  HEDDLE_CHECK(pipe.ok() && core::set_nonblocking(pipe.value().second).ok());
  const std::string chunk(4096, '\n');
  while (::write(pipe.value().second.get(), chunk.data(), chunk.size()) > 0) {
  }
  HEDDLE_CHECK(::fcntl(pipe.value().second.get(), F_SETFL, O_WRONLY) == 0);
  return std::move(pipe).value();
}

// EXE-1, for every command: never 0 where what it had to say was lost.
TEST_F(Streams, OutputThatCannotBeWrittenIsAnError) {
  for (Launch launch : all()) {
    SCOPED_TRACE(name_of(launch));
    launch.out = path_stream("/dev/null");
    const Ended control = run(launch);
    EXPECT_TRUE(control.code == 0 || control.code == 1 || control.code == 20) << control.code << control.err;
    launch.out = path_stream("/dev/full");
    const Ended full = run(launch);
    EXPECT_EQ(full.code, 74);
    EXPECT_NE(full.err.find("No space left on device: standard output"), std::string::npos) << full.err;
    launch.out = closed_stream();
    const Ended closed = run(launch);
    EXPECT_EQ(closed.code, 74);
    EXPECT_NE(closed.err.find("standard output is closed"), std::string::npos) << closed.err;
    launch.out = path_stream(folder_.write("file", ""));
    launch.err = closed_stream();
    EXPECT_EQ(run(launch).code, control.code);
    launch.err = {};
    auto pipe = core::pipe_pair();
    ASSERT_TRUE(pipe.ok());
    pipe.value().first.reset();
    launch.out = given_stream(pipe.value().second.get());
    const Ended broken = run(launch);
    EXPECT_EQ(broken.code, 141);
    EXPECT_EQ(broken.err, "");
  }
}

// EXE-1: an explanation is output too.
TEST_F(Streams, AnExplanationThatIsLostIsAnError) {
  Launch explained = command({"run", folder_.write("job.js", "1"), "--explain"});
  EXPECT_EQ(run(explained).code, 0);
  explained.err = path_stream("/dev/full");
  EXPECT_EQ(run(explained).code, 74);
  explained.err = closed_stream();
  EXPECT_EQ(run(explained).code, 74);
}

// EXE-1
TEST_F(Streams, ALateReaderGetsAllOfIt) {
  Process late(command({"run", folder_.write("job.js", "'x'.repeat(1000000)")}));
  ::sleep(3);
  const Ended ended = late.wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out.size(), 1'000'003U);
}

// Nothing that a terminal obeys, hides, or reorders by; but our own erasing of the line of progress.
bool harmless(std::string_view text) {
  constexpr std::string_view kErase = "\x1B[K";
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, kErase.size(), kErase) == 0) {
      at += kErase.size();
      continue;
    }
    const core::CodePoint c = core::code_point_at(text, at);
    if (c.code != '\r' && c.code != '\n' && core::seen_as(c.code) != core::Seen::as_it_is) return false;
    at += c.bytes;
  }
  return true;
}

// JAIL-22: what a script chose, and what its file is called, as text and as JSON. The control: to a file it goes whole.
TEST_F(Streams, WhatAScriptSaysIsHarmlessOnATerminal) {
  const std::string said = "a\\u202e\\u001b[31m\\u200b\\u2028\\u{e0041}\\u061c\\u009bz";
  const std::string file = folder_.path("j\xE2\x80\xAEob\x1B[31m.js");
  const std::string lines = folder_.write("lines", "1\n");
  for (const char* start : {"throw new Error", "String"}) {
    std::ofstream(file) << start << "(\"" << said << "\")";
    for (const std::vector<std::string>& more :
         std::vector<std::vector<std::string>>{{}, {"--json"}, {"--each", lines}}) {
      std::vector<std::string> args = {"run", file};
      args.insert(args.end(), more.begin(), more.end());
      const Terminal terminal;
      Launch launch = command(args);
      launch.out = terminal.stream();
      launch.err = terminal.stream();
      const Ended ended = run(launch);
      EXPECT_TRUE(ended.code == 0 || ended.code == 1 || ended.code == 10) << ended.code;
      const std::string shown = terminal.shown();
      EXPECT_NE(shown.find("[31m"), std::string::npos) << shown;
      EXPECT_TRUE(harmless(shown)) << shown;
    }
  }
  EXPECT_FALSE(harmless(run(command({"run", file})).out));
}

// JAIL-18: whoever does not read what went wrong is left by the first signal.
TEST_F(Streams, ASignalIsHeededWhileStandardErrorIsStuck) {
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"run", folder_.write("throws.js", "throw 1")}, {"log", folder_.path("none")}, {"doctor", "--wrong"}}) {
    const core::FdPair pipe = full_pipe();
    Launch stuck = command(args);
    stuck.err = given_stream(pipe.second.get());
    Process process(stuck);
    ::sleep(1);
    process.signal(SIGTERM);
    EXPECT_NE(process.wait().code, 0) << args.front();
  }
}

}  // namespace
}  // namespace heddle::test

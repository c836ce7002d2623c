// Many runs: --each and --batch.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "process.h"

namespace heddle::test {
namespace {

constexpr int kStep = 500;

class Each : public ::testing::Test {
 protected:
  // `run SCRIPT --each - args…` with a script of these words.
  Launch each(const std::string& words, std::vector<std::string> args = {}) const {
    args.insert(args.begin(), {"run", folder_.write("job.js", words), "--each", "-"});
    return {HEDDLE_FAKE_COMMAND, std::move(args)};
  }
  Launch batch(std::vector<std::string> args = {}) const {
    args.insert(args.begin(), {"run", "--batch", "-"});
    return {HEDDLE_FAKE_COMMAND, std::move(args)};
  }
  static std::string ok(const std::string& value) { return R"({"outcome":"ok","value":)" + value + ",\"ms\":1.234}"; }
  static std::string failed(const std::string& message) {
    return R"({"outcome":"failed","message":")" + message + "\",\"ms\":0.000}";
  }
  Folder folder_;
};

// Runs overtake each other, outcomes do not.
TEST_F(Each, KeepsTheOrder) {
  std::string input;
  std::vector<std::string> expected;
  for (int i = 0; i < 2000; ++i) {
    input += std::to_string(i) + "\n";
    expected.push_back(ok(std::to_string(i)));
  }
  const auto ended = run(each("vary", {"--workers", "8"}), input);
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(split_lines(ended.out), expected);
}

// A bad line has its outcome in its place, blank lines have none, and the last line needs no end.
TEST_F(Each, ABadLineIsOnlyItsOwn) {
  const std::string input =
      "\xEF\xBB\xBF"
      "1\r\n\n  \t\r\n[2\n\"\xFF\"\n" +
      std::string(30, '3') + "\n\"four\"";
  const auto ended = run(each("echo", {"--max-input", "20"}), input);
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(split_lines(ended.out),
            (std::vector<std::string>{ok("1"),
                                      failed("input line 4, column 3: ',' or ']' must stand here, but the text ends"),
                                      failed("input line 5, column 2: byte 1 is not valid UTF-8"),
                                      R"({"outcome":"inputTooLarge","ms":0.000})", ok("\"four\"")}));
  EXPECT_EQ(ended.err, "");
}

TEST_F(Each, NothingInNothingOut) {
  const auto ended = run(each("echo"), "\n\n");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out, "");
}

// A line of 64 MiB against a ceiling of 1 MiB: skipped, not kept.
TEST_F(Each, AnOverlongLineIsSkipped) {
  Process process(each("echo", {"--workers", "1"}));
  process.write("1\n");
  for (int i = 0; i < 64; ++i) process.write(std::string(std::size_t{1} << 20, ' '));
  process.write("\n2\n");
  EXPECT_EQ(process.line(), ok("1"));
  EXPECT_EQ(process.line(), R"({"outcome":"inputTooLarge","ms":0.000})");
  EXPECT_EQ(process.line(), ok("2"));
#ifndef HEDDLE_UNDER_ASAN
  EXPECT_LT(process.status("VmHWM"), 32 * 1024);
#endif
  EXPECT_EQ(process.finish().code, 1);
}

// An outcome is written when it is there, not when the input ends.
TEST_F(Each, FollowsASlowInput) {
  Process process(each("echo"));
  for (int i = 0; i < 3; ++i) {
    process.write(std::to_string(i) + "\n");
    EXPECT_EQ(process.line(), ok(std::to_string(i)));
  }
  process.write("\"half");
  process.write(" a line\"\n");
  EXPECT_EQ(process.line(), ok("\"half a line\""));
  EXPECT_EQ(process.finish().code, 0);
}

// 100,000 lines: none lost, order kept, and the memory of the command is what it was after 1,000, within 8 MiB.
TEST_F(Each, AHundredThousandLinesInBoundedMemory) {
  Process process(each("vary", {"--workers", "4"}));
  long after_thousand = 0;
  for (int begin = 0; begin < kManyRuns; begin += kStep) {
    std::string lines;
    for (int i = begin; i < begin + kStep; ++i)
      lines += "{\"number\":" + std::to_string(i) + ",\"text\":\"some more of it\"}\n";
    process.write(lines);
    for (int i = begin; i < begin + kStep; ++i)
      ASSERT_EQ(process.line(), ok("{\"number\":" + std::to_string(i) + ",\"text\":\"some more of it\"}"));
    if (begin + kStep == 1000) after_thousand = process.status("VmRSS");
  }
  EXPECT_GT(after_thousand, 0);
#ifndef HEDDLE_UNDER_ASAN  // its quarantine keeps what was freed
  EXPECT_LE(process.status("VmRSS"), after_thousand + 8L * 1024);
#endif
  EXPECT_EQ(process.finish().code, 0);
}

// The same when nobody reads: the command stops reading too, instead of keeping what it cannot write.
TEST_F(Each, ASlowReaderHoldsTheInputBack) {
  Process process(each("big 100000", {"--workers", "4"}));
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "1\n";
  process.write(lines);
  process.close_input();
  ::usleep(500'000);  // time enough to run all 100 MB of it, if nothing held it back
#ifndef HEDDLE_UNDER_ASAN
  EXPECT_LT(process.status("VmRSS"), 32 * 1024);
#endif
  const auto ended = process.finish();
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(split_lines(ended.out).size(), 1000U);
}

// SBX-8: what runs and what had been read is cancelled, what had finished keeps its outcome, nothing is lost.
TEST_F(Each, ControlCCancels) {
  Process process(each("sleep 60000", {"--workers", "2"}));
  process.write("bad\n1\n2\n3\n4\n5\n");
  ASSERT_EQ(process.line(), failed("input line 1, column 1: a JSON value must stand here"));  // all six have been read
  process.signal(SIGINT);
  const auto ended = process.wait();
  EXPECT_EQ(ended.code, 130);
  EXPECT_EQ(ended.err, "");
  const auto lines = split_lines(ended.out);
  ASSERT_EQ(lines.size(), 5U) << ended.out;
  for (const std::string& line : lines) EXPECT_EQ(line.find("{\"outcome\":\"cancelled\",\"ms\":"), 0U) << line;
}

// A second signal ends the command at once, even one that waits for a reader that never reads.
TEST_F(Each, ASecondControlCEndsAtOnce) {
  Process process(each("big 1000000"));
  process.write("1\n2\n3\n4\n5\n6\n");
  process.wait_for_signals();
  ::usleep(200'000);  // the pipe is full by now
  const auto deadline = core::Deadline::after(kPatience);
  while (process.status("VmRSS") > 0 && !deadline.passed()) {  // a zombie has none
    process.signal(SIGINT);                                    // more than twice only where the first two came together
    ::usleep(200'000);
  }
  EXPECT_FALSE(deadline.passed());
  EXPECT_EQ(process.wait().code, 130);
}

// A reader that leaves ends the command, also while there is nothing to write.
TEST_F(Each, ABrokenPipeEndsQuietly) {
  Process busy(each("echo"));
  busy.write("1\n2\n");
  EXPECT_TRUE(busy.line());
  busy.close_output();
  const auto ended = busy.wait();  // the input stays open
  EXPECT_EQ(ended.code, 141);
  EXPECT_EQ(ended.err, "");
}

TEST_F(Each, AFullDiskIsAnError) {
  auto launch = each("echo");
  launch.out = path_stream("/dev/full");
  const auto ended = run(launch, "1\n2\n");
  EXPECT_EQ(ended.code, 74);
  EXPECT_NE(ended.err.find("No space left on device"), std::string::npos);
}

TEST_F(Each, WhatCannotBeginIsSaidOnce) {
  auto launch = each("echo");
  launch.environment = {"FAKE_HEDDLE_NO_POOL=1"};
  auto ended = run(launch, "1\n2\n");
  EXPECT_EQ(ended.code, 15);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err, "heddle: check heddle-supervisor: not there\n");
  launch = each("echo");
  launch.in = closed_stream();
  ended = run(launch);
  EXPECT_EQ(ended.code, 15);
  EXPECT_NE(ended.err.find("standard input is closed"), std::string::npos);
  launch = {HEDDLE_FAKE_COMMAND, {"run", "--batch", folder_.path("none")}};
  EXPECT_NE(run(launch).err.find("read --batch: No such file"), std::string::npos);
}

TEST_F(Each, ABatchBringsItsScriptsAndLimits) {
  const std::string input = R"({"script":"echo","input":{"z":-0,"a":[1.0]}})"
                            "\n"
                            R"( { "input" : "first" , "script" : "ech\u006f" } )"
                            "\n"
                            R"({"script":"limits","limits":{"wallClockMs":5,"memoryBytes":3000000,"outputBytes":7}})"
                            "\n"
                            R"({"script":"echo"})"
                            "\n";
  const auto ended = run(batch({"--cpu", "1s"}), input);
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(split_lines(ended.out), (std::vector<std::string>{ok(R"({"z":-0,"a":[1.0]})"), ok("\"first\""),
                                                              ok("[5,1000,3000000,7]"), ok("null")}));
}

struct BadLine {
  const char* line;
  const char* says;
};

// Strict: what is not understood is refused for that line, and says where.
TEST_F(Each, ABadBatchLineIsOnlyItsOwn) {
  const BadLine cases[] = {
      {"{", "column 2: a key in quotation marks must stand here, but the text ends"},
      {"[1]", "column 1: an object must stand here"},
      {R"({"input":1})", "column 1: the field script is missing"},
      {R"({"script":1})", "column 2: script must be a string"},
      {R"({"script":"a","skript":1})", "column 15: skript is no known field; script, input and limits are"},
      {R"({"script":"a","scr\u0069pt":"b"})", "column 15: field script is there twice"},
      {R"({"script":"a","limits":[]})", "column 15: limits must be an object"},
      {R"({"script":"a","limits":{"wallClockMs":0}})", "column 25: limits.wallClockMs must be a whole number"},
      {R"({"script":"a","limits":{"wallClockMs":1.5}})", "column 25: limits.wallClockMs must be a whole number"},
      {R"({"script":"a","limits":{"memoryBytes":"3000000"}})", "column 25: limits.memoryBytes must be a whole number"},
      {R"({"script":"a","limits":{"outputBytes":-1}})", "column 25: limits.outputBytes must be a whole number"},
      {R"({"script":"a","limits":{"cpuMs":1}})", "column 25: limits.cpuMs is no known field"},
      {R"({"script":"a","limits":{"wallClockMs":1,"wallClockMs":1}})",
       "column 41: field limits.wallClockMs is there twice"},
      {R"({"script":"\ud800"})", "column 2: script has an escaped lone surrogate"},
      {R"({"script":"a longer script than this"})", "the script has 25 bytes, over --max-script 20B"},
  };
  std::string input;
  for (const BadLine& one : cases) input += std::string(one.line) + "\n{\"script\":\"echo\"}\n";
  input += std::string(20'000, ' ') + "\n{\"script\":\"echo\",\"input\":\"12345678\"}\n";
  const auto ended = run(batch({"--max-script", "20", "--max-input", "9"}), input);
  EXPECT_EQ(ended.code, 1);
  const auto lines = split_lines(ended.out);
  ASSERT_EQ(lines.size(), 2 * std::size(cases) + 2);
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    const auto expected = R"({"outcome":"failed","message":"batch line )" + std::to_string(2 * i + 1);
    EXPECT_EQ(lines[2 * i].find(expected), 0U) << lines[2 * i];
    EXPECT_NE(lines[2 * i].find(cases[i].says), std::string::npos) << lines[2 * i];
    EXPECT_EQ(lines[2 * i + 1], ok("null"));
  }
  EXPECT_NE(lines[lines.size() - 2].find("the most that --max-script and --max-input allow"), std::string::npos);
  EXPECT_EQ(lines.back(), R"({"outcome":"inputTooLarge","ms":0.000})");
}

}  // namespace
}  // namespace heddle::test

// One run: what is printed, and the exit code.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process.h"

namespace heddle::test {
namespace {

constexpr const char* kAddressOfNothing = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
// Of "echo".
constexpr const char* kAddressOfEcho = "sha256:092c79e8f80e559e404bcf660c48f3522b67aba9ff1484b0367e1a4ddef7431d";

class Single : public ::testing::Test {
 protected:
  Launch command(std::vector<std::string> args) const { return {HEDDLE_FAKE_COMMAND, std::move(args)}; }
  // `run SCRIPT args…` with a script of these words.
  Launch script(const std::string& words, std::vector<std::string> args = {}) const {
    args.insert(args.begin(), {"run", folder_.write("job.js", words)});
    return command(std::move(args));
  }
  std::string job() const { return folder_.path("job.js"); }
  Folder folder_;
};

// The command itself changes no value: what the effect gives is what is printed.
TEST_F(Single, PrintsTheResultAsItCame) {
  const std::string input =
      R"({"z":-0,"a":1.0,"__proto__":{"x":1},"n":12345678901234567890123,"a":1e400,"s":"\ud800"})";
  const auto text = run(script("echo", {"--input-json", input}));
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(text.out, input + "\n");
  EXPECT_EQ(text.err, "");
  const auto json = run(script("echo", {"--json", "--input-json", input}));
  EXPECT_EQ(json.out, R"({"outcome":"ok","value":)" + input + ",\"ms\":1.234}\n");
}

struct Case {
  const char* script;
  int code;
  const char* json;
  const char* text;
};

// SBX-4, SBX-7, SBX-21: each outcome has its object, its line and its exit code.
TEST_F(Single, SaysEachOutcome) {
  const Case cases[] = {
      {"throw", 10,
       R"({"outcome":"scriptError","name":"TypeError","message":"no \u001b[31mcolour\nhere","line":3,"column":7,"ms":1.234})",
       ":3:7: TypeError: no  [31mcolour here (correct the script)"},
      {"cpu", 11, R"({"outcome":"limitExceeded","kind":"cpu","ms":1.234})",
       ": limit exceeded: cpu (let the script do less, or raise --cpu)"},
      {"memory", 11, R"({"outcome":"limitExceeded","kind":"memory","ms":1.234})",
       ": limit exceeded: memory (let the script do less, or raise --memory)"},
      {"wallclock", 11, R"({"outcome":"limitExceeded","kind":"wallClock","ms":1.234})",
       ": limit exceeded: wallClock (let the script do less, or raise --wall-clock)"},
      {"output", 11, R"({"outcome":"limitExceeded","kind":"output","ms":1.234})",
       ": limit exceeded: output (let the script do less, or raise --max-output)"},
      {"ceiling", 11, R"({"outcome":"limitExceeded","kind":"output","ms":1.234})", ": limit exceeded: output"},
      {"toolarge", 12, R"({"outcome":"inputTooLarge","ms":1.234})",
       "the input is too large: because (give less input, or raise --max-input or --memory)"},
      {"notjson", 13, R"({"outcome":"inputNotSerializable","message":"because","ms":1.234})",
       "the input cannot be JSON: because (give an input that JSON can carry)"},
      {"shape", 14, R"({"outcome":"shapeMismatch","message":"because","ms":1.234})",
       "the result has not the declared shape: because"},
      {"lost", 15, R"({"outcome":"failed","message":"start the worker: it said nothing","ms":1.234})",
       "heddle: start the worker: it said nothing"},
      {"refuse", 15, R"({"outcome":"failed","message":"start a run: never","ms":0.000})", "heddle: start a run: never"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.script);
    const auto json = run(script(one.script, {"--json"}));
    EXPECT_EQ(json.code, one.code);
    EXPECT_EQ(json.out, std::string(one.json) + "\n");
    EXPECT_EQ(json.err, "");
    const auto text = run(script(one.script));
    EXPECT_EQ(text.code, one.code);
    EXPECT_EQ(text.out, "");
    EXPECT_NE(text.err.find(one.text), std::string::npos) << text.err;
    EXPECT_EQ(split_lines(text.err).size(), 1U);
    EXPECT_EQ(text.err.find('\x1B'), std::string::npos);
  }
}

// SBX-2: limits reach the evaluation, the defaults as documented.
TEST_F(Single, PassesTheLimitsOn) {
  EXPECT_EQ(run(script("limits")).out, "[2000,0,67108864,1048576]\n");
  EXPECT_EQ(
      run(script("limits", {"--wall-clock", "1.5s", "--cpu", "250ms", "--memory", "3MiB", "--max-output", "4kB"})).out,
      "[1500,250,3145728,4000]\n");
}

TEST_F(Single, TwoDashesEndTheOptions) {
  EXPECT_NE(run(command({"run", "--", "--json"})).err.find("No such file or directory: --json"), std::string::npos);
  EXPECT_EQ(run(command({"run", "--json", "--", "-"}), "echo").code, 0);
  EXPECT_EQ(run(command({"run", "--", "-", "b"}), "echo").code, 64);
}

TEST_F(Single, InputComesFromAFileStandardInputOrNowhere) {
  EXPECT_EQ(run(script("echo", {"--input", folder_.write("in.json", "[1, 2]")})).out, "[1, 2]\n");
  EXPECT_EQ(run(script("echo", {"--input", "-"}), "\xEF\xBB\xBF{}").out, "{}\n");
  EXPECT_EQ(run(script("echo")).out, "null\n");
  EXPECT_EQ(run(command({"run", "-", "--input-json", "7"}), "echo").out, "7\n");
}

struct Refused {
  std::vector<std::string> args;
  const char* says;
};

// Usage errors: one line that names what is wrong, and 64.
TEST_F(Single, RefusesArgumentsThatCannotBe) {
  const Refused cases[] = {
      {{}, "a command is missing"},
      {{"rum"}, "rum is not expected here"},
      {{"run"}, "SCRIPT is missing"},
      {{"run", "a", "--fast"}, "--fast is not expected here"},
      {{"run", "a", "b"}, "b is not expected here"},
      {{"run", "a", "--batch", "b"}, "exclude each other"},
      {{"run", "--batch", "b", "--each", "c"}, "--batch goes with no other input"},
      {{"run", "a", "--input", "b", "--each", "c"}, "exclude each other"},
      {{"run", "a", "--input", "b", "--input-json", "1"}, "exclude each other"},
      {{"run", "-", "--input", "-"}, "cannot both be standard input"},
      {{"run", "a", "--input"}, "--input needs a value"},
      {{"run", "a", "--cpu", "1s", "--cpu", "2s"}, "--cpu is given twice"},
      {{"run", "a", "--wall-clock", "0s"}, "--wall-clock 0s: give a time from 1ms to 1h"},
      {{"run", "a", "--wall-clock", "2h"}, "--wall-clock 2h: give a time from 1ms to 1h"},
      {{"run", "a", "--cpu", "-1s"}, "--cpu -1s: give a time"},
      {{"run", "a", "--memory", "1MiB"}, "--memory 1MiB: give a size from 2MiB to 2GiB"},
      {{"run", "a", "--memory", "99999999999999999999GiB"}, "give a size from 2MiB to 2GiB"},
      {{"run", "a", "--max-input", "0"}, "--max-input 0: give a size from 1B to 1GiB"},
      {{"run", "a", "--workers", "0"}, "--workers 0: give a whole number from 1 to 64"},
      {{"run", "a", "--workers", "1000"}, "give a whole number from 1 to 64"},
      {{"run", "a", "--engine", "jit"}, "--engine jit: give worker or in-process"},
      {{"run", "a", "--engine", "in-process", "--cpu", "1s"}, "--cpu needs --engine worker"},
      {{"run", "a", "--engine", ""}, "give worker or in-process"},
      {{"run", "a", "--script-address", "sha256:12"}, "--script-address sha256:12: give sha256: and 64 digits"},
      {{"run", "--batch", "a", "--script-address", kAddressOfNothing}, "--script-address goes with SCRIPT"},
  };
  for (const Refused& one : cases) {
    const auto ended = run(command(one.args));
    SCOPED_TRACE(one.says);
    EXPECT_EQ(ended.code, 64);
    EXPECT_EQ(ended.out, "");
    EXPECT_NE(ended.err.find(one.says), std::string::npos) << ended.err;
    EXPECT_NE(ended.err.find("heddle --help"), std::string::npos) << ended.err;
    EXPECT_EQ(split_lines(ended.err).size(), 1U) << ended.err;
    EXPECT_EQ(ended.err.rfind("heddle: "), 0U) << ended.err;
  }
}

TEST_F(Single, HelpFitsATerminal) {
  for (const auto& args : {std::vector<std::string>{"--help"}, {"run", "--help"}, {"-h"}}) {
    const auto help = run(command(args));
    EXPECT_EQ(help.code, 0);
    for (const std::string& line : split_lines(help.out)) {
      std::size_t columns = 0;
      for (const char c : line) columns += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
      EXPECT_LE(columns, 80U) << line;
    }
    for (const char* option :
         {"--input ", "--input-json", "--each", "--batch", "--wall-clock", "--cpu", "--memory", "--max-input",
          "--max-output", "--max-script", "--workers", "--json", "--version", "--engine", "--script-address",
          "--explain", "heddle doctor", "heddle conformance", "heddle plugin"})
      EXPECT_NE(help.out.find(option), std::string::npos) << option;
  }
  EXPECT_EQ(run(command({"--version"})).out, "heddle " HEDDLE_VERSION "\n");
}

void expect_failed(const Launch& launch, std::string_view input, const std::string& says, int code = 15) {
  SCOPED_TRACE(says);
  const auto ended = run(launch, input);
  EXPECT_EQ(ended.code, code);
  EXPECT_EQ(ended.out, "");
  EXPECT_NE(ended.err.find(says), std::string::npos) << ended.err;
  EXPECT_EQ(split_lines(ended.err).size(), 1U) << ended.err;
}

TEST_F(Single, BadScripts) {
  expect_failed(command({"run", folder_.path("none.js")}), "", "No such file or directory: " + folder_.path("none.js"));
  expect_failed(command({"run", folder_.path("")}), "", "Is a directory");
  expect_failed(script(std::string("ok\n\xFF", 4)), "", "byte 3 is not valid UTF-8");
  expect_failed(script("\xFF\xFE"
                       "e"),
                "", "it looks like UTF-16");
  expect_failed(script("echo too long", {"--max-script", "12"}), "",
                "has more than 12B; shorten it, or raise --max-script");
  const auto ended = run(command({"run", folder_.path("none.js"), "--json"}));
  EXPECT_EQ(ended.code, 15);
  EXPECT_EQ(ended.out.find(R"({"outcome":"failed","message":"read SCRIPT: No such file)"), 0U) << ended.out;
  if (::geteuid() != 0) {  // root reads everything
    ASSERT_EQ(::chmod(folder_.write("secret.js", "echo").c_str(), 0), 0);
    expect_failed(command({"run", folder_.path("secret.js")}), "", "Permission denied");
  }
}

// SBX-13: the script is the one that was meant, or none.
TEST_F(Single, TheScriptHasItsAddress) {
  EXPECT_EQ(run(script("echo", {"--script-address", kAddressOfEcho, "--input-json", "7"})).out, "7\n");
  expect_failed(script("echo ", {"--script-address", kAddressOfEcho}), "",
                std::string(" and not --script-address ") + kAddressOfEcho);
  expect_failed(script("", {"--script-address", kAddressOfEcho}), "",
                std::string("has the address ") + kAddressOfNothing);
  // Of the bytes as they are, a byte order mark included.
  expect_failed(script("\xEF\xBB\xBF"
                       "echo",
                       {"--script-address", kAddressOfEcho}),
                "", "it is another script");
  EXPECT_EQ(run(command({"run", "-", "--script-address", kAddressOfEcho}), "echo").out, "null\n");
}

// SBX-13: out of a folder of scripts that are named by their address.
TEST_F(Single, AScriptIsFoundByItsAddress) {
  const std::string hex = std::string(kAddressOfEcho).substr(7);
  const auto kept = [&](std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"run", folder_.path(""), "--script-address", kAddressOfEcho});
    return command(std::move(more));
  };
  expect_failed(kept(), "", std::string("this folder has no script with the address ") + kAddressOfEcho);
  folder_.write(hex, "echo");
  EXPECT_EQ(run(kept({"--input-json", "7"})).out, "7\n");
  expect_failed(kept({"--max-script", "3"}), "", "raise --max-script");
  folder_.write(hex, "evil");
  expect_failed(kept(), "", "it is another script");
  ASSERT_EQ(::unlink(folder_.path(hex).c_str()), 0);
  ASSERT_EQ(::symlink(folder_.write("elsewhere", "echo").c_str(), folder_.path(hex).c_str()), 0);
  expect_failed(kept(), "", "read a script");
}

TEST_F(Single, BadInputs) {
  expect_failed(script("echo", {"--input", folder_.path("none")}), "", "No such file");
  expect_failed(script("echo", {"--input", folder_.path("")}), "", "Is a directory");
  expect_failed(script("echo", {"--input", "-"}), "\"a\xFF\"", "input standard input: byte 2 is not valid UTF-8");
  expect_failed(script("echo", {"--input", "-"}), "{\n \"a\": 1,\n}", "line 3, column 1: a key in quotation marks");
  expect_failed(script("echo", {"--input", "-"}), "",
                "line 1, column 1: a JSON value must stand here, but the text ends");
  expect_failed(script("echo", {"--input-json", "[1,"}), "", "--input-json: line 1, column 4");
  expect_failed(script("echo", {"--input-json", "[1]", "--max-input", "2"}), "", "--input-json has more than 2B", 12);
  expect_failed(script("echo", {"--input", "-", "--max-input", "2"}), "[1]", "standard input has more than 2B", 12);
}

// A million brackets are a value that is deep, or not one at all; neither costs the host its stack.
TEST_F(Single, DepthBombs) {
  const std::string open(500'000, '[');
  const std::string close(500'000, ']');
  expect_failed(script("echo", {"--input", "-"}), open, "line 1, column 500001");
  const auto ended = run(script("echo", {"--input", "-"}), open + close);
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out, open + close + "\n");
}

// What is over its ceiling is not read: the command has not the memory to do it.
TEST_F(Single, HugeFilesAreNotRead) {
  const auto sparse = [&](const char* name, off_t size) {
    const auto path = folder_.write(name, "");
    EXPECT_EQ(::truncate(path.c_str(), size), 0);
    return path;
  };
  const auto limited = [&](Launch launch) {
#if !defined(HEDDLE_UNDER_ASAN) && !defined(HEDDLE_UNDER_TSAN)  // their shadows count as data
    launch.args.insert(launch.args.begin(), {"--data=67108864", launch.program});
    launch.program = "/usr/bin/prlimit";
#endif
    return run(launch);
  };
  const auto big_script = limited(command({"run", sparse("big.js", 100'000'000)}));
  EXPECT_EQ(big_script.code, 15);
  EXPECT_NE(big_script.err.find("has more than 1MiB; shorten it, or raise --max-script"), std::string::npos);
  for (const std::string& input : {sparse("big.json", 1'000'000'000), std::string("/dev/zero")}) {
    const auto big_input = limited(script("echo", {"--json", "--input", input}));
    EXPECT_EQ(big_input.code, 12);
    EXPECT_EQ(big_input.out, "{\"outcome\":\"inputTooLarge\",\"ms\":0.000}\n");
  }
}

// Closed streams: nothing else takes their numbers, and what is needed is missed with a clear word.
TEST_F(Single, ClosedStreams) {
  auto launch = script("echo", {"--input", "-"});
  launch.in = closed_stream();
  expect_failed(launch, "", "standard input is closed");
  launch = script("echo");
  launch.in = closed_stream();
  EXPECT_EQ(run(launch).out, "null\n");
  launch.out = closed_stream();
  expect_failed(launch, "", "standard output is closed", 74);
  launch = script("throw");
  launch.err = closed_stream();
  EXPECT_EQ(run(launch).code, 10);
  launch.in = closed_stream();
  launch.out = closed_stream();
  EXPECT_EQ(run(launch).code, 74);
}

TEST_F(Single, AFullDiskIsAnError) {
  for (auto launch : {script("echo"), script("echo", {"--json"}), command({"--help"}), command({"--version"})}) {
    launch.out = path_stream("/dev/full");
    const auto ended = run(launch);
    EXPECT_EQ(ended.code, 74);
    EXPECT_NE(ended.err.find("No space left on device"), std::string::npos) << ended.err;
  }
}

TEST_F(Single, ABrokenPipeEndsQuietly) {
  Process process(script("sleep 200"));
  process.close_output();
  const auto ended = process.finish();
  EXPECT_EQ(ended.code, 141);
  EXPECT_EQ(ended.err, "");
}

TEST_F(Single, AMissingHelperIsAFailure) {
  auto launch = script("echo");
  launch.environment = {"FAKE_HEDDLE_NO_POOL=1"};
  expect_failed(launch, "", "check heddle-supervisor: not there");
}

// SBX-8: a signal ends the run, and reading too.
TEST_F(Single, SignalsCancel) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    Process running(script("sleep 60000", {"--json", "--input", "-"}));
    running.write("1");
    running.close_input();
    running.wait_for_signals();  // in the run or still reading: it must give the same
    running.signal(number);
    const auto ended = running.finish();
    EXPECT_EQ(ended.code, 130);
    EXPECT_EQ(ended.out.find("{\"outcome\":\"cancelled\",\"ms\":"), 0U) << ended.out;
    Process reading(script("echo", {"--input", "-"}));
    reading.wait_for_signals();
    reading.signal(number);
    const auto unread = reading.wait();
    EXPECT_EQ(unread.code, 130);
    EXPECT_EQ(unread.out, "");
    EXPECT_NE(unread.err.find("cancelled"), std::string::npos);
  }
}

}  // namespace
}  // namespace heddle::test

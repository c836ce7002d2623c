// The real command and its helper programs, copied to a folder of the test's own, as an install would lay them.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "process.h"
#include "tests/support/processes.h"

namespace heddle::test {
namespace {

constexpr int kStep = 500;

namespace fs = std::filesystem;

class Installed : public ::testing::Test {
 protected:
  Installed() {
    fs::create_directories(folder_.path("bin"));
    fs::create_directories(folder_.path("libexec/heddle"));
    fs::permissions(folder_.path("libexec/heddle"), fs::perms(0755));
    fs::permissions(folder_.path("libexec"), fs::perms(0755));
    put(HEDDLE_COMMAND, "bin/heddle");
    put(HEDDLE_LIBEXEC "/heddle-supervisor", kSupervisor);
    put(HEDDLE_LIBEXEC "/heddle-sandbox-worker", kWorker);
  }
  // JAIL-12: whatever the test did, none of its processes is left.
  ~Installed() override { EXPECT_TRUE(gone_within(running_below(folder_.path("")), std::chrono::seconds(10))); }

  void put(const std::string& from, const char* to) {
    fs::remove(folder_.path(to));
    fs::copy_file(from, folder_.path(to));
    fs::permissions(folder_.path(to), fs::perms(0755));
  }
  Launch command(std::vector<std::string> args) const { return {folder_.path("bin/heddle"), std::move(args)}; }
  Launch script(const std::string& text, std::vector<std::string> args = {}) const {
    args.insert(args.begin(), {"run", folder_.write("job.js", text)});
    return command(std::move(args));
  }
  std::string job() const { return folder_.path("job.js"); }

  // The outcome of a run that cannot be had, in a command that does as a control.
  void expect_no_worker(const std::string& says) {
    SCOPED_TRACE(says);
    const auto text = run(script("6*7"));
    EXPECT_EQ(text.code, 15);
    EXPECT_EQ(text.out, "");
    EXPECT_NE(text.err.find(says), std::string::npos) << text.err;
    EXPECT_EQ(split_lines(text.err).size(), 1U) << text.err;
    const auto json = run(script("6*7", {"--json"}));
    EXPECT_EQ(json.code, 15);
    EXPECT_EQ(json.out.find("{\"outcome\":\"failed\",\"message\":"), 0U) << json.out;
    const auto each = run(script("6*7", {"--each", "-"}), "1\n2\n");
    EXPECT_NE(each.code, 0);
    EXPECT_EQ(each.out.find("\"ok\""), std::string::npos) << each.out;
  }

  static constexpr const char* kSupervisor = "libexec/heddle/heddle-supervisor";
  static constexpr const char* kWorker = "libexec/heddle/heddle-sandbox-worker";
  Folder folder_;
};

std::string outcome(const Ended& ended) { return ended.out.substr(0, ended.out.rfind(",\"ms\":")); }

// SBX-3, SBX-4, SBX-21: from the file to the object, through the boundary.
TEST_F(Installed, RunsScripts) {
  EXPECT_EQ(run(script("input.rows.map(r => r * 2)", {"--input", "-"}), R"({"rows":[1,2,3]})").out, "[2,4,6]\n");
  EXPECT_EQ(run(script("Promise.resolve(41).then(x => x + 1)")).out, "42\n");
  const auto thrown = run(script("let a = 1;\nlet b = 2;\nmissing()"));
  EXPECT_EQ(thrown.code, 10);
  EXPECT_EQ(thrown.err.find("heddle: " + job() + ":3:"), 0U) << thrown.err;
  EXPECT_NE(thrown.err.find("ReferenceError"), std::string::npos) << thrown.err;
  EXPECT_EQ(outcome(run(script("for(;;);", {"--json", "--wall-clock", "100ms"}))),
            R"({"outcome":"limitExceeded","kind":"wallClock")");
  EXPECT_EQ(outcome(run(script("for(;;);", {"--json", "--cpu", "50ms", "--wall-clock", "60s"}))),
            R"({"outcome":"limitExceeded","kind":"cpu")");
  EXPECT_EQ(outcome(run(script("for(let a=[];;)a.push(new Uint8Array(1e6))",
                               {"--json", "--memory", "8MiB", "--wall-clock", "60s"}))),
            R"({"outcome":"limitExceeded","kind":"memory")");
  EXPECT_EQ(outcome(run(script("'x'.repeat(1001)", {"--json", "--max-output", "1kB"}))),
            R"({"outcome":"limitExceeded","kind":"output")");
  EXPECT_EQ(outcome(run(script("input", {"--json", "--memory", "2MiB", "--max-input", "10MB", "--input", "-",
                                         "--wall-clock", "60s"}),
                        "\"" + std::string(3'000'000, 'x') + "\"")),
            R"({"outcome":"inputTooLarge")");
}

TEST_F(Installed, EveryHelpFitsATerminal) {
  const std::vector<std::vector<std::string>> commands{{},
                                                       {"run"},
                                                       {"doctor"},
                                                       {"conformance"},
                                                       {"plugin"},
                                                       {"plugin", "new"},
                                                       {"plugin", "new", "sandbox"},
                                                       {"plugin", "check"}};
  for (auto args : commands) {
    args.emplace_back("--help");
    const auto help = run(command(args));
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.out.find("Usage:"), std::string::npos) << help.out;
    for (const std::string& line : split_lines(help.out)) {
      std::size_t columns = 0;
      for (const char c : line) columns += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
      EXPECT_LE(columns, 80U) << line;
    }
  }
}

// SBX-12, SBX-14, SBX-15: the effect's guarantees are the command's, with either engine.
TEST_F(Installed, RunsGoThroughTheEffect) {
  for (const char* engine : {"worker", "in-process"}) {
    SCOPED_TRACE(engine);
    const auto text = [&](const std::string& source, std::vector<std::string> args = {}) {
      args.insert(args.end(), {"--json", "--engine", engine, "--wall-clock", "60s"});
      return outcome(run(script(source, std::move(args))));
    };
    EXPECT_EQ(text("input", {"--input-json", R"({"z":-0, "a":1.0, "__proto__":{"x":1}, "s":"\ud800", "z":2})"}),
              R"({"outcome":"ok","value":{"z":2,"a":1,"__proto__":{"x":1},"s":")"
              "\xEF\xBF\xBD\"}");
    EXPECT_EQ(text("input", {"--input-json", R"({"a":1e400})"}),
              R"({"outcome":"inputNotSerializable","message":"the input is out of range: the number 1e400 at byte 6 is)"
              R"( more than a double holds")");
    const std::string deep = std::string(1001, '[') + std::string(1001, ']');
    EXPECT_EQ(text("input", {"--input-json", deep}), R"({"outcome":"inputTooLarge")");
    EXPECT_EQ(text("input", {"--input-json", "[1e20,1e20]", "--max-input", "20"}), R"({"outcome":"inputTooLarge")");
    EXPECT_EQ(text("let a = []; for (let i = 0; i < 1000; ++i) a = [a]; a"),
              R"({"outcome":"limitExceeded","kind":"output")");
    EXPECT_EQ(text("'x'.repeat(1001)", {"--max-output", "1kB"}), R"({"outcome":"limitExceeded","kind":"output")");
    EXPECT_EQ(text("'x'.repeat(998)", {"--max-output", "1kB"}),
              R"({"outcome":"ok","value":")" + std::string(998, 'x') + "\"");
    EXPECT_EQ(text("for(let a=[];;)a.push(new Uint8Array(1e6))", {"--memory", "8MiB"}),
              R"({"outcome":"limitExceeded","kind":"memory")");
    EXPECT_EQ(
        text("let a;\nmissing()"),
        R"({"outcome":"scriptError","name":"ReferenceError","message":"missing is not defined","line":2,"column":1)");
  }
}

// A script that is inside a built-in which never looks at the stop.
constexpr const char* kNeverLooks = "let s = 'a'.repeat(1.5e7), t = 'a'.repeat(7e6) + 'b'; s.indexOf(t)";

// SBX-19: what the in-process engine does and what it cannot, each said. It needs no helper, so none is there.
TEST_F(Installed, TheInProcessEngineSaysWhatItCannotDo) {
  fs::remove(folder_.path(kSupervisor));
  fs::remove(folder_.path(kWorker));
  EXPECT_EQ(run(script("input + 1", {"--engine", "in-process", "--input-json", "41"})).out, "42\n");
  EXPECT_EQ(outcome(run(script("for(;;);", {"--engine", "in-process", "--json", "--wall-clock", "100ms"}))),
            R"({"outcome":"limitExceeded","kind":"wallClock")");
  const auto text = run(script("6*7", {"--engine", "in-process", "--explain"}));
  for (const char* part :
       {"no boundary of the kernel's", "system calls: not filtered", "soft", "CPU time: not limited"}) {
    EXPECT_NE(text.err.find(part), std::string::npos) << part << " in " << text.err;
  }
  EXPECT_EQ(run(script("6*7", {"--engine", "in-process", "--cpu", "1s"})).code, 64);
  // SBX-28: without a kill too.
  EXPECT_EQ(outcome(run(script(kNeverLooks, {"--engine", "in-process", "--json", "--wall-clock", "100ms"}))),
            R"({"outcome":"limitExceeded","kind":"wallClock")");
}

// SBX-28: a run inside a built-in that never looks costs its own outcome and none that follows.
TEST_F(Installed, NoRunOfTheInProcessEngineCostsAnother) {
  const auto ended = run(script("if (input === 1) { " + std::string(kNeverLooks) + " } input",
                                {"--engine", "in-process", "--each", "-", "--workers", "1", "--wall-clock", "100ms"}),
                         "0\n1\n2\n");
  EXPECT_EQ(ended.code, 1);
  const auto lines = split_lines(ended.out);
  ASSERT_EQ(lines.size(), 3U) << ended.out;
  EXPECT_EQ(lines[0].find(R"({"outcome":"ok","value":0,)"), 0U);
  EXPECT_EQ(lines[1].find(R"({"outcome":"limitExceeded","kind":"wallClock",)"), 0U) << lines[1];
  EXPECT_EQ(lines[2].find(R"({"outcome":"ok","value":2,)"), 0U) << lines[2];
}

// JAIL-13, JAIL-14: what confined the run, from the kernel, on standard error or in the object.
TEST_F(Installed, ExplainsARun) {
  const auto text = run(script("6*7", {"--explain"}));
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(text.out, "42\n");
  for (const char* part : {"heddle: applied:", "no_new_privs\n", "Landlock ABI", "seccomp: 1 filter of its own",
                           "heddle: denied: nothing"}) {
    EXPECT_NE(text.err.find(part), std::string::npos) << part << " in " << text.err;
  }
  const auto json = run(script("6*7", {"--explain", "--json"}));
  EXPECT_EQ(json.err, "");
  EXPECT_NE(json.out.find(R"("explain":{"applied":[)"), std::string::npos) << json.out;
  EXPECT_NE(json.out.find(R"("denied":[],"dropped":0}})"), std::string::npos) << json.out;
  EXPECT_EQ(run(script("6*7", {"--json"})).out.find("explain"), std::string::npos);
  EXPECT_EQ(run(script("6*7")).err, "");
}

// The widest limits that the options take are limits that the pool takes, for a batch's lines too.
TEST_F(Installed, TheWidestAndTheNarrowestLimitsWork) {
  EXPECT_EQ(run(script("1", {"--wall-clock", "1h", "--cpu", "1h", "--memory", "2GiB", "--max-input", "1GiB",
                             "--max-output", "1GiB", "--max-script", "1GiB"}))
                .out,
            "1\n");
  EXPECT_EQ(run(script("1", {"--memory", "2MiB", "--max-output", "1B", "--wall-clock", "30s"})).out, "1\n");
  const auto batch =
      run(command({"run", "--batch", "-"}),
          R"({"script":"1","limits":{"wallClockMs":3600000,"memoryBytes":2147483648,"outputBytes":1073741824}})");
  EXPECT_EQ(outcome(batch), R"({"outcome":"ok","value":1)");
}

// JAIL-11, JAIL-15: a helper that cannot be trusted runs no script. The fixture's other tests are the control.
TEST_F(Installed, UntrustedHelpersRunNothing) {
  for (const char* helper : {kSupervisor, kWorker}) {
    SCOPED_TRACE(helper);
    const auto path = folder_.path(helper);
    fs::permissions(path, fs::perms(0775));
    expect_no_worker(path);
    fs::permissions(path, fs::perms(0755));
    EXPECT_EQ(run(script("6*7")).out, "42\n");
    fs::rename(path, path + ".away");
    expect_no_worker(path);
    fs::rename(path + ".away", path);
    EXPECT_EQ(run(script("6*7")).out, "42\n");
  }
  put(HEDDLE_TEST_LIBEXEC "/heddle-test-old-supervisor", kSupervisor);
  expect_no_worker("version");
  put(HEDDLE_LIBEXEC "/heddle-supervisor", kSupervisor);
  put(HEDDLE_TEST_LIBEXEC "/heddle-rogue-other-version", kWorker);
  expect_no_worker("version");
}

// SBX-8, JAIL-12: Ctrl-C while scripts loop inside built-ins that never look: all are cancelled, none is left.
TEST_F(Installed, ControlCLeavesNothing) {
  for (const char* engine : {"worker", "in-process"}) {
    SCOPED_TRACE(engine);
    Process process(script(kNeverLooks, {"--each", "-", "--workers", "3", "--wall-clock", "1h", "--engine", engine}));
    process.write("bad\n1\n2\n3\n4\n");
    ASSERT_TRUE(process.line());  // the bad line's outcome: all have been read
    ::usleep(300'000);            // most likely in the script by now; what is tested holds either way
    process.signal(SIGINT);
    const auto ended = process.wait();
    EXPECT_EQ(ended.code, 130);
    const auto lines = split_lines(ended.out);
    EXPECT_EQ(lines.size(), 4U) << ended.out;
    for (const std::string& line : lines) EXPECT_EQ(line.find("{\"outcome\":\"cancelled\""), 0U) << line;
    EXPECT_TRUE(gone_within(running_below(folder_.path("")), std::chrono::seconds(1)));
  }
}

TEST_F(Installed, ASecondControlCLeavesNothing) {
  Process process(script("for(;;);", {"--each", "-", "--workers", "2", "--wall-clock", "1h"}));
  process.write("bad\n1\n2\n");
  ASSERT_TRUE(process.line());
  process.signal(SIGINT);
  process.signal(SIGTERM);
  EXPECT_TRUE(process.wait().code >= 128);
  EXPECT_TRUE(gone_within(running_below(folder_.path("")), std::chrono::seconds(1)));
}

TEST_F(Installed, ABrokenPipeLeavesNothing) {
  Process process(script("for(;;);", {"--each", "-", "--workers", "2", "--wall-clock", "1h"}));
  process.write("bad\n1\n2\n");
  ASSERT_TRUE(process.line());
  process.close_output();
  const auto ended = process.wait();
  EXPECT_EQ(ended.code, 141);
  EXPECT_EQ(ended.err, "");
  EXPECT_TRUE(gone_within(running_below(folder_.path("")), std::chrono::seconds(1)));
}

// Whether a process computes: seen running three times in a row.
bool is_busy(pid_t pid) {
  for (int seen = 0; seen < 3; ++seen) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    if (!std::getline(file, text) || text.find(") R ") == std::string::npos) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

// JAIL-21: a supervisor that is killed costs the run under it, and the command goes on with the next line.
TEST_F(Installed, EachGoesOnAfterItsSupervisorIsKilled) {
  Process process(script("if (input === 0) for (;;); input", {"--each", "-", "--workers", "1", "--wall-clock", "1h"}));
  for (int life = 1; life <= 3; ++life) {
    const auto kill_supervisor = [] {
      for (const pid_t pid : descendants_named("heddle-supervis")) EXPECT_EQ(::kill(pid, SIGKILL), 0);
    };
    process.write("1\n");
    EXPECT_NE(process.line().value_or("").find(R"("value":1)"), std::string::npos);
    const std::vector<pid_t> idle = descendants_named("heddle-sandbox-");
    kill_supervisor();
    EXPECT_TRUE(ended_within(idle, std::chrono::seconds(20)));
    process.write("2\n");
    EXPECT_NE(process.line().value_or("").find(R"("value":2)"), std::string::npos);

    process.write("0\n");
    const core::Deadline patience = core::Deadline::after(kPatience);
    const std::vector<pid_t> workers = descendants_named("heddle-sandbox-");
    ASSERT_EQ(workers.size(), 1U);
    while (!is_busy(workers[0]) && !patience.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    kill_supervisor();
    const std::string failed = process.line().value_or("");
    EXPECT_NE(failed.find(R"("outcome":"failed")"), std::string::npos) << failed;
    EXPECT_NE(failed.find("supervisor"), std::string::npos) << failed;
  }
  process.write("3\n");
  EXPECT_NE(process.line().value_or("").find(R"("value":3)"), std::string::npos);
  EXPECT_NE(process.finish().code, 0) << "three runs failed";
}

// 100,000 real runs: none lost, order kept, fresh each, and the command's memory is what it was after 1,000, within 8
// MiB.
TEST_F(Installed, AHundredThousandRunsInBoundedMemory) {
  Process process(script("globalThis.n = (globalThis.n ?? 0) + 1; [n, input]",
                         {"--each", "-", "--workers", "2", "--wall-clock", "1h"}));
  long after_thousand = 0;
  for (int begin = 0; begin < kManyRuns; begin += kStep) {
    std::string lines;
    for (int i = begin; i < begin + kStep; ++i) lines += std::to_string(i) + "\n";
    process.write(lines);
    for (int i = begin; i < begin + kStep; ++i) {
      const auto line = process.line();
      ASSERT_TRUE(line);
      ASSERT_EQ(line->substr(0, line->rfind(",\"ms\":")),
                "{\"outcome\":\"ok\",\"value\":[1," + std::to_string(i) + "]");
    }
    if (begin + kStep == 1000) after_thousand = process.status("VmRSS");
  }
  EXPECT_GT(after_thousand, 0);
#ifndef HEDDLE_UNDER_ASAN  // its quarantine keeps what was freed
  EXPECT_LE(process.status("VmRSS"), after_thousand + 8L * 1024);
#endif
  EXPECT_EQ(process.finish().code, 0);
}

}  // namespace
}  // namespace heddle::test

// heddle exec: what a program must not do to its host's user, and how the programs that people run take it.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "process.h"
#include "tests/support/processes.h"

namespace heddle::test {
namespace {

namespace fs = std::filesystem;

class ExecHost : public ::testing::Test {
 protected:
  ExecHost() {
    fs::permissions(folder_.path(""), fs::perms(0755));
    for (const char* folder : {"work", "bin"}) fs::create_directory(folder_.path(folder));
    fs::permissions(folder_.path("work"), fs::perms(0777));  // as root the program is a user of its own
    fs::permissions(folder_.path("bin"), fs::perms(0755));
    folder_.write("work/file", "content\n");
    fs::permissions(folder_.path("work/file"), fs::perms(0666));
    fs::copy_file("/usr/bin/sleep", folder_.path("bin/hidden"));
  }
  [[nodiscard]] Launch launch(const std::string& policy, const std::string& script) const {
    const std::string bin = folder_.path("bin");
    const std::string text = "profile = \"program\"\nallow_exec = true\n" + policy +
                             "paths.execute = [\"/usr/bin\", \"" + bin + "\"]\nenvironment.PATH = \"/usr/bin:" + bin +
                             "\"\n";
    return {HEDDLE_COMMAND,
            {"exec", "--explain", "--policy", folder_.write("policy.toml", text), "--", "/usr/bin/sh", "-c", script}};
  }
  [[nodiscard]] Ended exec(const std::string& policy, const std::string& script) const {
    return run(launch("namespaces = \"if_available\"\n" + policy, script));
  }
  [[nodiscard]] std::string grant(const char* list) const {
    return "paths." + std::string(list) + " = [\"" + folder_.path("work") + "\"]\n";
  }
  // Their program is the test's own, so that they are found whoever their parents are.
  [[nodiscard]] std::vector<pid_t> hidden() const { return running_below(folder_.path("bin")); }

  Folder folder_;
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// Without a namespace all processes of the user count, and other tests run beside this one.
constexpr const char* kNoNamespaces = "namespaces = \"off\"\ncontrol_groups = \"off\"\nlimits.processes = 1000\n";

// One in the same session, one in its own, and one whose parents are gone. Each says that it is there.
constexpr const char* kLeave =
    "sh -c 'echo up; exec hidden 1000' & setsid sh -c 'echo up; exec hidden 1001' & "
    "(setsid sh -c 'sh -c \"echo up; exec hidden 1002\" &' &); ";

void expect_three(Process& process) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(process.line(), "up");
}

// JAIL-12: with neither namespaces nor groups, whichever way it ends.
TEST_F(ExecHost, NothingIsLeftWithoutNamespaces) {
  const Ended ended = run(launch(kNoNamespaces, std::string(kLeave) + "sleep 1; exit 5"));
  EXPECT_EQ(ended.code, 5) << ended.err;
  EXPECT_EQ(ended.out, "up\nup\nup\n");
  EXPECT_TRUE(gone_within(hidden(), std::chrono::seconds(1)));
  for (const auto& [signal, code] : {std::pair{SIGTERM, 130}, std::pair{SIGKILL, 128 + SIGKILL}}) {
    Process process(launch(kNoNamespaces, std::string(kLeave) + "sleep 1000"));
    expect_three(process);
    process.signal(signal);
    EXPECT_EQ(process.finish().code, code);
    EXPECT_TRUE(gone_within(hidden(), std::chrono::seconds(10))) << signal;
  }
}

// JAIL-12: with the supervisor killed its stub ends, and the program with the stub.
TEST_F(ExecHost, TheProgramEndsWithItsStub) {
  Process process(launch(kNoNamespaces, "echo up; exec hidden 1000"));
  EXPECT_EQ(process.line(), "up");
  std::vector<pid_t> programs;
  for (int tries = 0; tries < 4000 && programs.empty(); ++tries) {
    ::usleep(5000);
    programs = hidden();
  }
  EXPECT_EQ(programs.size(), 1U);
  const std::vector<pid_t> supervisors = descendants_named("heddle-supervis");
  ASSERT_EQ(supervisors.size(), 1U);
  ::kill(supervisors[0], SIGKILL);
  EXPECT_TRUE(gone_within(programs, std::chrono::seconds(10)));
  EXPECT_NE(process.finish().code, 0);
}

// JAIL-12: what forks and ends again and again is a new process by the time that one is found.
TEST_F(ExecHost, WhatMultipliesIsEndedWithoutNamespaces) {
  fs::copy_file(HEDDLE_TEST_LIBEXEC "/heddle-test-attacker", folder_.path("bin/attacker"));
  const std::string beat = folder_.path("work/beat");
  const std::string policy = kNoNamespaces + grant("write");
  const auto script = [&](const char* attack) {
    return folder_.path("bin/attacker") + " program " + attack + " " + beat + " >/dev/null 2>&1; exit 5";
  };
  const auto beats = [&] {
    std::error_code none;
    const std::uintmax_t size = fs::file_size(beat, none);
    return none ? 0 : size;
  };
  for (const char* attack : {"leave_and_fork", "leave_and_multiply"}) {
    for (int round = 0; round < 4; ++round) {
      fs::remove(beat);
      const Ended ended = run(launch(policy, script(attack)));
      EXPECT_EQ(ended.code, 5) << ended.err;
      const std::uintmax_t then = beats();
      EXPECT_GT(then, 3U);
      ::usleep(300'000);
      EXPECT_EQ(beats(), then) << attack;
    }
  }
  // Control: free they outlive it.
  fs::remove(beat);
  EXPECT_EQ(run({"/usr/bin/sh", {"-c", script("leave_and_fork")}}).code, 5);
  const std::uintmax_t then = beats();
  ::usleep(300'000);
  EXPECT_GT(beats(), then);
}

// The control: free they live on.
TEST_F(ExecHost, ControlTheyAreLeftWithoutAJail) {
  const std::string path = "PATH=$PATH:" + folder_.path("bin") + "; export PATH; ";
  Process process({"/usr/bin/sh", {"-c", path + kLeave + "exit 5"}});
  expect_three(process);
  ::usleep(1'000'000);
  EXPECT_EQ(hidden().size(), 3U);
  for (const pid_t pid : hidden()) ::kill(pid, SIGKILL);
  EXPECT_EQ(process.finish().code, 5);
}

// JAIL-20: refused and explained; with what the explanation says it works.
TEST_F(ExecHost, ALockNeedsSomethingToWrite) {
  const std::string script = "flock -n " + folder_.path("work/file") + " echo locked";
  const Ended reads = exec(grant("read"), script);
  EXPECT_NE(reads.code, 0);
  EXPECT_FALSE(has(reads.out, "locked"));
  EXPECT_TRUE(has(reads.err, "denied: flock")) << reads.err;
  EXPECT_TRUE(has(reads.err, "policy.toml: write, with what it has to lock")) << reads.err;
  const Ended writes = exec(grant("write"), script);
  EXPECT_EQ(writes.code, 0) << writes.err;
  EXPECT_EQ(writes.out, "locked\n");
}

// JAIL-19: what watches looks again and again instead.
TEST_F(ExecHost, TailFollowsWithoutWatching) {
  const std::string file = folder_.path("work/file");
  const std::string script = "tail -s 0.2 -f " + file + " & sleep 1; echo more >> " + file + "; sleep 4; kill $!";
  const Ended followed = exec(grant("write"), script);
  EXPECT_EQ(followed.out, "content\nmore\n") << followed.err;
}

// JAIL-19: attributes are what a file system does not have, which nobody takes for a failure.
TEST_F(ExecHost, ListsAndCopiesWithoutAttributes) {
  const std::string script = "ls -l " + folder_.path("work") + " && cp -r --preserve=xattr,links " +
                             folder_.path("work/file") + " " + folder_.path("work/copy");
  const Ended jailed = exec(grant("write"), script);
  EXPECT_EQ(jailed.code, 0) << jailed.err;
  EXPECT_TRUE(has(jailed.out, "file")) << jailed.out;
  EXPECT_FALSE(has(jailed.err, "ls:")) << jailed.err;
  EXPECT_TRUE(fs::exists(folder_.path("work/copy")));
}

}  // namespace
}  // namespace heddle::test

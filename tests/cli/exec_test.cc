// heddle exec with the real helper programs. Each denial has the control that shows what it is a denial of.
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <regex>
#include <thread>

#include "exec_fixture.h"
#include "testing/elf_file.h"
#include "testing/swapper.h"

namespace heddle::test {
namespace {

// JAIL-2: denied, and as a control granted.
TEST_F(Exec, ReadsWhatIsGrantedAndNothingElse) {
  const std::vector<std::string> command = {"/bin/cat", folder_.path("data/file")};
  const Ended denied = exec("", command);
  EXPECT_EQ(denied.code, 1);
  EXPECT_EQ(denied.out, "");
  EXPECT_TRUE(has(denied.err, "Permission denied")) << denied.err;
  const Ended granted = exec("paths.read = [" + quoted("data") + "]\n", command);
  EXPECT_EQ(granted.code, 0) << granted.err;
  EXPECT_EQ(granted.out, "content\n");
}

// JAIL-2
TEST_F(Exec, WritesWhereItMayAndNowhereElse) {
  const auto touch = [&](const std::string& policy) {
    return exec(policy, {"/bin/sh", "-c", "echo x > " + folder_.path("work/made")});
  };
  EXPECT_NE(touch("").code, 0);
  EXPECT_NE(touch("paths.read = [" + quoted("work") + "]\n").code, 0);
  EXPECT_FALSE(fs::exists(folder_.path("work/made")));
  const Ended granted = touch("paths.write = [" + quoted("work") + "]\n");
  EXPECT_EQ(granted.code, 0) << granted.err;
  EXPECT_TRUE(fs::exists(folder_.path("work/made")));
}

// JAIL-2: Landlock does not decide about modes; so nobody changes them, within a granted folder neither.
TEST_F(Exec, ChangesNoModeOfAFile) {
  const std::string file = folder_.path("work/mine");
  const std::string policy =
      "allow_exec = true\npaths.write = [" + quoted("work") + "]\npaths.execute = [\"/usr/bin\"]\n";
  const Ended denied = exec(policy, {"/bin/sh", "-c", "echo x > " + file + " && /usr/bin/chmod 777 " + file});
  EXPECT_NE(denied.code, 0);
  EXPECT_TRUE(has(denied.err, "not permitted")) << denied.err;
  struct stat info {};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

// A program whose interpreter hostile bytes chose. `cat` is /bin/cat with another PT_INTERP.
class Interpreter : public Exec {
 protected:
  Interpreter() {
    loader_ = fs::canonical(jail::interpreter_of(jail::bytes_of("/bin/cat"))).string();
    put(loader_, "data/loader");
    fs::permissions(folder_.path("data/loader"), fs::perms(0555));
  }
  Ended cat(const std::string& interpreter, const std::string& policy = "", bool explain = false) const {
    const std::string path = folder_.write("data/cat", jail::with_interpreter(jail::bytes_of("/bin/cat"), interpreter));
    fs::permissions(path, fs::perms(0755));
    const std::string paths = "paths.read = [" + quoted("data/file") + "]\n";
    return exec(paths + policy, {path, folder_.path("data/file")}, explain);
  }
  std::string loader_;
};

// JAIL-17: a relative interpreter that is a link to / in the caller's folder, and a loader in the program's. Control:
// unjailed, and from the folder where it is the loader, it runs.
TEST_F(Interpreter, ThatIsRelativeIsNamedAndGrantsNothing) {
  fs::create_symlink("/", folder_.path("work/ld"));
  fs::create_symlink(loader_, folder_.path("data/ld"));
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path("work"));
  const Ended refused = cat("ld", "working_directory = " + quoted("data") + "\n");
  fs::current_path(folder_.path("data"));
  const Ended here = cat("ld", "working_directory = " + quoted("data") + "\n");
  const Ended control = run({folder_.path("data/cat"), {folder_.path("data/file")}});
  fs::current_path(before);
  EXPECT_EQ(control.out, "content\n");
  for (const Ended& ended : {refused, here}) {
    EXPECT_EQ(ended.code, 126);
    EXPECT_EQ(ended.out, "");
    EXPECT_TRUE(has(ended.err, "its interpreter, ld, is not an absolute path")) << ended.err;
  }
}

// JAIL-17: control: a loader of another name runs, and so does a link to one.
TEST_F(Interpreter, ThatTheProgramCouldWriteIsNamed) {
  put(loader_, "work/loader");
  fs::permissions(folder_.path("work/loader"), fs::perms(0777));
  fs::create_symlink(folder_.path("data/loader"), folder_.path("data/link"));
  ASSERT_EQ(::mkfifo(folder_.path("data/fifo").c_str(), 0666), 0);
  for (const char* name : {"data/loader", "data/link"}) {
    const Ended started = cat(folder_.path(name));
    EXPECT_EQ(started.out, "content\n") << started.err;
  }
  for (const char* name : {"work/loader", "work", "data/fifo", "data/file", "data/none"}) {
    const Ended refused = cat(folder_.path(name));
    EXPECT_EQ(refused.code, 126) << name;
    EXPECT_EQ(refused.out, "");
    EXPECT_TRUE(has(refused.err, folder_.path(name))) << refused.err;
  }
  const Ended granted = cat(folder_.path("data/loader"), "paths.write = [" + quoted("data") + "]\n");
  EXPECT_EQ(granted.code, 126);
  EXPECT_TRUE(has(granted.err, "paths.write grants " + folder_.path("data"))) << granted.err;
}

// JAIL-17: it is granted as a file: nothing beside it, and no more than reading it. Control: granted, both are read.
TEST_F(Interpreter, IsAllThatIsGranted) {
  const auto read = [&](const char* name, const std::string& policy) {
    const std::string path =
        folder_.write("data/cat", jail::with_interpreter(jail::bytes_of("/bin/cat"), folder_.path("data/loader")));
    fs::permissions(path, fs::perms(0755));
    return exec(policy, {path, folder_.path(name)}).code;
  };
  EXPECT_EQ(read("data/loader", ""), 0);
  EXPECT_EQ(read("data/file", ""), 1);
  EXPECT_EQ(read("data/file", "paths.read = [" + quoted("data") + "]\n"), 0);
}

// JAIL-17: it is said, and reading it is no denial.
TEST_F(Interpreter, IsAmongWhatWasApplied) {
  const std::string link = jail::interpreter_of(jail::bytes_of("/bin/cat"));
  const Ended plain = exec("", {"/bin/cat", link, loader_}, true);
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_TRUE(has(plain.err, "applied: its interpreter, by itself: " + loader_)) << plain.err;
  EXPECT_TRUE(has(plain.err, "denied: nothing that was seen")) << plain.err;
  EXPECT_TRUE(has(cat(folder_.path("data/loader"), "", true).err, "by itself: " + folder_.path("data/loader")));
}

// JAIL-17: another user's link that turns between a loader and the root folder. Each start opens what is granted once.
TEST_F(Interpreter, ThatIsSwappedIsThatFileOrNotStarted) {
  const std::string link = folder_.path("data/turning");
  fs::create_symlink("/", link);
  const jail::Swapper swapper(link, folder_.path("data/loader"), "/");
  for (int round = 0; round < 60; ++round) {
    const Ended turned = cat(link, "", true);
    EXPECT_FALSE(has(turned.err, "by itself: /\n")) << turned.err;
    if (turned.code != 0) {
      EXPECT_EQ(turned.code, 126) << turned.err;
      EXPECT_TRUE(has(turned.err, link) || has(turned.err, "execute the program")) << turned.err;
      continue;
    }
    EXPECT_EQ(turned.out, "content\n");
    EXPECT_TRUE(has(turned.err, "by itself: " + folder_.path("data/loader"))) << turned.err;
  }
}

// EXE-1
TEST_F(Exec, AProgramIsCalledWhatWasTyped) {
  EXPECT_EQ(exec("", {"sh", "-c", "echo $0"}).out, "sh\n");
  EXPECT_EQ(exec("", {"/bin/sh", "-c", "echo $0"}).out, "/bin/sh\n");
  // A program of several names.
  if (!fs::exists("/usr/bin/unxz")) GTEST_SKIP() << "no xz-utils here";
  const std::string packed = run({"/usr/bin/xz", {"-c"}}, "text\n").out;
  const Ended unpacked = run(launch("stdio.stdin = \"inherit\"\n", {"unxz"}), packed);
  EXPECT_EQ(unpacked.code, 0) << unpacked.err;
  EXPECT_EQ(unpacked.out, "text\n");
}

class WorkingFolder : public Exec {
 protected:
  ~WorkingFolder() override { fs::current_path(before_); }
  // What python3, a shell and pwd(1) call it, a line each, and what lies in it.
  static constexpr const char* kWhere = "pwd -P; /usr/bin/pwd -P; /usr/bin/ls";
  const std::string policy_ = "allow_exec = true\npaths.execute = [\"/usr/bin\"]\n";
  const fs::path before_ = fs::current_path();
};

// EXE-2: in the mount namespace of its own, too; and below a folder that its user may walk through and not read.
TEST_F(WorkingFolder, HasItsName) {
  fs::create_directories(folder_.path("closed/inner"));
  fs::permissions(folder_.path("closed/inner"), fs::perms(0755));
  folder_.write("closed/inner/there", "");
  fs::permissions(folder_.path("closed"), fs::perms(0711));
  fs::create_symlink(folder_.path("closed/inner"), folder_.path("way"));
  for (const char* name : {"closed/inner", "way"}) {
    const Ended ended =
        exec(policy_ + "paths.read = [" + quoted(name) + "]\nworking_directory = " + quoted(name) + "\n",
             {"/bin/sh", "-c", kWhere}, true);
    const std::string path = folder_.path("closed/inner");
    EXPECT_EQ(ended.out, path + "\n" + path + "\nthere\n") << ended.err;
    EXPECT_TRUE(has(ended.err, "applied: working folder: " + path + "\n")) << ended.err;
  }
  fs::permissions(folder_.path("closed"), fs::perms(0755));
  const Ended none = exec("working_directory = " + quoted("none") + "\n", {"/bin/echo", "ran"});
  EXPECT_EQ(none.code, 125);
  EXPECT_TRUE(has(none.err, folder_.path("none"))) << none.err;
  EXPECT_EQ(exec("working_directory = " + quoted("data/file") + "\n", {"/bin/echo", "ran"}).code, 125);
}

// EXE-2: python3 finds a module beside it, and a compiler writes the folder down.
TEST_F(WorkingFolder, IsWhatProgramsTakeItFor) {
  const std::string place = "working_directory = " + quoted("work") + "\npaths.write = [" + quoted("work") + "]\n";
  fs::permissions(folder_.write("work/mine.py", "print(__file__)\n"), fs::perms(0644));
  if (fs::exists("/usr/bin/python3")) {
    const Ended python = exec(place, {"/usr/bin/python3", "-Bc", "import mine, os; print(os.getcwd())"});
    EXPECT_EQ(python.out, folder_.path("work/mine.py") + "\n" + folder_.path("work") + "\n") << python.err;
  }
  if (!fs::exists("/usr/bin/cc")) GTEST_SKIP() << "no C compiler here";
  fs::permissions(folder_.write("work/a.c", "int a;\n"), fs::perms(0644));
  const Ended cc = exec(place +
                            "allow_exec = true\npaths.read = [\"/usr/include\"]\npaths.execute = [\"/usr/bin\", "
                            "\"/usr/lib/gcc\"]\nenvironment.PATH = "
                            "\"/usr/bin\"\nenvironment.TMPDIR = " +
                            quoted("work") + "\n",
                        {"/usr/bin/cc", "-g", "-gz=none", "-c", "a.c"});
  EXPECT_EQ(cc.code, 0) << cc.err;
  EXPECT_TRUE(has(jail::bytes_of(folder_.path("work/a.o")), folder_.path("work") + '\0'));
}

// EXE-3: make gives up rights that it never had before each command, and ends when it cannot.
TEST_F(WorkingFolder, MakeStartsItsRecipes) {
  if (!fs::exists("/usr/bin/make")) GTEST_SKIP() << "no make here";
  fs::permissions(
      folder_.write("work/Makefile", "made: mine\n\t@echo one >made\n\t@cat made mine\nmine:\n\t@echo two >$@\n"),
      fs::perms(0644));
  const Ended made = exec(policy_ + "environment.PATH = \"/usr/bin\"\nworking_directory = " + quoted("work") +
                              "\npaths.write = [" + quoted("work") + "]\n",
                          {"make", "-s"}, true);
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.out, "one\ntwo\n") << made.err;
  EXPECT_FALSE(has(made.err, "setres")) << made.err;
}

// EXE-2: where the policy names none.
TEST_F(WorkingFolder, IsTheCallersWhereThatIsGranted) {
  const std::vector<std::string> where = {"/bin/sh", "-c", "pwd -P; exit 3"};
  fs::create_directory(folder_.path("data/below"));
  fs::current_path(folder_.path("data/below"));
  const Ended granted = exec("paths.read = [" + quoted("data") + "]\n", where);
  EXPECT_EQ(granted.out, folder_.path("data/below") + "\n");
  EXPECT_FALSE(has(granted.err, "working folder")) << granted.err;
  for (const bool explain : {false, true}) {
    const Ended not_granted = exec("paths.read = [" + quoted("work") + "]\n", where, explain);
    EXPECT_EQ(not_granted.out, "/\n");
    EXPECT_TRUE(has(not_granted.err, "working folder: /, since no line")) << not_granted.err;
    EXPECT_TRUE(has(not_granted.err, folder_.path("data/below"))) << not_granted.err;
  }
  const Ended said = exec("paths.read = [" + quoted("data") + "]\nworking_directory = \"/\"\n", where);
  EXPECT_EQ(said.out, "/\n");
  EXPECT_FALSE(has(said.err, "working folder")) << said.err;
  fs::remove(folder_.path("data/below"));
  const Ended gone = exec("paths.read = [" + quoted("data") + "]\n", where);
  EXPECT_EQ(gone.out, "/\n");
  EXPECT_TRUE(has(gone.err, "no name any more")) << gone.err;
}

// JAIL-17: an earlier run may have made the link. Control: the same through a link that it cannot have made.
TEST_F(WorkingFolder, IsNotWhereALinkOfTheProgramsLeads) {
  fs::create_symlink(folder_.path("data"), folder_.path("work/link"));
  const std::string folder = "working_directory = " + quoted("work/link") + "\n";
  const Ended refused = exec(folder + "paths.write = [" + quoted("work") + "]\n", {"/bin/pwd", "-P"});
  EXPECT_EQ(refused.code, 125);
  EXPECT_TRUE(has(refused.err, folder_.path("work/link"))) << refused.err;
  EXPECT_EQ(exec(folder + "paths.read = [" + quoted("work") + "]\n", {"/bin/pwd", "-P"}).out,
            folder_.path("data") + "\n");
}

// EXE-1, JAIL-17: a script is started as the kernel would, by an interpreter that the policy grants. Control: without
// the grant it is not, and the line that is missing is named; followed, it works, and no other program starts.
TEST_F(Exec, AScriptIsStartedByTheInterpreterThatThePolicyGrants) {
  const std::string shell = fs::canonical("/bin/sh").string();
  const std::string script = folder_.write("data/script", "#!/bin/sh -e\necho $0 $1; /usr/bin/env; exit 3\n");
  fs::permissions(script, fs::perms(0755));
  EXPECT_EQ(run({script, {"word"}}).out.find(script + " word\n"), 0U);
  const Ended refused = exec("paths.read = [" + quoted("data") + "]\n", {script, "word"});
  EXPECT_EQ(refused.code, 126);
  EXPECT_EQ(refused.out, "");
  EXPECT_TRUE(has(refused.err, "execute = [\"" + shell + "\"]")) << refused.err;
  const Ended followed = exec("paths.execute = [\"" + shell + "\"]\n", {script, "word"}, true);
  EXPECT_EQ(followed.out, script + " word\n") << followed.err;
  EXPECT_EQ(followed.code, 126) << followed.err;  // -e: env was refused
  EXPECT_TRUE(has(followed.err, "applied: script: " + script)) << followed.err;
  EXPECT_TRUE(has(followed.err, "applied: program: " + shell)) << followed.err;
  const Ended more = exec("paths.execute = [\"/usr/bin\"]\nallow_exec = true\n", {script, "word"});
  EXPECT_EQ(more.code, 3) << more.err;
  // Found in PATH, and from a folder of the caller's.
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path("data"));
  EXPECT_EQ(exec("paths.execute = [\"" + shell + "\"]\n", {"./script", "word"}).out, script + " word\n");
  fs::current_path(before);
  const Ended relative = exec("", {folder_.write("data/text", "#!sh\n")});
  EXPECT_EQ(relative.code, 126);
}

// JAIL-8: what a policy cannot mean is refused by file, line and column, and never by a signal.
TEST_F(Exec, APolicyThatCannotBeMeantIsNamed) {
  std::string key = "a";
  for (int i = 0; i < 200'000; ++i) key += ".a";
  const struct {
    std::string text;
    const char* place;
    const char* words;
  } rows[] = {{key + " = 1", "policy.toml:2:", "parts"},
              {"x = " + std::string(1'000'000, '['), "policy.toml:2:", "brackets"},
              {"[environment]\n\"A\\u0000B\" = \"1\"\n", "policy.toml:3:1", "not a name"},
              {"[paths]\nread = [\"~/x\"]\n", "policy.toml:3:9", "write it out"},
              {"[paths]\nread = [\"" + folder_.path("data") + "/*\"]\n", "policy.toml:3:9", "stand for themselves"},
              {"[paths]\nread = [\n  \"/no/such/path\"]\n", "policy.toml:4:3", "/no/such/path"},
              {"[paths]\nexecute = [\"/usr/bin\"]\n", "policy.toml:3:12", "lets no program be started"}};
  for (const auto& row : rows) {
    const Ended refused = exec(row.text, {"/bin/echo", "ran"});
    EXPECT_EQ(refused.code, 125) << row.place;
    EXPECT_EQ(refused.out, "");
    EXPECT_TRUE(has(refused.err, row.place) && has(refused.err, row.words)) << refused.err.substr(0, 500);
  }
}

// EXE-1: a pipe that nobody writes. Control: one that is written is read.
TEST_F(Exec, APipeInPlaceOfAFileCanBeInterrupted) {
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0666), 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    Process waiting({folder_.path("bin/heddle"), {"exec", "--policy", pipe, "--", "/bin/echo", "ran"}});
    waiting.wait_for_signals();
    waiting.signal(signal);
    const Ended ended = waiting.finish();
    EXPECT_EQ(ended.code, 130);
    EXPECT_EQ(ended.out, "");
  }
  std::thread writer([&] { std::ofstream(pipe) << kHeading; });
  const Ended written = run({folder_.path("bin/heddle"), {"exec", "--policy", pipe, "--", "/bin/echo", "ran"}});
  writer.join();
  EXPECT_EQ(written.out, "ran\n") << written.err;
  fs::permissions(pipe, fs::perms(0777));
  const Ended program = exec("", {pipe});
  EXPECT_EQ(program.code, 126);
  EXPECT_TRUE(has(program.err, "not a regular file")) << program.err;
}

// JAIL-6: one program, its control, and what allow_exec is limited to.
TEST_F(Exec, StartsNoOtherProgramUnlessAllowed) {
  const std::vector<std::string> command = {"/bin/sh", "-c", "/usr/bin/env"};
  const Ended denied = exec("", command);
  EXPECT_EQ(denied.code, 126) << denied.err;
  EXPECT_TRUE(has(denied.err, "not permitted")) << denied.err;
  const Ended elsewhere = exec("allow_exec = true\npaths.execute = [" + quoted("data") + "]\n", command);
  EXPECT_EQ(elsewhere.code, 126) << elsewhere.err;
  const Ended allowed = exec("allow_exec = true\npaths.execute = [\"/usr/bin\"]\n", command);
  EXPECT_EQ(allowed.code, 0) << allowed.err;
}

// JAIL-10: its environment is the policy's.
TEST_F(Exec, HasTheEnvironmentThatThePolicySays) {
  ASSERT_EQ(::setenv("HEDDLE_TEST_SECRET", "1", 1), 0);
  EXPECT_EQ(exec("", {"/usr/bin/env"}).out, "");
  EXPECT_EQ(exec("environment.A = \"b c\"\n", {"/usr/bin/env"}).out, "A=b c\n");
}

// JAIL-10: descriptors 0 to 2 are pipes or /dev/null, and there is no other. ls itself opens the folder.
TEST_F(Exec, HasNoDescriptorOfOurs) {
  const Ended listed = exec("paths.read = [\"/proc\"]\n", {"/bin/ls", "/proc/self/fd"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_EQ(listed.out, "0\n1\n2\n3\n");
}

// JAIL-10
TEST_F(Exec, RelaysItsStreamsAsThePolicySays) {
  const Ended both = exec("", {"/bin/sh", "-c", "echo out; echo err >&2"});
  EXPECT_EQ(both.out, "out\n");
  EXPECT_EQ(both.err, "err\n");
  const Ended nothing = run(launch("", {"/bin/sh", "-c", "read a || echo end"}), "ignored\n");
  EXPECT_EQ(nothing.out, "end\n");
  const Ended in = run(launch("stdio.stdin = \"inherit\"\n", {"/bin/cat"}), "given\n");
  EXPECT_EQ(in.out, "given\n");
  const Ended quiet = exec("stdio.stdout = \"null\"\n", {"/bin/echo", "x"});
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.out, "");
  const std::string large(200'000, 'x');
  const Ended long_way = run(launch("stdio.stdin = \"inherit\"\n", {"/bin/cat"}), large);
  EXPECT_EQ(long_way.out.size(), large.size());
}

// JAIL-8: everything that it can make us keep or wait for has a limit.
TEST_F(Exec, EndsAProgramAtItsLimits) {
  const Ended much = exec("stdio.max_output = 100\n", {"/usr/bin/yes"});
  EXPECT_EQ(much.code, 123);
  EXPECT_EQ(much.out.size(), 100U);
  EXPECT_TRUE(has(much.err, "max_output")) << much.err;
  const Ended slow = exec("limits.wall_clock = \"300ms\"\n", {"/bin/sleep", "1000"});
  EXPECT_EQ(slow.code, 124);
  EXPECT_TRUE(has(slow.err, "wall_clock")) << slow.err;
  const Ended busy = exec("limits.cpu = \"1s\"\n", {"/bin/sh", "-c", "while :; do :; done"});
  EXPECT_EQ(busy.code, 128 + SIGKILL) << busy.err;
  const Ended big = exec("limits.file_size = \"64KiB\"\npaths.write = [" + quoted("work") + "]\n",
                         {"/bin/dd", "if=/dev/zero", "of=" + folder_.path("work/big"), "bs=1024", "count=1000"});
  EXPECT_NE(big.code, 0);
  EXPECT_LE(fs::file_size(folder_.path("work/big")), 64U << 10);
}

// JAIL-8, JAIL-12: as root and as an ordinary user; what it forked ends with it.
TEST_F(Exec, AForkBombReachesItsLimitAndLeavesNothing) {
  const std::string bomb = "i=0; while [ $i -lt 100 ]; do sleep 1000 & i=$((i+1)); done";
  const std::string policy = "allow_exec = true\npaths.execute = [\"/usr/bin\"]\nenvironment.PATH = \"/usr/bin\"\n";
  const Ended capped = exec(policy + "limits.processes = 10\nlimits.wall_clock = \"5s\"\n", {"/bin/sh", "-c", bomb});
  EXPECT_NE(capped.code, 0);
  EXPECT_TRUE(has(capped.err, "fork") || has(capped.err, "Resource")) << capped.err;
  const Ended enough = exec(policy + "limits.processes = 200\n", {"/bin/sh", "-c", bomb});
  EXPECT_EQ(enough.code, 0) << enough.err;
}

// JAIL-12: a program that left its session, too.
TEST_F(Exec, WhatHidIsGoneWithTheProgram) {
  const std::string policy = "allow_exec = true\npaths.execute = [\"/usr/bin\", " + quoted("data") + "]\n";
  put("/usr/bin/sleep", "data/hidden");
  const Ended ended =
      exec(policy, {"/bin/sh", "-c", "/usr/bin/setsid " + folder_.path("data/hidden") + " 1000 & exit 5"});
  EXPECT_EQ(ended.code, 5) << ended.err;
  EXPECT_TRUE(gone_within(running_below(folder_.path("data")), std::chrono::seconds(5)));
}

// JAIL-5: no network, for whatever dials out; bash can.
TEST_F(Exec, MakesNoSocket) {
  const std::string dial = "exec 3<>/dev/udp/127.0.0.1/9";
  EXPECT_EQ(run({"/bin/bash", {"-c", dial}}).code, 0);
  const Ended denied = exec("", {"/bin/bash", "-c", dial});
  EXPECT_NE(denied.code, 0);
  EXPECT_TRUE(has(denied.err, "not permitted")) << denied.err;
}

TEST_F(Exec, TellsExitsSignalsAndRefusalsApart) {
  EXPECT_EQ(exec("", {"/bin/sh", "-c", "exit 7"}).code, 7);
  const Ended signalled = exec("", {"/bin/sh", "-c", "kill -SEGV $$"});
  EXPECT_EQ(signalled.code, 128 + SIGSEGV);
  EXPECT_TRUE(has(signalled.err, "signal 11")) << signalled.err;
  EXPECT_EQ(exec("", {"no-such-program-at-all"}).code, 127);
  const Ended text = exec("", {folder_.path("data/file")});
  EXPECT_EQ(text.code, 126);
  put("/bin/true", "data/closed");
  fs::permissions(folder_.path("data/closed"), fs::perms(0600));
  EXPECT_EQ(exec("", {folder_.path("data/closed")}).code, 126);
  const Ended bad = exec("nonsense = 1\n", {"/bin/echo", "ran"});
  EXPECT_EQ(bad.code, 125);
  EXPECT_EQ(bad.out, "");
  EXPECT_TRUE(has(bad.err, "policy.toml:2:1")) << bad.err;
  const Ended missing = exec("paths.read = [\"/no/such/path\"]\n", {"/bin/echo", "ran"});
  EXPECT_EQ(missing.code, 125);
  EXPECT_TRUE(has(missing.err, "/no/such/path")) << missing.err;
  for (const char* profile : {"script", "tool", "plugin"}) {
    const std::string file = folder_.write("other.toml", "profile = \"" + std::string(profile) + "\"\n");
    const Ended other = run({folder_.path("bin/heddle"), {"exec", "--policy", file, "--", "/bin/echo", "ran"}});
    EXPECT_EQ(other.code, 125) << profile;
    EXPECT_TRUE(has(other.err, profile) && has(other.err, "write profile = \"program\"")) << other.err;
    EXPECT_EQ(other.out, "");
  }
  const Ended usage = run({folder_.path("bin/heddle"), {"exec", "/bin/true"}});
  EXPECT_EQ(usage.code, 64);
}

// JAIL-13: what was applied, what is weaker.
TEST_F(Exec, ExplainsWhatWasApplied) {
  const Ended explained = exec("", {"/bin/true"}, true);
  EXPECT_EQ(explained.code, 0);
  EXPECT_EQ(explained.out, "");
  for (const char* part : {"Landlock ABI", "namespaces: user, pid, mount, ipc, uts", "weaker", "MiB data",
                           "starts no other program", "denied: nothing that was seen"}) {
    EXPECT_TRUE(has(explained.err, part)) << part << " in " << explained.err;
  }
  EXPECT_EQ(exec("", {"/bin/true"}).err, "");
  EXPECT_TRUE(has(exec("namespaces = \"off\"\n", {"/bin/true"}, true).err, "none, as the policy says"));
}

// "denied: …WHAT…" and the lines after it that belong to it.
std::string told_of(const std::string& err, const std::string& what) {
  constexpr std::string_view kDenied = "heddle: denied: ";
  for (std::size_t at = err.find(kDenied); at != std::string::npos; at = err.find(kDenied, at + 1)) {
    if (!has(err.substr(at, err.find('\n', at) - at), what)) continue;
    std::size_t end = err.find('\n', at) + 1;
    while (err.compare(end, 10, "heddle:   ") == 0) end = err.find('\n', end) + 1;
    return err.substr(at, end - at);
  }
  return {};
}

// JAIL-14: who reads a denial knows what to change. Followed to the letter: each key that it names replaces the line of
// that key.
class Followed : public Exec {
 protected:
  // "under [paths] in FILE: read = [\"/a\"]", "at the top of FILE: allow_exec = true"; several after one another.
  static void follow(const std::string& told, std::map<std::string, std::string>& policy) {
    static const std::regex kChange(R"((under \[(\w+)\] in|at the top of) \S+: (\w+) = (\[.*\]|[^;\n]+))");
    for (std::sregex_iterator at(told.begin(), told.end(), kChange), end; at != end; ++at) {
      const std::string table = (*at)[2].str();
      policy[(table.empty() ? "" : table + ".") + (*at)[3].str()] = (*at)[4].str();
    }
  }
  static std::string text_of(const std::map<std::string, std::string>& policy) {
    std::string text;
    for (const auto& [key, value] : policy) ((text += key) += " = ") += value + "\n";
    return text;
  }
};

// JAIL-14: python3 and a file that it may not read.
TEST_F(Followed, PythonAndAFile) {
  const std::string file = folder_.path("data/file");
  const std::vector<std::string> command = {"/usr/bin/python3", "-c", "print(open('" + file + "').read())"};
  if (!fs::exists(command[0])) GTEST_SKIP() << "no python3 here";
  EXPECT_EQ(run({command[0], {command[1], command[2]}}).code, 0);
  const Ended denied = exec("", command, true);
  EXPECT_EQ(denied.code, 1);
  const std::string told = told_of(denied.err, "openat \"" + file + "\" for reading");
  EXPECT_TRUE(has(told, "by Landlock")) << denied.err;
  std::map<std::string, std::string> policy;
  follow(told, policy);
  EXPECT_EQ(text_of(policy), "paths.read = [\"" + file + "\"]\n") << told;
  const Ended followed = exec(text_of(policy), command, true);
  EXPECT_EQ(followed.code, 0) << followed.err;
  EXPECT_EQ(followed.out, "content\n\n");
  EXPECT_EQ(told_of(followed.err, file), "");
}

// JAIL-14: what stands in the policy stays there, and a file whose mode is against it says so.
TEST_F(Followed, TheWholeLineIsGivenAndModesAreNamed) {
  const std::string command = "read x < " + folder_.path("data/file") + "; echo y > " + folder_.path("work/made");
  const Ended denied = exec("paths.read = [\"/usr/share\"]\n", {"/bin/sh", "-c", command}, true);
  std::map<std::string, std::string> policy;
  follow(told_of(denied.err, "data/file\" for reading"), policy);
  EXPECT_EQ(policy["paths.read"], "[\"/usr/share\", " + quoted("data/file") + "]") << denied.err;
  follow(told_of(denied.err, "work/made\" for writing"), policy);
  EXPECT_EQ(policy["paths.write"], "[" + quoted("work") + "]") << denied.err;
  const Ended followed = exec(text_of(policy), {"/bin/sh", "-c", command}, true);
  EXPECT_EQ(followed.code, 0) << followed.err;
  if (::geteuid() != 0) return;  // whoever made the file may read it
  fs::permissions(folder_.path("data/file"), fs::perms(0600));
  const Ended closed = exec(text_of(policy), {"/bin/sh", "-c", command}, true);
  EXPECT_NE(closed.code, 0);
  EXPECT_TRUE(has(told_of(closed.err, "data/file"), "chmod o+r " + folder_.path("data/file"))) << closed.err;
}

// JAIL-5, JAIL-14: curl dialling out. Control: it reaches a socket that listens and never answers.
TEST_F(Followed, CurlAndTheNetwork) {
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listening, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listening, 4), 0);
  ASSERT_EQ(::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  std::vector<std::string> command = {"/usr/bin/curl", "-s", "-m", "1", "http://127.0.0.1:" + port + "/"};
  int reached = 28;  // CURLE_OPERATION_TIMEDOUT
  if (!fs::exists(command[0])) {
    command = {"/usr/bin/python3", "-c", "import socket; socket.create_connection(('127.0.0.1', " + port + "))"};
    reached = 0;
  }
  if (!fs::exists(command[0])) GTEST_SKIP() << "neither curl nor python3 here";
  EXPECT_EQ(run({command[0], {command.begin() + 1, command.end()}}).code, reached);
  const Ended denied = exec("", command, true);
  EXPECT_NE(denied.code, 0);
  EXPECT_NE(denied.code, reached);
  const std::string told = told_of(denied.err, "socket(AF_INET)");
  EXPECT_TRUE(has(told, "no line of a policy allows it")) << denied.err;
  // Without --explain: that there is something to explain.
  const Ended plain = exec("", command);
  EXPECT_TRUE(has(plain.err, "run again with --explain")) << plain.err;
  ::close(listening);
}

// JAIL-14: a call that a signal handler comes into is one call, told once.
TEST_F(Followed, CallsUnderASignalHandlerAreToldOnce) {
  if (!fs::exists("/usr/bin/python3")) GTEST_SKIP() << "no python3 here";
  // The flag is looked at before the program, which is not there.
  constexpr unsigned kWaitKillable = 1U << 5U;
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | kWaitKillable, nullptr) < 0 &&
      errno == EINVAL) {
    GTEST_SKIP() << "this kernel cannot (before Linux 5.19)";
  }
  const std::string loop = R"(
import ctypes, errno, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
file = sys.argv[1].encode()
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
seen = {errno.errorcode[ctypes.get_errno()] for _ in range(20000) if libc.open(file, os.O_RDONLY) < 0}
signal.setitimer(signal.ITIMER_REAL, 0)
print(seen)
)";
  const std::string file = folder_.path("data/file");
  const Ended denied = exec("", {"/usr/bin/python3", "-c", loop, file}, true);
  EXPECT_EQ(denied.code, 0) << denied.err;
  EXPECT_EQ(denied.out, "{'EACCES'}\n");
  EXPECT_TRUE(has(denied.err, "denied: openat \"" + file + "\" for reading, 20000 times")) << denied.err;
}

// JAIL-8, JAIL-9, JAIL-14: a fork bomb. Where the host has control groups it is known to have hit the limit.
TEST_F(Followed, AForkBomb) {
  const std::string bomb = "i=0; while [ $i -lt 15 ]; do sleep 5 & i=$((i+1)); done";
  std::map<std::string, std::string> policy = {{"allow_exec", "true"},
                                               {"paths.execute", "[\"/usr/bin\"]"},
                                               {"environment.PATH", "\"/usr/bin\""},
                                               {"limits.processes", "10"},
                                               {"limits.wall_clock", "\"20s\""}};
  EXPECT_EQ(run({"/bin/sh", {"-c", bomb}}).code, 0);
  const Ended denied = exec(text_of(policy), {"/bin/sh", "-c", bomb}, true);
  EXPECT_NE(denied.code, 0);
  const bool known = !has(denied.err, "pids.max: not applied");
  EXPECT_EQ(told_of(denied.err, "a new process").empty(), !known) << denied.err;
  EXPECT_EQ(has(denied.err, "was refused"), known) << denied.err;
  follow(denied.err.substr(denied.err.find("processes = 10")), policy);
  EXPECT_EQ(policy["limits.processes"], "20") << denied.err;
  const Ended followed = exec(text_of(policy), {"/bin/sh", "-c", bomb}, true);
  EXPECT_EQ(followed.code, 0) << followed.err;
}

// JAIL-14: cc -c with the policy of docs/guide/policy.md; and with less, following what is said until it works.
TEST_F(Followed, ACompiler) {
  if (!fs::exists("/usr/bin/cc") || !fs::exists("/usr/include/stdio.h")) GTEST_SKIP() << "no C compiler here";
  const std::string source =
      folder_.write("work/a.c", "#include <stdio.h>\nint main(void) { return puts(\"x\") < 0; }\n");
  fs::permissions(source, fs::perms(0644));
  const std::vector<std::string> command = {"/usr/bin/cc", "-c", source, "-o", folder_.path("work/a.o")};
  std::map<std::string, std::string> policy = {{"allow_exec", "true"},
                                               {"working_directory", quoted("work")},
                                               {"paths.read", "[\"/usr/include\"]"},
                                               {"paths.execute", "[\"/usr/bin\", \"/usr/lib/gcc\"]"},
                                               {"paths.write", "[" + quoted("work") + "]"},
                                               {"environment.PATH", "\"/usr/bin\""},
                                               {"environment.TMPDIR", quoted("work")}};
  const Ended documented = exec(text_of(policy), command, true);
  EXPECT_EQ(documented.code, 0) << documented.err;
  EXPECT_TRUE(fs::exists(folder_.path("work/a.o")));
  fs::remove(folder_.path("work/a.o"));
  for (const char* key : {"paths.read", "paths.execute", "paths.write"}) policy.erase(key);
  Ended ended = exec(text_of(policy), command, true);
  EXPECT_NE(ended.code, 0);
  for (int rounds = 0; rounds < 60 && ended.code != 0; ++rounds) {
    std::map<std::string, std::string> next = policy;
    for (std::size_t at = ended.err.find("to allow "); at != std::string::npos;
         at = ended.err.find("to allow ", at + 1)) {
      const std::string line = ended.err.substr(at, ended.err.find('\n', at) - at);
      if (has(line, "under [paths]")) follow(line, next);
    }
    ASSERT_NE(next, policy) << ended.err;
    policy = next;
    ended = exec(text_of(policy), command, true);
  }
  EXPECT_EQ(ended.code, 0) << ended.err << text_of(policy);
  EXPECT_TRUE(fs::exists(folder_.path("work/a.o")));
}

// JAIL-14: many different files, more than wait at a time: the host looks often enough, or says what it missed.
TEST_F(Followed, NothingIsLostInSilence) {
  const std::string script = "i=0; while [ $i -lt 3000 ]; do : < " + folder_.path("data/file") +
                             "; : < /etc/hostname; i=$((i+1)); done 2>/dev/null; exit 3";
  const Ended ended = exec("", {"/bin/bash", "-c", script}, true);
  EXPECT_EQ(ended.code, 3);
  EXPECT_TRUE(has(told_of(ended.err, "data/file\" for reading"), "3000 times")) << ended.err;
  EXPECT_FALSE(has(ended.err, "were not kept")) << ended.err;
}

// JAIL-12
TEST_F(Exec, CtrlCEndsIt) {
  Process process(launch("", {"/bin/sh", "-c", "trap '' INT TERM; echo up; while :; do :; done"}));
  EXPECT_EQ(process.line(), "up");
  process.signal(SIGINT);
  EXPECT_EQ(process.finish().code, 130);
}

// JAIL-12
TEST_F(Exec, SigkillOfTheCommandLeavesNothing) {
  Process process(launch("", {"/bin/sh", "-c", "echo up; while :; do :; done"}));
  EXPECT_EQ(process.line(), "up");
  process.signal(SIGKILL);
  EXPECT_EQ(process.finish().code, 128 + SIGKILL);
  EXPECT_TRUE(gone_within(running_below(folder_.path("")), std::chrono::seconds(10)));
}

// JAIL-11: no stub, or one that is not to be trusted: nothing runs.
TEST_F(Exec, WithoutATrustedStubNothingRuns) {
  EXPECT_EQ(exec("", {"/bin/echo", "ran"}).out, "ran\n");
  fs::permissions(folder_.path("libexec/heddle/heddle-exec-stub"), fs::perms(0777));
  const Ended writable = exec("", {"/bin/echo", "ran"});
  EXPECT_EQ(writable.code, 125);
  EXPECT_EQ(writable.out, "");
  fs::remove(folder_.path("libexec/heddle/heddle-exec-stub"));
  EXPECT_EQ(exec("", {"/bin/echo", "ran"}).code, 125);
}

// JAIL-11, JAIL-16: a stub that says that it is ready and has loaded no filter is told nothing.
TEST_F(Exec, AStubThatIsNotConfinedIsNotBelieved) {
  fs::remove(folder_.path("libexec/heddle/heddle-exec-stub"));
  put(HEDDLE_TEST_LIBEXEC "/heddle-test-bare", "libexec/heddle/heddle-exec-stub");
  const Ended refused = exec("", {"/bin/echo", "ran"});
  EXPECT_EQ(refused.code, 125);
  EXPECT_EQ(refused.out, "");
  EXPECT_TRUE(has(refused.err, "no system call filter")) << refused.err;
}

}  // namespace
}  // namespace heddle::test

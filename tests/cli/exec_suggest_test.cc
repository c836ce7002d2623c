// What heddle exec suggests after a refusal: quoted, narrow, true of what is there, and enough when it is followed.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <regex>

#include "exec_fixture.h"

namespace heddle::test {
namespace {

class Suggested : public Exec {
 protected:
  // The last line of each list of paths that `told` names, for a policy.
  static std::string lines_of(const std::string& told) {
    static const std::regex kLine(R"(under \[paths\] in \S+: (read|write|execute) = (\[.*\])\n)");
    std::string read;
    std::string write;
    for (std::sregex_iterator at(told.begin(), told.end(), kLine), end; at != end; ++at) {
      if ((*at)[1] == "read") read = "paths.read = " + (*at)[2].str() + "\n";
      if ((*at)[1] == "write") write = "paths.write = " + (*at)[2].str() + "\n";
    }
    return read + write;
  }
  static std::vector<std::string> commands_of(const std::string& told) {
    static const std::regex kCommand(R"(heddle:   and for [a-z ]+: (chmod .*)\n)");
    std::vector<std::string> commands;
    for (std::sregex_iterator at(told.begin(), told.end(), kCommand), end; at != end; ++at) {
      commands.push_back((*at)[1]);
    }
    return commands;
  }
};

// JAIL-22, EXE-2: pr-suggest-dev.
TEST_F(Suggested, StreamsOfItsOwnAreNoFiles) {
  for (const char* stream : {"/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2", "/proc/self/fd/1"}) {
    const std::string script = std::string("echo x > ") + stream;
    const Ended control = run({"/bin/sh", {"-c", script}});
    const Ended ended = exec("", {"/bin/sh", "-c", script}, true);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.out, control.out) << stream;
    EXPECT_TRUE(has(ended.err, "denied: nothing that was seen")) << ended.err;
    EXPECT_EQ(has(ended.err, "\nx\n"), control.err == "x\n") << ended.err;
  }
  const Ended in =
      run(launch("stdio.stdin = \"inherit\"\n", {"/bin/sh", "-c", "read a </dev/stdin; echo $a"}), "given\n");
  EXPECT_EQ(in.out, "given\n") << in.err;
  for (const char* where : {"/dev/nothing", "/nothing"}) {
    const Ended made = exec("", {"/bin/sh", "-c", std::string("echo x > ") + where}, true);
    EXPECT_NE(made.code, 0);
    EXPECT_TRUE(has(made.err, "no line is suggested")) << made.err;
    EXPECT_FALSE(has(made.err, "[\"/dev\"]") || has(made.err, "[\"/\"]") || has(made.err, "chmod")) << made.err;
  }
}

// JAIL-22: pr-suggest-proc.
TEST_F(Suggested, ProcessesAreNotNamedByNumber) {
  for (const char* script : {"read x < /proc/mounts", "read x < /proc/self/status", "read x < /proc/$$/status"}) {
    EXPECT_EQ(run({"/bin/sh", {"-c", script}}).code, 0);
    const Ended denied = exec("", {"/bin/sh", "-c", script}, true);
    EXPECT_NE(denied.code, 0);
    const std::string lines = lines_of(denied.err);
    EXPECT_EQ(lines, "paths.read = [\"/proc\"]\n") << denied.err;
    EXPECT_EQ(exec(lines, {"/bin/sh", "-c", script}).code, 0) << script;
  }
  const Ended root = exec("", {"/bin/ls", "/"}, true);
  EXPECT_NE(root.code, 0);
  EXPECT_FALSE(has(root.err, "\"/\"]")) << root.err;
  EXPECT_FALSE(std::regex_search(root.err, std::regex("= \\[.*/proc/[0-9]"))) << root.err;
}

// JAIL-22: pr-suggest-quote. All of it is pasted into a shell, line by line; and then followed.
TEST_F(Suggested, NamesAreQuotedOrWithheld) {
  const std::string folder = folder_.path("data/");
  const std::vector<std::string> names = {"a;touch pasted;#",
                                          "$(touch pasted)",
                                          "`touch pasted`",
                                          "b\ntouch pasted\n",
                                          "q'\"'u\"o\\",
                                          "e\x1B[31m\xE2\x80\xAEz",
                                          "!touch",
                                          "-rf",
                                          "*",
                                          " x "};
  for (const std::string& name : names) {
    std::ofstream(folder + name) << "x\n";
    fs::permissions(folder + name, fs::perms(0644));
  }
  std::vector<std::string> command = {"/bin/cat"};
  for (const std::string& name : names) command.push_back(folder + name);
  EXPECT_EQ(run({command[0], {command.begin() + 1, command.end()}}).code, 0);
  const Ended denied = exec("", command, true);
  EXPECT_NE(denied.code, 0);
  // As somebody may copy it, with the word before it and without.
  std::string pasted;
  for (const std::string& line : split_lines(denied.err)) {
    constexpr std::string_view kWord = "heddle: ";
    if (line.compare(0, kWord.size(), kWord) != 0) continue;  // the program's own
    const std::string rest = line.substr(kWord.size());
    const std::size_t colon = rest.find("= [");
    for (const std::string& text : {line, rest, colon == std::string::npos ? rest : rest.substr(colon + 2)}) {
      pasted += text + "\n";
    }
  }
  const std::string empty = folder_.path("work");
  (void)run({"/bin/bash", {"-c", "cd " + empty + " && exec /bin/bash -i 2>/dev/null"}}, pasted);
  (void)run({"/bin/sh", {"-c", "cd " + empty + " && exec /bin/sh"}}, pasted);
  EXPECT_TRUE(fs::is_empty(empty)) << pasted;
  const Ended followed = exec(lines_of(denied.err), command, true);
  EXPECT_EQ(followed.code, 0) << followed.err << lines_of(denied.err);
  // The control: names as they are do what they say.
  (void)run({"/bin/sh", {"-c", "cd " + empty + " && exec /bin/sh"}}, "cat " + names[0] + "\n");
  EXPECT_TRUE(fs::exists(folder_.path("work/pasted")));
}

// JAIL-22: pr-suggest-mode. The commands are run as they are, and then it works.
TEST_F(Suggested, ModesAreOfTheRightFile) {
  const std::string name = folder_.path("data/it's closed");
  std::ofstream(name) << "content\n";
  fs::permissions(name, fs::perms(0));
  fs::permissions(folder_.path("work"), fs::perms(::geteuid() == 0 ? 0755 : 0555));
  const std::string policy = "paths.read = [" + quoted("data") + "]\npaths.write = [" + quoted("work") + "]\n";
  const std::vector<std::string> command = {"/bin/sh", "-c", "read x < \"$1\" && echo y > $2",
                                            "sh",      name, folder_.path("work/made")};
  for (int round = 0; round < 2; ++round) {
    const Ended denied = exec(policy, command, true);
    EXPECT_NE(denied.code, 0);
    const std::vector<std::string> commands = commands_of(denied.err);
    ASSERT_EQ(commands.size(), 1U) << denied.err;
    EXPECT_TRUE(has(commands[0], ::geteuid() == 0 ? "chmod o+" : "chmod u+")) << commands[0];
    EXPECT_EQ(run({"/bin/sh", {"-c", commands[0]}}).code, 0) << commands[0];
  }
  EXPECT_EQ(exec(policy, command, true).code, 0);
  EXPECT_EQ(fs::status(folder_.path("work")).permissions(), fs::perms(::geteuid() == 0 ? 0757 : 0755));
  EXPECT_EQ(fs::status(name).permissions(), fs::perms(::geteuid() == 0 ? 0004 : 0400));
}

// JAIL-22: what is not there is not suggested.
TEST_F(Suggested, OnlyWhatIsThereIsNamed) {
  const Ended none = exec("", {"/bin/sh", "-c", "/no/such/program"}, true);
  EXPECT_TRUE(has(none.err, "to allow it: nothing: there is no such program")) << none.err;
  EXPECT_FALSE(has(none.err, "execute = ")) << none.err;
  const Ended link = exec("", {"/bin/sh", "-c", "/bin/ls"}, true);
  EXPECT_TRUE(has(link.err, "execute = [\"" + fs::canonical("/bin/ls").string() + "\"]")) << link.err;
}

}  // namespace
}  // namespace heddle::test

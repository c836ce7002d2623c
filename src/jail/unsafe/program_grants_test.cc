#include "heddle/jail/unsafe/program_grants.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "heddle/jail/confine/landlock.h"
#include "testing/elf_file.h"
#include "testing/swapper.h"

namespace heddle::jail {
namespace {

namespace fs = std::filesystem;

// The program is a copy of a real one whose interpreter is what the test wants.
class ProgramGrantsTest : public ::testing::Test {
 protected:
  ProgramGrantsTest() {
    char folder[] = "/tmp/heddle-program-XXXXXX";
    EXPECT_NE(::mkdtemp(folder), nullptr);
    folder_ = fs::canonical(folder).string();
    fs::create_directories(folder_ + "/a/b");
    real_loader_ = fs::canonical(interpreter_of(bytes_of("/bin/echo"))).string();
    put("loader", bytes_of(real_loader_), 0555);
  }
  ~ProgramGrantsTest() override { fs::remove_all(folder_); }

  std::string put(const std::string& name, const std::string& bytes, unsigned mode) const {
    std::string path = folder_ + "/" + name;
    fs::remove(path);
    std::ofstream(path, std::ios::binary) << bytes;
    fs::permissions(path, fs::perms(mode));
    return path;
  }
  [[nodiscard]] core::Result<ProgramGrants> open(const std::string& interpreter, const ProgramNeeds& needs = {}) const {
    const std::string path = put("program", with_interpreter(bytes_of("/bin/echo"), interpreter), 0755);
    return ProgramGrants::open({core::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path, path}, needs);
  }
  [[nodiscard]] core::Error refusal(const std::string& interpreter, const ProgramNeeds& needs = {}) const {
    const auto opened = open(interpreter, needs);
    return opened.ok() ? core::Error{} : opened.error();
  }

  std::string folder_;
  std::string real_loader_;
};

// JAIL-2, JAIL-17: control of those below.
TEST_F(ProgramGrantsTest, TheInterpreterIsOpenedAndKept) {
  for (const std::string& name : {folder_ + "/loader", real_loader_}) {
    const auto opened = open(name);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    ASSERT_TRUE(opened.value().loader());
    EXPECT_EQ(opened.value().loader()->path(), name);
  }
  fs::create_symlink(real_loader_, folder_ + "/link");
  EXPECT_EQ(open(folder_ + "/link").value().loader()->path(), real_loader_);
}

// JAIL-17: each named, and none waits.
TEST_F(ProgramGrantsTest, AnInterpreterThatMayNotBeIsNamed) {
  const std::string bytes = bytes_of(real_loader_);
  ASSERT_EQ(::mkfifo((folder_ + "/fifo").c_str(), 0444), 0);
  fs::create_symlink("/", folder_ + "/link");
  std::string core_file = bytes;
  core_file[offsetof(Elf64_Ehdr, e_type)] = ET_CORE;
  std::string small = bytes;
  small[EI_CLASS] = ELFCLASS32;
  const struct {
    const char* what;
    std::string interpreter;
  } rows[] = {{"absolute", "loader"},
              {"absolute", "./loader"},
              {"absolute", "link"},
              {"No such file", folder_ + "/none"},
              {"regular", folder_ + "/link"},
              {"regular", folder_},
              {"regular", folder_ + "/fifo"},
              {"regular", "/dev/null"},
              {"ELF", put("script", "#!/bin/sh\n", 0555)},
              {"ELF", put("core", core_file, 0555)},
              {"ELF", put("small", small, 0555)},
              {"ELF", put("short", bytes.substr(0, 20), 0555)},
              {"written by the user", put("group", bytes, 0775)},
              {"written by the user", put("all", bytes, 0757)}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.interpreter);
    const core::Error error = refusal(row.interpreter);
    EXPECT_EQ(error.step, ProgramGrants::step());
    EXPECT_NE(error.context.find(row.what), std::string::npos) << error.context;
    EXPECT_NE(error.context.find(row.interpreter), std::string::npos) << error.context;
  }
  EXPECT_NE(refusal("").context.find("damaged"), std::string::npos);
}

// JAIL-17: its owner may write it, where that is whom the guest runs as: this user, or for root anybody else.
TEST_F(ProgramGrantsTest, AnInterpreterOfTheGuestsUserIsRefused) {
  const std::string own = put("own", bytes_of(real_loader_), 0755);
  if (::geteuid() == 0) {
    EXPECT_TRUE(open(own).ok());
    ASSERT_EQ(::chown(own.c_str(), 59321, 59321), 0);
  }
  EXPECT_NE(refusal(own).context.find("written by the user"), std::string::npos);
  fs::permissions(own, fs::perms(0555));
  EXPECT_TRUE(open(own).ok()) << refusal(own).message();
}

// JAIL-17: and what a line of the policy lets the program write, whatever the modes say.
TEST_F(ProgramGrantsTest, AnInterpreterThatThePolicyLetsItWriteIsRefused) {
  const std::string inside = put("a/b/loader", bytes_of(real_loader_), 0555);
  ASSERT_EQ(::link(inside.c_str(), (folder_ + "/other-name").c_str()), 0);
  ProgramNeeds needs;
  for (const char* granted : {"/a/b/loader", "/a/b", "/a", "", "/other-name"}) {
    needs.paths = {{folder_ + granted, Access::write}};
    EXPECT_NE(refusal(inside, needs).context.find("written by the program"), std::string::npos) << granted;
    needs.paths = {{folder_ + granted, Access::read}};
    EXPECT_TRUE(open(inside, needs).ok()) << granted;
  }
  needs.paths = {{folder_ + "/a", Access::write}};
  EXPECT_TRUE(open(folder_ + "/loader", needs).ok());
}

// JAIL-17: an earlier run could have made the link. Controls: a link that leads nowhere else, and one that it cannot
// have made.
TEST_F(ProgramGrantsTest, AGrantThroughALinkThatTheProgramMayHaveMadeIsRefused) {
  fs::create_symlink("/usr/share", folder_ + "/a/out");
  fs::create_symlink(folder_ + "/a/b", folder_ + "/a/in");
  ProgramNeeds needs;
  for (const Access access : {Access::read, Access::write}) {
    needs.paths = {{folder_ + "/a/out", access}, {folder_ + "/a", Access::write}};
    const core::Error error = refusal(real_loader_, needs);
    EXPECT_EQ(error.code, core::Errc::invalid_argument);
    EXPECT_NE(error.context.find(folder_ + "/a/out"), std::string::npos) << error.context;
    EXPECT_NE(error.context.find("/usr/share"), std::string::npos) << error.context;
    needs.paths = {{folder_ + "/a/in", access}, {folder_ + "/a", Access::write}};
    EXPECT_TRUE(open(real_loader_, needs).ok());
    needs.paths = {{folder_ + "/a/out", access}, {folder_ + "/a/b", Access::write}};
    EXPECT_TRUE(open(real_loader_, needs).ok());
  }
}

// The errno of opening each path for reading, in a process that the ruleset holds.
std::vector<int> opens_under(const Policy& policy, const std::vector<std::string>& paths) {
  const core::FdPair pipe = core::pipe_pair().value();
  const pid_t child = ::fork();
  if (child == 0) {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || landlock_enforce(policy.ruleset().get()) != 0) ::_exit(1);
    for (const std::string& path : paths) {
      const int error = ::open(path.c_str(), O_RDONLY | O_CLOEXEC) < 0 ? errno : 0;
      if (::write(pipe.second.get(), &error, sizeof error) != static_cast<ssize_t>(sizeof error)) ::_exit(1);
    }
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::vector<int> errors(paths.size(), -1);
  for (int& error : errors)
    EXPECT_EQ(::read(pipe.first.get(), &error, sizeof error), static_cast<ssize_t>(sizeof error));
  return errors;
}

// The errno of executing a program, and 0 where it ran and succeeded, in a process that the ruleset holds.
int executes_under(const Policy& policy, std::string program) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || landlock_enforce(policy.ruleset().get()) != 0) ::_exit(255);
    char* arguments[] = {program.data(), nullptr};
    char* none[] = {nullptr};
    ::execve(program.c_str(), arguments, none);
    ::_exit(errno);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

// JAIL-17: what a name leads to between the look and the grant does not matter.
TEST_F(ProgramGrantsTest, WhatWasLookedAtIsWhatIsGranted) {
  if (landlock_abi() < 0) GTEST_SKIP() << "no Landlock here";
  for (const char* place : {"/a/data", "/other/data"}) fs::create_directories(folder_ + place);
  put("a/data/file", "x", 0644);
  put("other/data/file", "x", 0644);
  put("beside", "x", 0644);
  const auto turn = [&](const char* link, const std::string& target) {
    fs::remove(folder_ + link);
    fs::create_symlink(target, folder_ + link);
  };
  turn("/turning", folder_ + "/loader");
  turn("/parent", folder_ + "/a");
  ProgramNeeds needs;
  needs.paths = {{folder_ + "/parent/data", Access::read}};
  const auto grants = open(folder_ + "/turning", needs);
  ASSERT_TRUE(grants.ok()) << grants.error().message();
  turn("/turning", "/");
  turn("/parent", folder_ + "/other");
  const Program stub = open_program("/proc/self/exe").value();
  const auto policy = UnsafePolicy::program(stub, grants.value(), needs);
  ASSERT_TRUE(policy.ok()) << policy.error().message();
  const std::vector<int> expected = {0, 0, EACCES, EACCES, EACCES};
  EXPECT_EQ(opens_under(policy.value(), {folder_ + "/loader", folder_ + "/a/data/file", folder_ + "/other/data/file",
                                         folder_ + "/beside", "/"}),
            expected);
  needs.paths = {{folder_, Access::read}};
  const Policy control = UnsafePolicy::program(stub, open(folder_ + "/loader", needs).value(), needs).value();
  EXPECT_EQ(opens_under(control, {folder_ + "/other/data/file", folder_ + "/beside"}), (std::vector<int>{0, 0}));
}

constexpr int kRounds = 1000;
constexpr int kMostRounds = 1'000'000;  // until both were met

// JAIL-17: a file, and that one; or not started.
TEST_F(ProgramGrantsTest, AnInterpreterThatIsSwappedIsThatFileOrNone) {
  fs::create_symlink("/", folder_ + "/turning");
  const std::string path = put("program", with_interpreter(bytes_of("/bin/echo"), folder_ + "/turning"), 0755);
  const core::Fd program(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat loader {};
  ASSERT_EQ(::stat((folder_ + "/loader").c_str(), &loader), 0);
  const Swapper swapper(folder_ + "/turning", folder_ + "/loader", "/");
  int started = 0;
  int refused = 0;
  for (int round = 0; round < kRounds || (round < kMostRounds && (started == 0 || refused == 0)); ++round) {
    const auto opened = ProgramGrants::open({program.duplicate().value(), path, path}, {});
    if (!opened.ok()) {
      ASSERT_EQ(opened.error().step, ProgramGrants::step());
      ++refused;
      continue;
    }
    struct stat granted {};
    ASSERT_EQ(::fstat(opened.value().loader()->fd().get(), &granted), 0);
    ASSERT_TRUE(S_ISREG(granted.st_mode));
    ASSERT_EQ(granted.st_ino, loader.st_ino);
    ++started;
  }
  EXPECT_GT(started, 0);
  EXPECT_GT(refused, 0);
}

// JAIL-17: what is granted is what is said, whichever it was.
TEST_F(ProgramGrantsTest, AGrantBelowASwappedFolderIsWhatWasOpened) {
  fs::create_directories(folder_ + "/other/data");
  fs::create_directories(folder_ + "/a/data");
  fs::create_symlink(folder_ + "/a", folder_ + "/turning");
  const core::Fd program(::open("/bin/echo", O_RDONLY | O_CLOEXEC));
  const std::string places[] = {folder_ + "/a/data", folder_ + "/other/data"};
  struct stat infos[2] = {};
  for (int i = 0; i < 2; ++i) ASSERT_EQ(::stat(places[i].c_str(), &infos[i]), 0);
  ProgramNeeds needs;
  needs.paths = {{folder_ + "/turning/data", Access::write}};
  const Swapper swapper(folder_ + "/turning", folder_ + "/a", folder_ + "/other");
  int met[2] = {};
  for (int round = 0; round < kRounds || (round < kMostRounds && (met[0] == 0 || met[1] == 0)); ++round) {
    const auto opened = ProgramGrants::open({program.duplicate().value(), "/bin/echo", "/bin/echo"}, needs);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    const OpenedPath& object = opened.value().paths().front().object;
    const int which = object.path() == places[0] ? 0 : 1;
    ASSERT_EQ(object.path(), places[which]);
    struct stat granted {};
    ASSERT_EQ(::fstat(object.fd().get(), &granted), 0);
    ASSERT_EQ(granted.st_ino, infos[which].st_ino);
    ++met[which];
  }
  EXPECT_GT(met[0], 0);
  EXPECT_GT(met[1], 0);
}

// A script's first line, as the kernel reads it. The interpreter is granted in each row, so that all of it is walked.
class ScriptGrantsTest : public ProgramGrantsTest {
 protected:
  [[nodiscard]] core::Result<ProgramGrants> script(const std::string& bytes, ProgramNeeds needs = {}) const {
    const std::string path = put("script", bytes, 0755);
    needs.subprocesses = Subprocesses::allowed;
    needs.paths.push_back({folder_, Access::execute});
    needs.paths.push_back({"/usr/bin", Access::execute});
    return ProgramGrants::open({core::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path, "/name"}, needs);
  }
};

// EXE-1: execve(2), "Interpreter scripts". The control is what the kernel hands to the same program.
TEST_F(ScriptGrantsTest, AreReadAsTheKernelReadsThem) {
  const std::string echo = fs::canonical("/bin/echo").string();
  const std::string lines[] = {"#!" + echo + "\n",
                               "#!" + echo,
                               "#! \t" + echo + "  \n",
                               "#!" + echo + " one\n",
                               "#!" + echo + " \tone two \t three \t\n",
                               "#!" + echo + " " + std::string(300, 'x') + "\n",
                               "#!" + echo + " one" + std::string(1, '\0') + "two\n",
                               "#!" + echo + std::string(1, '\0') + " one\n",
                               "#! " + echo + "  one  two "};
  for (const std::string& line : lines) {
    SCOPED_TRACE(line);
    const auto opened = script(line + (line.back() == '\n' ? "text\n" : ""));
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    std::string ours;
    const std::vector<std::string>& words = opened.value().leading();
    for (std::size_t i = 1; i < words.size(); ++i) (ours += words[i]) += i + 1 == words.size() ? "\n" : " ";
    FILE* const kernel = ::popen((folder_ + "/script").c_str(), "r");
    char text[1024] = {};
    ASSERT_NE(kernel, nullptr);
    ASSERT_NE(::fgets(text, sizeof text, kernel), nullptr);
    ::pclose(kernel);
    std::string theirs = text;
    theirs.replace(theirs.rfind(folder_ + "/script"), folder_.size() + 7, "/name");
    EXPECT_EQ(ours, theirs);
    EXPECT_EQ(words.front(), echo);
    EXPECT_EQ(opened.value().program_path(), echo);
    EXPECT_TRUE(opened.value().loader());
  }
}

// EXE-1: what the kernel refuses, and what would have the caller's folder choose.
TEST_F(ScriptGrantsTest, OrAreNamed) {
  const struct {
    const char* what;
    std::string bytes;
  } rows[] = {{"names no interpreter", "#!\n"},
              {"names no interpreter", "#! \t \n/bin/sh"},
              {"too long", "#!/" + std::string(300, 'x') + "\n"},
              {"not an absolute path", "#!sh\n"},
              {"not an absolute path", "#!./sh x\n"},
              {"No such file", "#!/bin/sh\r\n"},
              {"regular", "#!/usr\n"},
              {"without end", "#!" + folder_ + "/script\n"},
              {"neither", "plain text\n"},
              {"neither", ""}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.bytes);
    const auto opened = script(row.bytes);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().step, ProgramGrants::step());
    EXPECT_NE(opened.error().context.find(row.what), std::string::npos) << opened.error().context;
  }
}

// JAIL-17: the interpreter of a #! line is granted by the policy or not at all; with it each that is a script itself.
TEST_F(ScriptGrantsTest, NeedAGrantForEachInterpreter) {
  put("inner", "#!/bin/cat -u\n", 0755);
  const std::string path = put("script", "#!" + folder_ + "/inner x y\n", 0755);
  const auto open_with = [&](std::vector<PathGrant> paths, Subprocesses subprocesses) {
    ProgramNeeds needs;
    needs.paths = std::move(paths);
    needs.subprocesses = subprocesses;
    return ProgramGrants::open({core::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path, path}, needs);
  };
  const std::string cat = fs::canonical("/bin/cat").string();
  for (const Subprocesses subprocesses : {Subprocesses::none, Subprocesses::allowed}) {
    const auto ungranted = open_with({{folder_, Access::read}, {cat, Access::read}}, subprocesses);
    ASSERT_TRUE(ungranted.ok()) << ungranted.error().message();
    ASSERT_TRUE(ungranted.value().ungranted());
    EXPECT_EQ(ungranted.value().ungranted()->path(), folder_ + "/inner");
    EXPECT_FALSE(UnsafePolicy::program(open_program("/proc/self/exe").value(), ungranted.value(), {}).ok());
    EXPECT_EQ(open_with({{folder_ + "/inner", Access::execute}}, subprocesses).value().ungranted()->path(), cat);
    const auto granted = open_with({{folder_, Access::execute}, {cat, Access::execute}}, subprocesses);
    ASSERT_TRUE(granted.ok()) << granted.error().message();
    EXPECT_FALSE(granted.value().ungranted());
    const std::vector<std::string> leading = {"/bin/cat", "-u", folder_ + "/inner", "x y", path};
    EXPECT_EQ(granted.value().leading(), leading);
  }
  // What holds no interpreter is refused as ever where nothing may be started.
  const auto more = open_with({{folder_, Access::execute}, {cat, Access::execute}, {"/usr/share", Access::execute}},
                              Subprocesses::none);
  ASSERT_FALSE(more.ok());
  EXPECT_NE(more.error().context.find("/usr/share"), std::string::npos);
}

// JAIL-6, JAIL-17: a folder that is granted execute for its sake lets nothing beside it be started. Control: with
// allow_exec it does.
TEST_F(ScriptGrantsTest, StartNothingButTheirInterpreterWithoutAllowExec) {
  if (landlock_abi() < 0) GTEST_SKIP() << "no Landlock here";
  const std::string echo = fs::canonical("/bin/echo").string();
  const std::string path = put("script", "#!" + echo + "\n", 0755);
  for (const Subprocesses subprocesses : {Subprocesses::none, Subprocesses::allowed}) {
    ProgramNeeds needs;
    needs.paths = runtime_files();
    needs.paths.push_back({"/usr/bin", Access::execute});
    needs.subprocesses = subprocesses;
    const auto grants = ProgramGrants::open({core::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path, path}, needs);
    ASSERT_TRUE(grants.ok()) << grants.error().message();
    const Policy policy = UnsafePolicy::program(open_program("/proc/self/exe").value(), grants.value(), needs).value();
    EXPECT_EQ(executes_under(policy, echo), 0);
    EXPECT_EQ(executes_under(policy, "/usr/bin/true"), subprocesses == Subprocesses::none ? EACCES : 0);
    EXPECT_EQ(opens_under(policy, {path, "/usr/bin/true"}), (std::vector<int>{0, 0}));
  }
}

// JAIL-2: what is no program says so.
TEST_F(ProgramGrantsTest, WhatIsNoProgramIsNamed) {
  const auto text = ProgramGrants::open({core::Fd(::open("/etc/passwd", O_RDONLY | O_CLOEXEC)), "/etc/passwd", ""}, {});
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().step, ProgramGrants::step());
}

}  // namespace
}  // namespace heddle::jail

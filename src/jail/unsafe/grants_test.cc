#include "heddle/jail/unsafe/grants.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace heddle::jail {
namespace {

namespace fs = std::filesystem;
using Reason = PathVerdict::Reason;

class GrantsTest : public ::testing::Test {
 protected:
  GrantsTest() {
    char folder[] = "/tmp/heddle-grants-XXXXXX";
    EXPECT_NE(::mkdtemp(folder), nullptr);
    folder_ = fs::canonical(folder).string();
    for (const char* name : {"", "/read", "/write", "/run", "/none"}) {
      fs::create_directory(folder_ + name);
      fs::permissions(folder_ + name, fs::perms(0777));
    }
    for (const char* name : {"/read/file", "/write/file", "/run/program", "/none/file", "/read/secret"}) {
      std::ofstream(folder_ + name) << "x";
      fs::permissions(folder_ + name, fs::perms(0777));
    }
    fs::permissions(folder_ + "/read/secret", fs::perms(0600));
    fs::create_symlink(folder_ + "/none/file", folder_ + "/read/link");
    needs_.paths = {
        {folder_ + "/read", Access::read}, {folder_ + "/write", Access::write}, {folder_ + "/run", Access::execute}};
    needs_.subprocesses = Subprocesses::allowed;
  }
  ~GrantsTest() override { fs::remove_all(folder_); }

  [[nodiscard]] Denial call(const char* name, const std::string& path, std::uint64_t flags = 0) const {
    Denial denial;
    denial.syscall = name;
    denial.left_to_landlock = true;
    denial.object = Denial::Object::path;
    denial.bytes = path.front() == '/' && path.find("/proc") != 0 ? folder_ + path : path;
    denial.arguments[2] = flags;
    return denial;
  }
  [[nodiscard]] PathVerdict judge(const Denial& denial) const {
    core::Fd program(::open("/bin/true", O_RDONLY | O_CLOEXEC));
    return Grants(ProgramGrants::open({std::move(program), folder_ + "/run/program", ""}, needs_).value())
        .judge(denial, 12345, true);
  }
  [[nodiscard]] Reason open(const std::string& path, std::uint64_t flags) const {
    return judge(call("openat", path, flags)).reason;
  }

  std::string folder_;
  ProgramNeeds needs_;
};

// JAIL-14: the reason is the one that Landlock has; the tests of heddle exec compare it with the kernel's.
TEST_F(GrantsTest, JudgesAsLandlockDecides) {
  EXPECT_EQ(open("/read/file", O_RDONLY), Reason::none);
  EXPECT_EQ(open("/write/file", O_RDONLY), Reason::none);
  EXPECT_EQ(open("/run/program", O_RDONLY), Reason::none);
  EXPECT_EQ(open("/none/file", O_RDONLY), Reason::not_granted);
  EXPECT_EQ(open("/none/file", O_PATH), Reason::none);
  EXPECT_EQ(open("/read/file", O_RDWR), Reason::not_granted);
  EXPECT_EQ(open("/read/file", O_WRONLY | O_TRUNC), Reason::not_granted);
  EXPECT_EQ(open("/write/file", O_WRONLY | O_TRUNC), Reason::none);
  EXPECT_EQ(open("/none", O_RDONLY | O_DIRECTORY), Reason::not_granted);
  // What is not there is not refused; what would be made is.
  EXPECT_EQ(open("/none/nothing", O_RDONLY), Reason::absent);
  EXPECT_EQ(open("/none/nothing", O_WRONLY | O_CREAT), Reason::not_granted);
  EXPECT_EQ(open("/none/no/thing", O_WRONLY | O_CREAT), Reason::absent);
  EXPECT_EQ(open("/write/nothing", O_WRONLY | O_CREAT), Reason::none);
  EXPECT_EQ(judge(call("unlink", "/none/file")).reason, Reason::not_granted);
  EXPECT_EQ(judge(call("unlink", "/write/file")).reason, Reason::none);
  EXPECT_EQ(judge(call("mkdir", "/read/folder")).reason, Reason::not_granted);
  EXPECT_EQ(judge(call("execve", "/run/program")).reason, Reason::none);
  EXPECT_EQ(judge(call("execve", "/read/file")).reason, Reason::not_granted);
}

TEST_F(GrantsTest, SaysWhatToGrant) {
  EXPECT_EQ(judge(call("openat", "/none/file")).grant, folder_ + "/none/file");
  EXPECT_EQ(judge(call("openat", "/none/new", O_CREAT | O_WRONLY)).grant, folder_ + "/none");
  EXPECT_EQ(judge(call("unlink", "/none/file")).grant, folder_ + "/none");
  // A symbolic link is granted by what it leads to.
  EXPECT_EQ(judge(call("openat", "/read/link")).grant, folder_ + "/none/file");
  EXPECT_EQ(judge(call("openat", "/read/../none/file")).grant, folder_ + "/none/file");
  Denial relative = call("openat", "file");
  EXPECT_EQ(judge(relative).reason, Reason::unknown);
  relative.folder = folder_ + "/none";
  EXPECT_EQ(judge(relative).grant, folder_ + "/none/file");
  EXPECT_EQ(judge(call("openat", "/proc/self/maps")).grant, "/proc");
}

// The mode of a file decides too, and no line of a policy changes it.
TEST_F(GrantsTest, TellsModesFromGrants) {
  EXPECT_EQ(open("/read/secret", O_RDONLY), Reason::mode);
  needs_.paths.erase(needs_.paths.begin());
  const PathVerdict verdict = judge(call("openat", "/read/secret"));
  EXPECT_EQ(verdict.reason, Reason::not_granted);
  EXPECT_TRUE(verdict.mode_too);
  ASSERT_EQ(verdict.faults.size(), 1U);
  EXPECT_EQ(verdict.faults[0].path, folder_ + "/read/secret");
  EXPECT_EQ(verdict.faults[0].who, 'o');
  EXPECT_EQ(verdict.faults[0].bits, "r");
  EXPECT_FALSE(judge(call("openat", "/read/file")).mode_too);
}

// JAIL-22: the bits that are missing, and only those; of the folder where that is what refuses.
TEST_F(GrantsTest, NamesTheBitsOfTheRightFile) {
  fs::permissions(folder_ + "/write", fs::perms(0755));
  const PathVerdict made = judge(call("openat", "/write/new", O_CREAT | O_WRONLY));
  EXPECT_EQ(made.reason, Reason::mode);
  ASSERT_EQ(made.faults.size(), 1U);
  EXPECT_EQ(made.faults[0].path, folder_ + "/write");
  EXPECT_EQ(made.faults[0].bits, "w");
  fs::permissions(folder_ + "/write", fs::perms(0700));
  fs::permissions(folder_ + "/write/file", fs::perms(0600));
  const PathVerdict deep = judge(call("openat", "/write/file", O_RDWR));
  ASSERT_EQ(deep.faults.size(), 2U);
  EXPECT_EQ(deep.faults[0].path, folder_ + "/write");
  EXPECT_EQ(deep.faults[0].bits, "x");
  EXPECT_EQ(deep.faults[1].path, folder_ + "/write/file");
  EXPECT_EQ(deep.faults[1].bits, "rw");
  fs::permissions(folder_ + "/write", fs::perms(0777));
}

// JAIL-22, EXE-2: streams of the program's own are no files of a policy's; what belongs to a process is /proc's.
TEST_F(GrantsTest, KnowsWhatLeadsToTheProgramItself) {
  const auto absolute = [&](const std::string& path, std::uint64_t flags) {
    Denial denial = call("openat", "/none", flags);
    denial.bytes = path;
    return judge(denial);
  };
  for (const char* path : {"/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/fd/1", "//dev/./stdout",
                           "/dev/../dev/stderr", "/proc/self/fd/1", "/proc/1/fd/2", "/dev/tty"}) {
    EXPECT_EQ(absolute(path, O_WRONLY).reason, Reason::unknown) << path;
    EXPECT_EQ(absolute(path, O_WRONLY | O_CREAT).reason, Reason::unknown) << path;
  }
  for (const char* path :
       {"/proc/mounts", "/proc/self/maps", "/proc/1/status", "/proc/thread-self/stat", "/proc/net"}) {
    EXPECT_EQ(absolute(path, O_RDONLY).grant, "/proc") << path;
  }
  EXPECT_EQ(absolute("/proc/meminfo", O_RDONLY).grant, "/proc/meminfo");
}

// JAIL-22: only what is there is suggested.
TEST_F(GrantsTest, FindsProgramsThatAreThere) {
  EXPECT_EQ(Grants::program_of(call("execve", "/run/program")), folder_ + "/run/program");
  EXPECT_EQ(Grants::program_of(call("execve", "/read/link")), folder_ + "/none/file");
  EXPECT_EQ(Grants::program_of(call("execve", "/run/nothing")), "");
  EXPECT_EQ(Grants::program_of(call("execve", "/run")), "");
  Denial relative = call("execve", "program");
  EXPECT_EQ(Grants::program_of(relative), "");
  relative.folder = folder_ + "/run";
  EXPECT_EQ(Grants::program_of(relative), folder_ + "/run/program");
}

TEST_F(GrantsTest, BelievesNothingThatWasCutShort) {
  EXPECT_EQ(judge(call("openat", "/" + std::string(600, 'x'))).reason, Reason::unknown);
  Denial no_path = call("openat", "/none/file");
  no_path.object = Denial::Object::none;
  EXPECT_EQ(judge(no_path).reason, Reason::unknown);
}

}  // namespace
}  // namespace heddle::jail

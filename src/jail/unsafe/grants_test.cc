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
  EXPECT_FALSE(judge(call("openat", "/read/file")).mode_too);
}

TEST_F(GrantsTest, BelievesNothingThatWasCutShort) {
  EXPECT_EQ(judge(call("openat", "/" + std::string(600, 'x'))).reason, Reason::unknown);
  Denial no_path = call("openat", "/none/file");
  no_path.object = Denial::Object::none;
  EXPECT_EQ(judge(no_path).reason, Reason::unknown);
}

}  // namespace
}  // namespace heddle::jail

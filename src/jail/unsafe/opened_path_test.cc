#include "heddle/jail/unsafe/opened_path.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace heddle::jail {
namespace {

namespace fs = std::filesystem;

class OpenedPathTest : public ::testing::Test {
 protected:
  OpenedPathTest() {
    char folder[] = "/tmp/heddle-opened-XXXXXX";
    EXPECT_NE(::mkdtemp(folder), nullptr);
    folder_ = fs::canonical(folder).string();
    fs::create_directories(folder_ + "/a/b/c");
    std::ofstream(folder_ + "/a/file") << "x";
  }
  ~OpenedPathTest() override { fs::remove_all(folder_); }
  [[nodiscard]] static OpenedPath open(const std::string& path) { return OpenedPath::open(path).value(); }
  [[nodiscard]] static core::Error refusal(const std::string& path) {
    const auto opened = OpenedPath::open(path);
    return opened.ok() ? core::Error{} : opened.error();
  }

  std::string folder_;
};

// JAIL-17: it finds what the kernel finds.
TEST_F(OpenedPathTest, FindsWhatTheKernelFinds) {
  fs::create_symlink("a/b", folder_ + "/relative");
  fs::create_symlink(folder_ + "/relative/../file", folder_ + "/absolute");
  fs::create_symlink("a/", folder_ + "/slashed");
  fs::create_symlink("/", folder_ + "/root");
  for (const std::string& path :
       {folder_, folder_ + "/a/file", folder_ + "//a/./b/", folder_ + "/relative/c", folder_ + "/absolute",
        folder_ + "/slashed/file", folder_ + "/a/b/../..", folder_ + "/root" + folder_ + "/a", std::string("/"),
        std::string("/.."), std::string("/usr/bin/env"), std::string("/dev/null"),
        "/proc/" + std::to_string(::getpid()) + "/status"}) {
    SCOPED_TRACE(path);
    struct stat kernel {};
    ASSERT_EQ(::stat(path.c_str(), &kernel), 0);
    const OpenedPath opened = open(path);
    struct stat ours {};
    ASSERT_EQ(::fstat(opened.fd().get(), &ours), 0);
    EXPECT_EQ(ours.st_ino, kernel.st_ino);
    EXPECT_EQ(ours.st_dev, kernel.st_dev);
    EXPECT_EQ(opened.info().st_ino, kernel.st_ino);
    EXPECT_EQ(opened.path(), fs::canonical(path).string());
  }
}

// JAIL-17: and refuses what the kernel refuses, and what it cannot vouch for.
TEST_F(OpenedPathTest, RefusesTheRest) {
  EXPECT_EQ(refusal("a/file").code, core::Errc::invalid_argument);
  EXPECT_EQ(refusal("").code, core::Errc::invalid_argument);
  EXPECT_EQ(refusal(folder_ + "/none").code, core::Errc::not_found);
  EXPECT_EQ(refusal(folder_ + "/a/file/").sys_errno, ENOTDIR);
  EXPECT_EQ(refusal(folder_ + "/a/file/..").sys_errno, ENOTDIR);
  fs::create_symlink("loop", folder_ + "/loop");
  EXPECT_EQ(refusal(folder_ + "/loop").sys_errno, ELOOP);
  const core::Fd open_file(::open((folder_ + "/a/file").c_str(), O_RDONLY | O_CLOEXEC));
  fs::remove(folder_ + "/a/file");
  // What only a descriptor of this process leads to.
  EXPECT_EQ(refusal("/proc/self/fd/" + std::to_string(open_file.get())).code, core::Errc::not_found);
}

// JAIL-17: as fs.protected_symlinks has it, whether or not it is on. Control: one's own link there is followed.
TEST_F(OpenedPathTest, FollowsNoLinkOfAStrangersInASharedFolder) {
  fs::create_symlink(folder_ + "/a", folder_ + "/link");
  fs::permissions(folder_, fs::perms(01777));
  EXPECT_EQ(open(folder_ + "/link").path(), folder_ + "/a");
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a link to somebody else";
  ASSERT_EQ(::lchown((folder_ + "/link").c_str(), 59321, 59321), 0);
  EXPECT_EQ(refusal(folder_ + "/link").sys_errno, EACCES);
  EXPECT_EQ(refusal(folder_ + "/link/file").sys_errno, EACCES);
}

// JAIL-17
TEST_F(OpenedPathTest, KnowsWhatItLiesInAndWhichLinksLedThere) {
  fs::create_symlink(folder_ + "/a/b", folder_ + "/a/link");
  fs::create_symlink(folder_ + "/a/link/c", folder_ + "/way");
  const OpenedPath place = open(folder_ + "/way");
  EXPECT_TRUE(place.within(place));
  EXPECT_TRUE(place.within(open(folder_ + "/a")));
  EXPECT_TRUE(place.within(open("/")));
  EXPECT_TRUE(place.within(open(folder_ + "/a/link")));
  EXPECT_FALSE(open(folder_ + "/a").within(place));
  EXPECT_FALSE(open(folder_ + "/a/file").within(open(folder_ + "/a/b")));
  EXPECT_EQ(place.link_below(open(folder_)), folder_ + "/way");
  EXPECT_EQ(place.link_below(open(folder_ + "/a")), folder_ + "/a/link");
  EXPECT_EQ(place.link_below(open(folder_ + "/a/b")), "");
  EXPECT_EQ(open(folder_ + "/a/b").link_below(open(folder_)), "");
}

}  // namespace
}  // namespace heddle::jail

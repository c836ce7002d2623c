#include "heddle/jail/program.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace heddle::jail {
namespace {

using core::Errc;

class OpenProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/heddle-program-XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
    ASSERT_EQ(::chmod(folder, 0755), 0);
    std::ofstream(path()) << "#!/bin/true\n";
    ASSERT_EQ(::chmod(path().c_str(), 0755), 0);
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  [[nodiscard]] std::string path() const { return folder_ + "/helper"; }
  void expect_refusal(const char* why, const std::string& path) {
    const auto program = open_program(path);
    ASSERT_FALSE(program.ok()) << path;
    EXPECT_EQ(program.error().code, Errc::untrusted_program);
    EXPECT_NE(program.error().message().find(why), std::string::npos) << program.error().message();
  }
  std::string folder_;
};

TEST_F(OpenProgram, AcceptsWhatOnlyItsOwnerCanChange) {
  const auto program = open_program(path());
  ASSERT_TRUE(program.ok()) << program.error().message();
  EXPECT_EQ(program.value().path(), path());
  // By a link, the file itself counts.
  ASSERT_EQ(::symlink(path().c_str(), (folder_ + "/link").c_str()), 0);
  EXPECT_EQ(open_program(folder_ + "/link").value().path(), path());
}

TEST_F(OpenProgram, RefusesWhatOthersCanChange) {
  ASSERT_EQ(::chmod(path().c_str(), 0775), 0);
  expect_refusal("chmod go-w", path());
  ASSERT_EQ(::chmod(path().c_str(), 0757), 0);
  expect_refusal("chmod go-w", path());
  ASSERT_EQ(::chmod(path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  expect_refusal("chmod go-w", path());
  ASSERT_EQ(::chmod(folder_.c_str(), 01777), 0);
  expect_refusal("chmod go-w", path());
}

TEST_F(OpenProgram, RefusesWhatIsNoProgram) {
  expect_refusal("installed whole", folder_ + "/missing");
  expect_refusal("regular file", folder_);
  expect_refusal("regular file", "/dev/null");
}

TEST_F(OpenProgram, RefusesAStrangersFile) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown(path().c_str(), 12345, 12345), 0);
  expect_refusal("user 12345", path());
}

TEST_F(OpenProgram, RefusesAsRootWhatGuestsCannotExecute) {
  if (::geteuid() != 0) GTEST_SKIP() << "an ordinary host's guests run as its own user";
  ASSERT_EQ(::chmod(path().c_str(), 0700), 0);
  expect_refusal("a+rx", path());
}

TEST(HelperPath, LiesBesideTheRunningProgram) {
  const std::string path = helper_path("heddle-worker").value();
  EXPECT_NE(path.find("/libexec/heddle/heddle-worker"), std::string::npos) << path;
}

}  // namespace
}  // namespace heddle::jail

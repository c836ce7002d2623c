#include "exec_start.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "exec_command.h"

namespace heddle::cli {
namespace {

namespace fs = std::filesystem;

class FindProgram : public ::testing::Test {
 protected:
  FindProgram() {
    char folder[] = "/tmp/heddle-find-XXXXXX";
    EXPECT_NE(::mkdtemp(folder), nullptr);
    folder_ = fs::canonical(folder).string();
    for (const char* name : {"a", "b", "c", "a/tool"}) fs::create_directory(folder_ + "/" + name);
    put("b/tool", 0644);
    put("c/tool", 0755);
  }
  ~FindProgram() override { fs::remove_all(folder_); }

  void put(const std::string& name, unsigned mode) const {
    std::ofstream(folder_ + "/" + name) << "x";
    fs::permissions(folder_ + "/" + name, fs::perms(mode));
  }
  // Of folders of the test's own.
  [[nodiscard]] std::string search(const std::string& letters) const {
    std::string path;
    for (const char letter : letters) ((path += path.empty() ? "" : ":") += folder_ + "/") += letter;
    return path;
  }
  static std::string found(const std::string& name, const char* search) {
    const auto result = find_program(name, search);
    const auto* const program = std::get_if<FoundProgram>(&result);
    return program == nullptr ? "" : program->path;
  }
  static NoProgram none(const std::string& name, const char* search) {
    const auto result = find_program(name, search);
    const auto* const failure = std::get_if<NoProgram>(&result);
    return failure == nullptr ? NoProgram{} : *failure;
  }

  std::string folder_;
};

// EXE-1: execvp(3), "the search will continue".
TEST_F(FindProgram, WhatMayNotBeExecutedDoesNotEndTheSearch) {
  EXPECT_EQ(found("tool", search("c").c_str()), folder_ + "/c/tool");
  EXPECT_EQ(found("tool", search("abc").c_str()), folder_ + "/c/tool");
  ASSERT_EQ(::mkfifo((folder_ + "/b/other").c_str(), 0777), 0);
  put("c/other", 0700);
  EXPECT_EQ(found("other", search("bc").c_str()), folder_ + "/c/other");
  const NoProgram only = none("tool", search("xab").c_str());
  EXPECT_EQ(only.code, kExitNoProgram);
  EXPECT_NE(only.what.find(folder_ + "/a/tool"), std::string::npos) << only.what;
  EXPECT_EQ(none("other-name", search("abc").c_str()).code, kExitNotFound);
}

// EXE-1: an empty part is the working folder; none at all is the system's folders.
TEST_F(FindProgram, SearchesWhereTheLibraryDoes) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_ + "/c");
  EXPECT_EQ(found("tool", ""), folder_ + "/c/tool");
  EXPECT_EQ(found("tool", ":/no/such"), folder_ + "/c/tool");
  EXPECT_EQ(found("tool", "/no/such:"), folder_ + "/c/tool");
  EXPECT_EQ(found("tool", "/no/such"), "");
  EXPECT_EQ(found("./tool", "/no/such"), folder_ + "/c/tool");
  fs::current_path(before);
  EXPECT_EQ(found("env", nullptr), fs::canonical("/usr/bin/env").string());
  EXPECT_EQ(found("", nullptr), "");
}

// EXE-1: what a script's interpreter is told to open.
TEST_F(FindProgram, NamesItFromTheRootFolderOn) {
  const auto name = [](const std::string& typed, const char* search) {
    return std::get<FoundProgram>(find_program(typed, search)).name;
  };
  fs::create_symlink(folder_ + "/c/tool", folder_ + "/a/link");
  const fs::path before = fs::current_path();
  fs::current_path(folder_ + "/a");
  EXPECT_EQ(name("./link", nullptr), folder_ + "/a/link");
  EXPECT_EQ(name("link", ""), folder_ + "/a/link");
  EXPECT_EQ(name("../c/tool", nullptr), folder_ + "/a/../c/tool");
  EXPECT_EQ(name(folder_ + "/a/link", nullptr), folder_ + "/a/link");
  // Where the working folder has no name any more, what it leads to. Its parent is still there.
  fs::create_directory("gone");
  fs::current_path("gone");
  fs::remove(folder_ + "/a/gone");
  EXPECT_EQ(name("../../c/tool", nullptr), folder_ + "/c/tool");
  fs::current_path(before);
}

// EXE-1: nothing is waited for.
TEST_F(FindProgram, OpensNoPipe) {
  ASSERT_EQ(::mkfifo((folder_ + "/fifo").c_str(), 0777), 0);
  EXPECT_EQ(none(folder_ + "/fifo", nullptr).code, kExitNoProgram);
  EXPECT_EQ(none(folder_, nullptr).code, kExitNoProgram);
  EXPECT_EQ(none("/dev/null", nullptr).code, kExitNoProgram);
}

}  // namespace
}  // namespace heddle::cli

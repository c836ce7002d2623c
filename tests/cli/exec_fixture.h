// heddle exec with the real helper programs, in a folder of its own.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "process.h"
#include "tests/support/processes.h"

namespace heddle::test {

namespace fs = std::filesystem;

inline constexpr const char* kHeading = "profile = \"program\"\n";

class Exec : public ::testing::Test {
 protected:
  Exec() {
    for (const char* folder : {"bin", "libexec", "libexec/heddle", "data", "work"}) {
      fs::create_directories(folder_.path(folder));
      fs::permissions(folder_.path(folder), fs::perms(0755));
    }
    fs::permissions(folder_.path(""), fs::perms(0755));
    fs::permissions(folder_.path("work"), fs::perms(0777));  // as root the program is a user of its own
    put(HEDDLE_COMMAND, "bin/heddle");
    put(HEDDLE_LIBEXEC "/heddle-supervisor", "libexec/heddle/heddle-supervisor");
    put(HEDDLE_LIBEXEC "/heddle-exec-stub", "libexec/heddle/heddle-exec-stub");
    folder_.write("data/file", "content\n");
    fs::permissions(folder_.path("data/file"), fs::perms(0644));
  }
  // JAIL-12: nothing is left.
  ~Exec() override { EXPECT_TRUE(gone_within(running_below(folder_.path("")), std::chrono::seconds(10))); }

  void put(const std::string& from, const char* to) const {
    fs::copy_file(from, folder_.path(to));
    fs::permissions(folder_.path(to), fs::perms(0755));
  }
  // A host that refuses namespaces has nothing to test here but that refusal.
  void SetUp() override {
    const Ended probe = exec("", {"/bin/true"});
    if (probe.code == 125 && probe.err.find("requires namespaces") != std::string::npos) GTEST_SKIP() << probe.err;
  }
  Launch launch(const std::string& policy, std::vector<std::string> command, bool explain = false) const {
    std::vector<std::string> args = {"exec", "--policy", folder_.write("policy.toml", kHeading + policy)};
    if (explain) args.emplace_back("--explain");
    args.emplace_back("--");
    args.insert(args.end(), command.begin(), command.end());
    return {folder_.path("bin/heddle"), std::move(args)};
  }
  Ended exec(const std::string& policy, std::vector<std::string> command, bool explain = false) const {
    return run(launch(policy, std::move(command), explain));
  }
  std::string quoted(const char* name) const { return '"' + folder_.path(name) + '"'; }

  Folder folder_;
};

inline bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace heddle::test

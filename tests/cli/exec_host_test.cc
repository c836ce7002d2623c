// heddle exec: what the programs that people run do with what is refused for the sake of the host's user.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "process.h"

namespace heddle::test {
namespace {

namespace fs = std::filesystem;

class ExecHost : public ::testing::Test {
 protected:
  ExecHost() {
    fs::permissions(folder_.path(""), fs::perms(0755));
    fs::create_directory(folder_.path("work"));
    fs::permissions(folder_.path("work"), fs::perms(0777));  // as root the program is a user of its own
    folder_.write("work/file", "content\n");
    fs::permissions(folder_.path("work/file"), fs::perms(0666));
  }
  [[nodiscard]] Ended exec(const std::string& policy, const std::string& script) const {
    const std::string text = "profile = \"program\"\nallow_exec = true\nnamespaces = \"if_available\"\n" + policy +
                             "paths.execute = [\"/usr/bin\"]\nenvironment.PATH = \"/usr/bin\"\n";
    return run(
        {HEDDLE_COMMAND,
         {"exec", "--explain", "--policy", folder_.write("policy.toml", text), "--", "/usr/bin/sh", "-c", script}});
  }
  [[nodiscard]] std::string grant(const char* list) const {
    return "paths." + std::string(list) + " = [\"" + folder_.path("work") + "\"]\n";
  }
  Folder folder_;
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

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

// JAIL-19: attributes are what a file system does not have, which nobody takes for a failure. Control: the same free.
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

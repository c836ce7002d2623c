// A thousand starts while another user turns what a program or its policy names.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "program_world.h"
#include "testing/elf_file.h"
#include "testing/swapper.h"

namespace heddle::jail {
namespace {

// A folder in which a loader, `cat` by that loader, and two
// folders with a file each lie.
class Swapped : public ::testing::Test {
 protected:
  static constexpr int kStarts = 1000;
  Swapped() : supervisor_(start_supervisor()) {
    char folder[] = "/tmp/heddle-swapped-XXXXXX";
    EXPECT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
    EXPECT_EQ(::chmod(folder, 0755), 0);
    const std::string cat = bytes_of("/bin/cat");
    put("loader", bytes_of(interpreter_of(cat)), 0555);
    put("cat", with_interpreter(cat, folder_ + "/turning"), 0755);
    for (const char* name : {"one", "other"}) {
      EXPECT_EQ(::mkdir((folder_ + "/" + name).c_str(), 0755), 0);
      put(std::string(name) + "/file", std::string(name) + "\n", 0644);
    }
  }
  ~Swapped() override { std::filesystem::remove_all(folder_); }
  void put(const std::string& name, const std::string& bytes, mode_t mode) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << bytes;
    EXPECT_EQ(::chmod((folder_ + "/" + name).c_str(), mode), 0);
  }

  core::Result<Supervisor> supervisor_;
  std::string folder_;
};

// JAIL-17: either that file or not started, and in no case is anything read that no line grants.
TEST_F(Swapped, AnInterpreterIsThatFileOrTheProgramIsNotStarted) {
  ASSERT_TRUE(supervisor_.ok()) << supervisor_.error().message();
  ASSERT_EQ(::symlink("/", (folder_ + "/turning").c_str()), 0);
  const Swapper swapper(folder_ + "/turning", folder_ + "/loader", "/");
  int started = 0;
  for (int start = 0; start < kStarts; ++start) {
    auto outcome = run_program(supervisor_.value(), {folder_ + "/cat", {folder_ + "/one/file"}, plain_needs()});
    if (!outcome.ok()) {
      ASSERT_EQ(outcome.error().step, ProgramGrants::step()) << outcome.error().message();
      continue;
    }
    ASSERT_EQ(outcome.value().output, "");
    // What the kernel finds by that name when it starts the program is the loader that was granted, or nothing.
    if (outcome.value().first.op() == "ended") ++started;
  }
  EXPECT_GT(started, 0);
}

// JAIL-17: of the two folders the one that was opened is granted, and never the other.
TEST_F(Swapped, AGrantIsWhatWasOpened) {
  ASSERT_TRUE(supervisor_.ok()) << supervisor_.error().message();
  ASSERT_EQ(::symlink("one", (folder_ + "/parent").c_str()), 0);
  const Swapper swapper(folder_ + "/parent", "one", "other");
  ProgramNeeds needs = plain_needs();
  needs.paths.push_back({folder_ + "/parent/file", Access::read});
  int met[2] = {};
  for (int start = 0; start < kStarts; ++start) {
    auto outcome =
        run_program(supervisor_.value(), {"/bin/cat", {folder_ + "/one/file", folder_ + "/other/file"}, needs});
    ASSERT_TRUE(outcome.ok()) << outcome.error().message();
    const std::string& output = outcome.value().output;
    ASSERT_TRUE(output == "one\n" || output == "other\n") << output;
    ++met[output == "one\n" ? 0 : 1];
  }
  EXPECT_GT(met[0], 0);
  EXPECT_GT(met[1], 0);
}

}  // namespace
}  // namespace heddle::jail

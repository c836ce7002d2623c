#include "heddle/sandbox/effect/script_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace heddle::sandbox {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "heddle-scripts-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] fs::path of(const effect::ContentAddress& address) const { return path_ / address.hex(); }

 private:
  fs::path path_;
};

// SBX-13
TEST(MemoryScripts, ReadsByAddress) {
  MemoryScripts scripts;
  const auto address = scripts.add("input + 1");
  EXPECT_EQ(address, effect::ContentAddress::of("input + 1"));
  EXPECT_EQ(scripts.add("input + 1"), address);
  EXPECT_EQ(scripts.read(address, 9, {}).value(), "input + 1");
  EXPECT_EQ(scripts.read(address, 8, {}).error().code, core::Errc::too_large);
  EXPECT_EQ(scripts.read(effect::ContentAddress::of("x"), 9, {}).error().code, core::Errc::not_found);
}

// SBX-13
TEST(FolderScripts, ReadsWhatItWrote) {
  const Folder folder;
  FolderScripts scripts(folder.path());
  const auto address = scripts.add("input * 2").value();
  EXPECT_EQ(scripts.add("input * 2").value(), address);
  EXPECT_EQ(scripts.read(address, 9, {}).value(), "input * 2");
  EXPECT_EQ(scripts.read(address, 8, {}).error().code, core::Errc::too_large);
  EXPECT_EQ(scripts.read(effect::ContentAddress::of("x"), 9, {}).error().code, core::Errc::not_found);
  const auto files = fs::directory_iterator(folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);  // no draft is left
  EXPECT_FALSE(FolderScripts(folder.path() + "/none").add("x").ok());
}

// SBX-13: nothing but a regular file is opened, so a folder that others fill cannot make the host read elsewhere or
// wait.
TEST(FolderScripts, OpensRegularFilesAlone) {
  const Folder folder;
  FolderScripts scripts(folder.path());
  const auto link = effect::ContentAddress::of("link");
  std::ofstream(folder.path() + "/target") << "link";
  fs::create_symlink(folder.path() + "/target", folder.of(link));
  EXPECT_FALSE(scripts.read(link, 100, {}).ok());
  const auto pipe = effect::ContentAddress::of("pipe");
  ASSERT_EQ(::mkfifo(folder.of(pipe).c_str(), 0600), 0);
  EXPECT_FALSE(scripts.read(pipe, 100, {}).ok());
  const auto sub = effect::ContentAddress::of("sub");
  fs::create_directory(folder.of(sub));
  EXPECT_FALSE(scripts.read(sub, 100, {}).ok());
}

}  // namespace
}  // namespace heddle::sandbox

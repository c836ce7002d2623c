// A folder of a test's own, removed with all in it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace heddle::journal::testing {

/// Memory is for tests that model the disk or change its bytes themselves: they open thousands of files.
enum class Where : std::uint8_t { disk, memory };

class Folder {
 public:
  explicit Folder(Where where = Where::disk) {
    const std::filesystem::path memory = "/dev/shm";
    const bool in_memory = where == Where::memory && std::filesystem::is_directory(memory);
    std::string pattern =
        ((in_memory ? memory : std::filesystem::temp_directory_path()) / "heddle-journal-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string file(const std::string& name = "journal") const { return (path_ / name).string(); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
}

}  // namespace heddle::journal::testing

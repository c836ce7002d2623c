// Runs a fuzz target once over every file of the folders and files named, in the order of their names. Fails when there
// is none, so that a lost corpus is noticed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    std::error_code error;
    if (std::filesystem::is_regular_file(argv[i], error)) files.emplace_back(argv[i]);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i], error)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    if (!stream) {
      (void)std::fprintf(stderr, "cannot read %s\n", file.c_str());
      return 1;
    }
    (void)std::printf("%s (%zu bytes)\n", file.c_str(), bytes.size());
    (void)std::fflush(stdout);  // so that the file is known when the target aborts
    (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  if (files.empty()) (void)std::fprintf(stderr, "no corpus: give a folder with files\n");
  return files.empty() ? 1 : 0;
}

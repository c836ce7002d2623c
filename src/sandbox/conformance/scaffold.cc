#include "heddle/sandbox/conformance/scaffold.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "heddle/core/fd.h"
#include "scaffold_text.h"

namespace heddle::sandbox::conformance {
namespace {

constexpr const char* kStep = "write a sandbox package";
constexpr std::size_t kMaxName = 64 - std::string_view("-words").size();

std::string filled(std::string_view text, std::string_view name) {
  constexpr std::string_view kMark = "@NAME@";
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t mark = text.find(kMark, at);
    if (mark == std::string_view::npos) return result += text.substr(at);
    result += text.substr(at, mark - at);
    result += name;
    at = mark + kMark.size();
  }
  return result;
}

bool good_name(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  // The language of the package is its name with a suffix, and the effect takes 64 letters of one.
  if (name.empty() || name.size() > kMaxName || kLetters.find(name.front()) == std::string_view::npos) return false;
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == std::string_view::npos;
}

core::Result<void> make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) != 0) return core::system_error(kStep, path);
  return {};
}

}  // namespace

core::Result<std::vector<ScaffoldFile>> scaffold_files(std::string_view name) {
  // "test" and the like are names of targets that CMake keeps for itself.
  if (!good_name(name) || name == "test" || name == "all" || name == "clean" || name == "install" || name == "help") {
    return core::make_error(core::Errc::invalid_argument, kStep,
                            "NAME must be a lower-case letter and then letters, digits, - or _, at most 58 in all, and "
                            "no name that CMake keeps for itself");
  }
  return std::vector<ScaffoldFile>{{"CMakeLists.txt", filled(kScaffoldCmake, name)},
                                   {"README.md", filled(kScaffoldReadme, name)},
                                   {"fixtures.json", filled(kScaffoldFixtures, name)},
                                   {"src/backend.cc", filled(kScaffoldBackend, name)}};
}

core::Result<void> write_scaffold(std::string_view name, const std::string& folder) {
  HEDDLE_ASSIGN(const auto files, scaffold_files(name));
  HEDDLE_TRY(make_folder(folder));
  HEDDLE_TRY(make_folder(folder + "/src"));
  for (const ScaffoldFile& file : files) {
    const std::string path = folder + "/" + file.path;
    const core::Fd out(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!out.valid()) return core::system_error(kStep, path);
    HEDDLE_TRY(core::write_all(out, file.text));
  }
  return {};
}

}  // namespace heddle::sandbox::conformance

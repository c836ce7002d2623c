#include "heddle/sandbox/eval/helpers.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace heddle::sandbox {

std::string helper_folder() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0 || static_cast<std::size_t>(length) == path.size()) return HEDDLE_LIBEXEC_FOLDER;
  std::string folder(path.data(), static_cast<std::size_t>(length));
  for (int up = 0; up < 2; ++up) folder.erase(std::min(folder.size(), folder.rfind('/')));
  folder += "/libexec/heddle";
  struct stat status = {};
  return ::stat(folder.c_str(), &status) == 0 ? folder : HEDDLE_LIBEXEC_FOLDER;
}

}  // namespace heddle::sandbox

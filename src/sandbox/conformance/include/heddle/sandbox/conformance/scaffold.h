// `heddle plugin new sandbox NAME`: a package that builds, is proven by the kit, and is meant to be changed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/result.h"

namespace heddle::sandbox::conformance {

struct ScaffoldFile {
  std::string path;  ///< below the package's folder
  std::string text;
};

/// The files of a package. `name` is a letter and then up to 57 letters, digits, - and _, all lower case.
[[nodiscard]] core::Result<std::vector<ScaffoldFile>> scaffold_files(std::string_view name);

/// Writes them into `folder`, which must not be there yet.
[[nodiscard]] core::Result<void> write_scaffold(std::string_view name, const std::string& folder);

}  // namespace heddle::sandbox::conformance

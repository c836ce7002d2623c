// Where records are believed: a folder of the user's own that nobody else may write, never a package.
#pragma once

#include <string>

#include "heddle/core/fd.h"
#include "heddle/core/result.h"
#include "heddle/sandbox/conformance/record.h"

namespace heddle::sandbox::conformance {

/// `heddle/conformance` in the user's state folder: $XDG_STATE_HOME where it is an absolute path, else ~/.local/state.
/// A record's name is its binary's content address.
class RecordStore {
 public:
  /// Opens it, and makes it where it is missing. Errc::untrusted_program when one of the two folders is not the user's
  /// own with mode 0700, or is a symbolic link.
  [[nodiscard]] static core::Result<RecordStore> open();

  /// Replaces what was there for the same binary, whole or not at all.
  [[nodiscard]] core::Result<void> keep(const Record& record) const;

  /// Errc::not_found when there is none; Errc::untrusted_program for a file that is not the user's own, or that others
  /// may write; Errc::malformed for one that is no record of this binary.
  [[nodiscard]] core::Result<Record> find(const effect::ContentAddress& binary) const;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  RecordStore(std::string path, core::Fd folder) : path_(std::move(path)), folder_(std::move(folder)) {}

  std::string path_;
  core::Fd folder_;
};

}  // namespace heddle::sandbox::conformance

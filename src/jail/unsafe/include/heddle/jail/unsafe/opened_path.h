// OpenedPath: what a path stood for at one moment. It is walked and opened once, so that what is looked at is what is
// granted, whoever turns a link or a folder meanwhile (JAIL-17). path_resolution(7), open(2) on O_PATH.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "heddle/core/fd.h"
#include "heddle/core/result.h"

namespace heddle::jail {

/// Whether looking may mount what an automounter holds ready (autofs): a person's own path may, one that came out of
/// somebody's file may not.
enum class Automount : std::uint8_t { allowed, refused };

class OpenedPath {
 public:
  /// Walks an absolute path, one folder after the other, symbolic links followed. Opens nothing for reading, so no
  /// pipe, device or automounter (see Automount) notices. Errc::invalid_argument for a path that is not absolute;
  /// Errc::not_found where nothing is; EACCES for somebody else's symbolic link in a sticky folder that everybody may
  /// write, whatever fs.protected_symlinks says. The links of /proc are read as the text that they show.
  [[nodiscard]] static core::Result<OpenedPath> open(const std::string& path, Automount automount = Automount::allowed);

  /// With O_PATH.
  [[nodiscard]] const core::Fd& fd() const noexcept { return fd_; }
  /// Where it was found, without symbolic links.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const struct stat& info() const noexcept { return info_; }

  /// The same file, to be read. Only a regular file is opened, so that nothing is waited for and nothing happens.
  [[nodiscard]] core::Result<core::Fd> open_for_reading() const;

  /// Whether it is `folder`, or was found below it.
  [[nodiscard]] bool within(const OpenedPath& folder) const;
  /// The first symbolic link on the way that lies below `folder`; empty: none.
  [[nodiscard]] std::string link_below(const OpenedPath& folder) const;

 private:
  friend class Walk;
  struct Inode {
    dev_t device = 0;
    ino_t number = 0;
    friend bool operator==(const Inode& a, const Inode& b) = default;
  };
  struct Link {
    std::string path;
    std::vector<Inode> above;
  };
  OpenedPath() = default;
  [[nodiscard]] Inode inode() const { return {info_.st_dev, info_.st_ino}; }

  core::Fd fd_;
  std::string path_;
  struct stat info_ {};
  std::vector<Inode> above_;  // from the root folder to itself
  std::vector<Link> links_;
};

}  // namespace heddle::jail

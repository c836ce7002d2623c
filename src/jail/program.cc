#include "heddle/jail/program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>

#include "heddle/core/quote.h"

namespace heddle::jail {
namespace {

using core::Errc;

core::Error untrusted(const std::string& path, const std::string& what) {
  return core::make_error(Errc::untrusted_program, "check a helper program", path + " " + what);
}

core::Result<std::string> link_target(const std::string& link) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  if (size < 0) return core::system_error("readlink", link);
  target.resize(static_cast<std::size_t>(size));
  return target;
}

core::Result<void> check_owner(const struct stat& info, const std::string& path) {
  struct stat self {};
  const bool known = ::stat("/proc/self/exe", &self) == 0;
  if (info.st_uid != 0 && info.st_uid != ::geteuid() && !(known && info.st_uid == self.st_uid)) {
    return untrusted(path, "belongs to user " + std::to_string(info.st_uid) +
                               ": it must belong to root or to the user that runs Heddle (chown)");
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return untrusted(path, "can be written by others: " + core::shown_command("chmod go-w", path));
  }
  return {};
}

}  // namespace

core::Result<Program> open_program(const std::string& path) {
  core::Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd.valid()) {
    core::Error error = core::system_error("open a helper program", path + ": is Heddle installed whole?");
    error.code = Errc::untrusted_program;
    return error;
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return core::system_error("fstat", path);
  // Where the file really lies, symbolic links followed: that is the folder in which it could be exchanged.
  HEDDLE_ASSIGN(std::string real, link_target("/proc/self/fd/" + std::to_string(fd.get())));
  if (!S_ISREG(info.st_mode)) return untrusted(real, "is not a regular file");
  HEDDLE_TRY(check_owner(info, real));
  if ((info.st_mode & S_IXOTH) == 0 && ::geteuid() == 0) {
    return untrusted(real, "must be executable by all users, since guests run as users of their own: " +
                               core::shown_command("chmod a+rx", real));
  }
  const std::string folder = real.substr(0, real.rfind('/') + 1);
  struct stat folder_info {};
  if (::stat(folder.c_str(), &folder_info) != 0) return core::system_error("stat", folder);
  HEDDLE_TRY(check_owner(folder_info, folder));
  return Program(std::move(fd), std::move(real));
}

core::Result<std::string> helper_path(std::string_view name) {
  HEDDLE_ASSIGN(const std::string self, link_target("/proc/self/exe"));
  const std::string folder = self.substr(0, self.rfind('/'));
  return folder.substr(0, folder.rfind('/')) + "/libexec/heddle/" + std::string(name);
}

}  // namespace heddle::jail

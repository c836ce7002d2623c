// Error: we could not do the job. A value that says what happened, where, and with which errno.
#pragma once

#include <string>
#include <string_view>

#include "heddle/core/errc.h"

namespace heddle::core {

struct Error {
  Errc code = Errc::system;
  int sys_errno = 0;    ///< 0 where no system call is to blame
  std::string step;     ///< what was being done: "open the script", "landlock_restrict_self"
  std::string context;  ///< the particular thing and, where there is one, what to do next

  /// One line for people: "open the script: No such file or directory: job.js".
  [[nodiscard]] std::string message() const;
};

/// An Error of Errc::system for the current errno (or the one given).
[[nodiscard]] Error system_error(std::string_view step, std::string_view context = {});
[[nodiscard]] Error system_error(int sys_errno, std::string_view step, std::string_view context = {});

/// An Error without an errno.
[[nodiscard]] Error make_error(Errc code, std::string_view step, std::string_view context = {});

/// The C library's text for an errno ("No such file or directory"), thread-safe.
[[nodiscard]] std::string errno_text(int sys_errno);

}  // namespace heddle::core

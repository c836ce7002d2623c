#include "heddle/core/error.h"

#include <cerrno>
#include <cstring>

#include "linked.h"

namespace heddle::core {

std::string errno_text(int sys_errno) {
  char buffer[128] = {};
  return ::strerror_r(sys_errno, buffer, sizeof buffer);  // the GNU variant: returns the text
}

std::string Error::message() const {
  std::string text = step.empty() ? std::string(errc_name(code)) : step;
  if (sys_errno != 0) text += ": " + errno_text(sys_errno);
  if (!context.empty()) text += ": " + context;
  return text;
}

Error system_error(std::string_view step, std::string_view context) { return system_error(errno, step, context); }

Error system_error(int sys_errno, std::string_view step, std::string_view context) {
  return Error{Errc::system, sys_errno, std::string(step), std::string(context)};
}

Error make_error(Errc code, std::string_view step, std::string_view context) {
  return Error{code, 0, std::string(step), std::string(context)};
}

}  // namespace heddle::core

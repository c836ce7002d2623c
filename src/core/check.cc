#include "heddle/core/check.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace heddle::core {
namespace {

void put(const char* text) noexcept {
  // Nothing is left to do about a failed write here: the process is ending.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
}

}  // namespace

void check_failed(const char* file, int line, const char* condition) noexcept {
  char digits[16];
  int at = static_cast<int>(sizeof digits) - 1;
  digits[at] = '\0';
  do {
    digits[--at] = static_cast<char>('0' + line % 10);
    line /= 10;
  } while (line > 0 && at > 0);
  put("heddle: internal error at ");
  put(file);
  put(":");
  put(digits + at);
  put(": ");
  put(condition);
  put("\n");
  std::abort();
}

}  // namespace heddle::core

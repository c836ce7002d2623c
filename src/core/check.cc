#include "heddle/core/check.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "heddle/core/result.h"
#include "linked.h"

namespace heddle::core {
namespace {

void put(const char* text) noexcept {
  // Nothing is left to do about a failed write here: the process is ending.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
}

void put_place(const char* file, int line) noexcept {
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
}

}  // namespace

void check_failed(const char* file, int line, const char* condition) noexcept {
  put_place(file, line);
  put(condition);
  put("\n");
  std::abort();
}

void value_missing(const Error& error, const char* file, int line) noexcept {
  if (file != nullptr) {
    put_place(file, line);
  } else {
    put("heddle: internal error: ");
  }
  put("a value was read that is not there: ");
  put(errc_name(error.code));
  put(": ");
  put(error.message().c_str());
  put("\n");
  std::abort();
}

}  // namespace heddle::core

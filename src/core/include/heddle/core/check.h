// HEDDLE_CHECK: a broken invariant is a bug in Heddle and ends the process, in release builds too.
#pragma once

namespace heddle::core {

/// Prints file, line and condition to stderr and aborts. Async-signal-safe.
[[noreturn]] void check_failed(const char* file, int line, const char* condition) noexcept;

}  // namespace heddle::core

#define HEDDLE_CHECK(condition)                                                     \
  do {                                                                              \
    if (!(condition)) ::heddle::core::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)

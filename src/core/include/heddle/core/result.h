// Result<T>: a value or an Error. Reading the value that is not there prints the error and aborts, in release builds
// too; a Result that is dropped does not compile without a warning (docs/adr/0001). Not thread-safe, as its value is
// not.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "heddle/core/check.h"
#include "heddle/core/error.h"

namespace heddle::core {

/// Ends the process: a value was read of a Result that holds `error`, which is printed with its step and context.
/// `file` and `line` are the reader's; null where they are not known.
[[noreturn]] void value_missing(const Error& error, const char* file, int line) noexcept;

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }

  [[nodiscard]] explicit operator bool() const noexcept { return ok(); }

  [[nodiscard]] T& value(const char* file = __builtin_FILE(), int line = __builtin_LINE()) & {
    if (!ok()) value_missing(*std::get_if<1>(&state_), file, line);
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] const T& value(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const& {
    if (!ok()) value_missing(*std::get_if<1>(&state_), file, line);
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T&& value(const char* file = __builtin_FILE(), int line = __builtin_LINE()) && {
    if (!ok()) value_missing(*std::get_if<1>(&state_), file, line);
    return std::move(*std::get_if<0>(&state_));
  }

  [[nodiscard]] T& operator*() & { return value(nullptr, 0); }
  [[nodiscard]] const T& operator*() const& { return value(nullptr, 0); }
  [[nodiscard]] T&& operator*() && { return std::move(*this).value(nullptr, 0); }
  [[nodiscard]] T* operator->() { return &value(nullptr, 0); }
  [[nodiscard]] const T* operator->() const { return &value(nullptr, 0); }

  [[nodiscard]] Error& error() & {
    HEDDLE_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }
  [[nodiscard]] const Error& error() const& {
    HEDDLE_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }
  [[nodiscard]] Error&& error() && {
    HEDDLE_CHECK(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return !error_.has_value(); }
  [[nodiscard]] explicit operator bool() const noexcept { return ok(); }

  [[nodiscard]] Error& error() & {
    HEDDLE_CHECK(!ok());
    return *error_;
  }
  [[nodiscard]] const Error& error() const& {
    HEDDLE_CHECK(!ok());
    return *error_;
  }
  [[nodiscard]] Error&& error() && {
    HEDDLE_CHECK(!ok());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace heddle::core

#define HEDDLE_CONCAT_INNER(a, b) a##b
#define HEDDLE_CONCAT(a, b) HEDDLE_CONCAT_INNER(a, b)

/// HEDDLE_TRY(call()): returns the error of a Result<void> to the caller.
#define HEDDLE_TRY(expression)                                                \
  do {                                                                        \
    auto heddle_try_result = (expression);                                    \
    if (!heddle_try_result.ok()) return std::move(heddle_try_result).error(); \
  } while (false)

// NOLINTBEGIN(bugprone-macro-parentheses): neither a declaration nor the name in one can stand in parentheses
/// HEDDLE_ASSIGN(auto fd, open(…)): the value of a Result, or its error to the caller.
#define HEDDLE_ASSIGN(declaration, expression) \
  HEDDLE_ASSIGN_INNER(HEDDLE_CONCAT(heddle_result_, __LINE__), declaration, expression)
#define HEDDLE_ASSIGN_INNER(name, declaration, expression) \
  auto name = (expression);                                \
  if (!name.ok()) return std::move(name).error();          \
  declaration = std::move(name).value()
// NOLINTEND(bugprone-macro-parentheses)

// The demo's table: what was tried, what happened, what refused it.
#pragma once

#include <string>

namespace heddle::demo {

class Table {
 public:
  /// Prints a heading with a line under it.
  static void section(const std::string& title);
  /// Prints a row at once. `as_it_must` says whether this is what Heddle promises.
  void row(const std::string& tried, const std::string& happened, const std::string& refused_by, bool as_it_must);

  [[nodiscard]] int rows() const noexcept { return rows_; }
  [[nodiscard]] int failures() const noexcept { return failures_; }

 private:
  int rows_ = 0;
  int failures_ = 0;
};

}  // namespace heddle::demo

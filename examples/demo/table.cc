#include "table.h"

#include <fmt/format.h>

#include <cstdio>

#include "heddle/core/text.h"

namespace heddle::demo {

void Table::section(const std::string& title) {
  fmt::print("\n{}\n     {:<31} {:<32} {}\n", title, "tried", "happened", "refused by");
}

void Table::row(const std::string& tried, const std::string& happened, const std::string& refused_by, bool as_it_must) {
  ++rows_;
  if (!as_it_must) ++failures_;
  fmt::print("{:<4} {:<31} {:<32} {}\n", as_it_must ? "ok" : "BAD", core::printable_line(tried),
             core::printable_line(happened), core::printable_line(refused_by));
  (void)std::fflush(stdout);
}

}  // namespace heddle::demo

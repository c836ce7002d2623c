// Text for a terminal, made harmless before (core::printable_line): measured, and broken into lines of 80 columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle::cli {

inline constexpr std::size_t kTerminalColumns = 80;

/// How wide it is: wide East Asian characters and emoji take two columns,
/// combining marks none. An estimate, as terminals differ.
[[nodiscard]] std::size_t columns_of(std::string_view text);

/// Adds `words` in lines of at most kTerminalColumns: the first begins with `first`, the others with `indent` spaces. A
/// word that is longer than a line is broken.
void add_wrapped(std::string& out, std::string_view first, std::size_t indent, std::string_view words);

}  // namespace heddle::cli

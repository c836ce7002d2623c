// LineBuffer: bytes in, lines out, with a ceiling on what is kept of a line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::cli {

struct Line {
  std::uint64_t number = 0;  ///< in the input, from 1; blank lines count
  std::string text;          ///< without its end; empty when too_long
  bool too_long = false;
};

/// Never holds more than a line's ceiling and one chunk. Lines of nothing but white space are not given out.
class LineBuffer {
 public:
  explicit LineBuffer(std::uint64_t ceiling) : ceiling_(ceiling) {}

  /// Call it when next() has nothing.
  void feed(std::string_view chunk);
  /// There is no more: an unended last line counts.
  void finish() { finished_ = true; }
  [[nodiscard]] std::optional<Line> next();

 private:
  std::optional<Line> take(std::size_t end, std::size_t past);

  std::uint64_t ceiling_;
  std::string buffer_;
  std::size_t begin_ = 0;    // of the line in the buffer
  std::size_t scanned_ = 0;  // no line end before it
  std::uint64_t number_ = 0;
  bool skipping_ = false;  // the line is over the ceiling; what comes is dropped up to its end
  bool finished_ = false;
};

}  // namespace heddle::cli

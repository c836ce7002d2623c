#include "lines.h"

namespace heddle::cli {

void LineBuffer::feed(std::string_view chunk) {
  buffer_.erase(0, begin_);
  scanned_ -= begin_;
  begin_ = 0;
  if (buffer_.empty() && buffer_.capacity() > (1U << 20)) buffer_.shrink_to_fit();
  buffer_ += chunk;
}

std::optional<Line> LineBuffer::next() {
  for (;;) {
    const auto end = buffer_.find('\n', scanned_);
    if (end == std::string::npos) {
      scanned_ = buffer_.size();
      if (!finished_) {
        if (skipping_ || buffer_.size() - begin_ > ceiling_ + 1) {  // + 1: it may be the CR of the line's end
          skipping_ = true;
          begin_ = buffer_.size();
        }
        return std::nullopt;
      }
      if (begin_ == buffer_.size() && !skipping_) return std::nullopt;
      if (auto line = take(buffer_.size(), buffer_.size())) return line;
      return std::nullopt;
    }
    if (auto line = take(end, end + 1)) return line;
  }
}

std::optional<Line> LineBuffer::take(std::size_t end, std::size_t past) {
  std::string_view text = std::string_view(buffer_).substr(begin_, end - begin_);
  begin_ = past;
  scanned_ = past;
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  Line line;
  line.number = ++number_;
  if (line.number == 1 && text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);  // as some editors write it
  line.too_long = skipping_ || text.size() > ceiling_;
  skipping_ = false;
  if (line.too_long) return line;
  if (text.find_first_not_of(" \t\r") == std::string_view::npos) return std::nullopt;
  line.text = text;
  return line;
}

}  // namespace heddle::cli

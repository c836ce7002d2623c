#include "heddle/core/toml_shape.h"

#include <algorithm>

namespace heddle::core {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::optional<TomlFault> run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
        continue;
      }
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (c == '.' && ++parts_ > kMostTomlParts) return TomlFault{at_, "a key of so many parts is no key of ours"};
      if (c == '=' || c == ',' || c == '\n') parts_ = 1;
      if (c == '[' || c == '{') {
        parts_ = 1;
        if (++depth_ > kMostTomlNesting) return TomlFault{at_, "so many brackets in one another are no value of ours"};
      }
      if (c == ']' || c == '}') {
        parts_ = 1;
        depth_ -= depth_ == 0 ? 0 : 1;
      }
      ++at_;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::size_t quotes(char quote) const {
    return std::min(text_.find_first_not_of(quote, at_), text_.size()) - at_;
  }

  // A line's end is the end of a string that has three quotes on neither side, as of any error.
  void skip_string(char quote) {
    const std::size_t opening = quotes(quote);
    const bool lines = opening >= 3;
    // Two are an empty string; the rest of more than three is inside, or ends it.
    at_ += lines ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\' && quote == '"') {
        at_ += 2;
      } else if (c == '\n' && !lines) {
        return;
      } else if (c != quote) {
        ++at_;
      } else if (const std::size_t count = quotes(quote); !lines || count >= 3) {
        // Up to two may stand inside, before the three that end it.
        at_ += lines ? std::min<std::size_t>(count, 5) : 1;
        return;
      } else {
        at_ += count;
      }
    }
    at_ = std::min(at_, text_.size());
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t parts_ = 1;
  std::size_t depth_ = 0;
};

}  // namespace

std::optional<TomlFault> too_deep_toml(std::string_view text) noexcept { return Scanner(text).run(); }

}  // namespace heddle::core

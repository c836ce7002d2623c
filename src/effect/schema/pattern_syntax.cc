// ECMAScript's regular expressions (ECMA-262, 22.2.1, flag u, and what Annex B adds without giving other answers) in
// RE2's syntax. What RE2 has not, or would understand differently, is refused: never another answer without a word.
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/core/text.h"
#include "pattern.h"

namespace heddle::effect {
namespace {

constexpr char32_t kLast = 0x10FFFF;

struct Range {
  char32_t from;
  char32_t to;
};
using Ranges = std::vector<Range>;

Ranges digits() { return {{'0', '9'}}; }
Ranges word() { return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}; }
Ranges space() {  // WhiteSpace and LineTerminator
  return {{9, 13},          {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
          {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
}
Ranges line_ends() { return {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}; }

// Of ranges that are sorted and apart.
Ranges all_but(const Ranges& ranges) {
  Ranges others;
  char32_t next = 0;
  for (const Range& range : ranges) {
    if (range.from > next) others.push_back({next, range.from - 1});
    next = range.to + 1;
  }
  others.push_back({next, kLast});
  return others;
}

std::string code_point(char32_t point) {
  std::array<char, 8> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<std::uint32_t>(point), 16);
  return "\\x{" + std::string(digits.data(), end.ptr) + "}";
}

std::string class_of(const Ranges& ranges) {
  std::string text;
  for (const Range& range : ranges) text += code_point(range.from) + "-" + code_point(range.to);
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// General categories in which RE2 and ECMAScript mean the same: RE2's C lacks what is not assigned.
bool is_category(std::string_view name) {
  for (const std::string_view known :
       {"L",  "Ll", "Lm", "Lo", "Lt", "Lu", "M",  "Mc", "Me", "Mn", "N", "Nd", "Nl", "No", "P",  "Pc", "Pd",
        "Pe", "Pf", "Pi", "Po", "Ps", "S",  "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs", "Cc", "Cf", "Co"}) {
    if (name == known) return true;
  }
  return false;
}

// One element of a class, or an escape: a code point, or a set in RE2's syntax for the inside of a class.
struct Atom {
  std::optional<char32_t> point;
  std::string set;
};

class Translator {
 public:
  explicit Translator(std::string_view source) : source_(source) {}

  core::Result<std::string> run() {
    if (!core::valid_utf8(source_)) return refused("is not UTF-8");
    while (at_ < source_.size()) HEDDLE_TRY(term());
    if (open_groups_ > 0) return refused("has a group that is not closed");
    return std::move(out_);
  }

 private:
  // What a quantifier may follow.
  enum class Before { nothing, assertion, quantifier, atom };

  [[nodiscard]] core::Error refused(std::string_view why) const {
    return core::make_error(core::Errc::malformed, "read a regular expression",
                            std::string(why) + " (at byte " + std::to_string(at_ + 1) + ")");
  }
  [[nodiscard]] bool next_is(std::string_view text) const { return source_.substr(at_, text.size()) == text; }
  bool skip(std::string_view text) {
    if (!next_is(text)) return false;
    at_ += text.size();
    return true;
  }

  void put(std::string_view text, Before kind) {
    out_ += text;
    before_ = kind;
  }

  core::Result<void> term() {
    const char c = source_[at_];
    if (c == '*' || c == '+' || c == '?') {
      ++at_;
      return quantify(std::string(1, c));
    }
    if (c == '{') {
      HEDDLE_ASSIGN(const std::optional<std::string> bounds, braces());
      if (bounds) return quantify(*bounds);
    }
    if (c == '(') return open_group();
    if (c == '[') return bracket_class();
    if (c == '\\') return escape();
    if (c == ')') {
      if (open_groups_ == 0) return refused("closes a group that is not open");
      --open_groups_;
      ++at_;
      put(")", Before::atom);
    } else if (c == '|') {
      ++at_;
      put("|", Before::nothing);
    } else if (c == '^' || c == '$') {
      ++at_;
      put(c == '^' ? "\\A" : "\\z", Before::assertion);
    } else if (c == '.') {
      ++at_;
      put("[^" + class_of(line_ends()) + "]", Before::atom);
    } else {
      put(code_point(take_point()), Before::atom);
    }
    return {};
  }

  core::Result<void> quantify(const std::string& text) {
    if (before_ != Before::atom) return refused("has a quantifier without anything to repeat");
    skip("?");  // lazy or not: the same texts match
    put(text, Before::quantifier);
    return {};
  }

  // `{n}`, `{n,}` or `{n,m}`; anything else is a brace as it stands (Annex B).
  core::Result<std::optional<std::string>> braces() {
    const std::size_t end = source_.find('}', at_);
    const std::string_view inside = end == std::string_view::npos ? "" : source_.substr(at_ + 1, end - at_ - 1);
    const std::size_t comma = inside.find(',');
    const std::string_view least = inside.substr(0, comma);
    const std::string_view most = comma == std::string_view::npos ? least : inside.substr(comma + 1);
    const auto number = [](std::string_view text) { return text.find_first_not_of("0123456789") == std::string::npos; };
    if (least.empty() || !number(least) || !number(most)) return std::optional<std::string>();
    constexpr std::size_t kMaxDigits = 4;  // RE2 repeats up to 1000 times, and says so
    if (least.size() > kMaxDigits || most.size() > kMaxDigits) return refused("repeats more than 1000 times");
    if (!most.empty() && std::stoi(std::string(least)) > std::stoi(std::string(most))) {
      return refused("has a quantifier with its numbers out of order");
    }
    at_ = end + 1;
    return std::optional<std::string>("{" + std::string(inside) + "}");
  }

  core::Result<void> open_group() {
    if (next_is("(?=") || next_is("(?!") || next_is("(?<=") || next_is("(?<!")) {
      return refused("looks ahead or behind, which takes more than linear time");
    }
    if (skip("(?<")) {
      const std::size_t end = source_.find('>', at_);
      const std::string_view name = source_.substr(at_, end == std::string_view::npos ? 0 : end - at_);
      constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_$0123456789";
      if (name.empty() || name.find_first_not_of(kLetters) != std::string_view::npos || is_digit(name.front())) {
        return refused("has a group whose name is none");
      }
      at_ = end + 1;
    } else if (!skip("(?:")) {
      ++at_;
      if (next_is("?")) return refused("has a kind of group that ECMAScript does not know");
    }
    ++open_groups_;
    put("(?:", Before::nothing);
    return {};
  }

  core::Result<void> escape() {
    if (skip("\\b")) {
      put("\\b", Before::assertion);
    } else if (skip("\\B")) {
      put("\\B", Before::assertion);
    } else {
      HEDDLE_ASSIGN(const Atom atom, escaped());
      put(atom.point ? code_point(*atom.point) : "[" + atom.set + "]", Before::atom);
    }
    return {};
  }

  core::Result<void> bracket_class() {
    ++at_;
    const bool negated = skip("^");
    std::string inside;
    while (!next_is("]")) {
      if (at_ == source_.size()) return refused("has a class that is not closed");
      HEDDLE_ASSIGN(const Atom from, class_atom());
      const bool range = next_is("-") && at_ + 1 < source_.size() && source_[at_ + 1] != ']';
      if (!range) {
        inside += in_class(from);
        continue;
      }
      ++at_;
      HEDDLE_ASSIGN(const Atom to, class_atom());
      if (from.point && to.point) {
        if (*from.point > *to.point) return refused("has a range that is out of order");
        inside += class_of({{*from.point, *to.point}});
      } else {  // Annex B: with a set at one end, the dash is one
        inside += in_class(from) + code_point('-') + in_class(to);
      }
    }
    ++at_;
    const std::string everything = class_of({{0, kLast}});
    if (inside.empty()) {
      put((negated ? "[" : "[^") + everything + "]", Before::atom);
    } else {
      put((negated ? "[^" : "[") + inside + "]", Before::atom);
    }
    return {};
  }

  static std::string in_class(const Atom& atom) { return atom.point ? code_point(*atom.point) : atom.set; }

  core::Result<Atom> class_atom() {
    if (next_is("[:") || next_is("[.") || next_is("[=")) {
      return refused("has a class of POSIX's, which is none of ECMAScript's");
    }
    if (skip("\\b")) return Atom{U'\b', ""};
    if (next_is("\\")) return escaped();
    if (at_ == source_.size()) return refused("has a class that is not closed");
    return Atom{take_point(), ""};
  }

  // Behind a backslash, inside a class or not.
  core::Result<Atom> escaped() {
    if (at_ + 1 == source_.size()) return refused("ends with a backslash");
    const char c = source_[at_ + 1];
    constexpr std::string_view kControlNames = "tnvfr";
    constexpr std::string_view kControls = "\t\n\v\f\r";
    if (const std::size_t found = kControlNames.find(c); found != std::string_view::npos) {
      at_ += 2;
      return Atom{static_cast<char32_t>(kControls[found]), ""};
    }
    if (const auto set = named_set(c)) {
      at_ += 2;
      return Atom{std::nullopt, class_of(*set)};
    }
    switch (c) {
      case 'p':
      case 'P':
        return property();
      case 'u':
        return unicode();
      case 'x': {
        const auto value = hex(at_ + 2, 2);
        if (!value) return refused("has \\x without two hexadecimal digits");
        at_ += 4;
        return Atom{*value, ""};
      }
      case 'c': {
        const char letter = at_ + 2 < source_.size() ? source_[at_ + 2] : '\0';
        if ((letter < 'a' || letter > 'z') && (letter < 'A' || letter > 'Z')) {
          return refused("has \\c without a letter");
        }
        at_ += 3;
        return Atom{static_cast<char32_t>(letter) % 32, ""};
      }
      case '0':
        if (at_ + 2 < source_.size() && is_digit(source_[at_ + 2])) return refused("has an octal escape");
        at_ += 2;
        return Atom{U'\0', ""};
      default:
        break;
    }
    if (is_digit(c) || c == 'k') return refused("refers back to a group, which takes more than linear time");
    constexpr std::string_view kThemselves = " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
    if (kThemselves.find(c) == std::string_view::npos) return refused("has an escape that ECMAScript does not know");
    at_ += 2;
    return Atom{static_cast<char32_t>(c), ""};
  }

  static std::optional<Ranges> named_set(char c) {
    switch (c) {
      case 'd':
        return digits();
      case 'D':
        return all_but(digits());
      case 'w':
        return word();
      case 'W':
        return all_but(word());
      case 's':
        return space();
      case 'S':
        return all_but(space());
      default:
        return std::nullopt;
    }
  }

  core::Result<Atom> property() {
    const std::size_t end = source_.find('}', at_);
    const bool braced = at_ + 2 < source_.size() && source_[at_ + 2] == '{' && end != std::string_view::npos;
    const std::string_view name = braced ? source_.substr(at_ + 3, end - at_ - 3) : std::string_view();
    if (!is_category(name)) {
      return refused(
          "has a property that is not supported; supported are the short names of general categories: \\p{Lu}");
    }
    const std::string set = "\\" + std::string(1, source_[at_ + 1]) + "{" + std::string(name) + "}";
    at_ = end + 1;
    return Atom{std::nullopt, set};
  }

  core::Result<Atom> unicode() {
    if (at_ + 2 < source_.size() && source_[at_ + 2] == '{') {
      const std::size_t end = source_.find('}', at_);
      const std::size_t count = end == std::string_view::npos ? 0 : end - at_ - 3;
      const auto value = count > 8 ? std::nullopt : hex(at_ + 3, count);
      if (!value || *value > kLast || surrogate(*value)) return refused("has \\u{} without a code point");
      at_ = end + 1;
      return Atom{*value, ""};
    }
    auto unit = hex(at_ + 2, 4);
    if (!unit) return refused("has \\u without four hexadecimal digits");
    std::size_t length = 6;
    if (*unit >= 0xD800 && *unit <= 0xDBFF && source_.substr(at_ + 6, 2) == "\\u") {
      const auto low = hex(at_ + 8, 4);
      if (low && *low >= 0xDC00 && *low <= 0xDFFF) {
        unit = 0x10000 + ((*unit - 0xD800) << 10U) + (*low - 0xDC00);
        length = 12;
      }
    }
    if (surrogate(*unit)) return refused("has half of a surrogate pair, which no text holds");
    at_ += length;
    return Atom{*unit, ""};
  }

  static bool surrogate(char32_t point) { return point >= 0xD800 && point <= 0xDFFF; }

  [[nodiscard]] std::optional<char32_t> hex(std::size_t from, std::size_t count) const {
    std::uint32_t value = 0;
    if (count == 0 || source_.size() < from + count) return std::nullopt;
    const char* end = source_.data() + from + count;
    const auto read = std::from_chars(source_.data() + from, end, value, 16);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    return static_cast<char32_t>(value);
  }

  // The character at the cursor, which is well-formed UTF-8.
  char32_t take_point() {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(source_[at_ + i]); };
    const unsigned lead = byte(0);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    char32_t point = length == 1 ? lead : lead & (0x7FU >> length);
    for (std::size_t i = 1; i < length; ++i) point = point << 6U | (byte(i) & 0x3FU);
    at_ += length;
    return point;
  }

  const std::string_view source_;
  std::size_t at_ = 0;
  std::string out_;
  Before before_ = Before::nothing;
  int open_groups_ = 0;
};

}  // namespace

core::Result<std::string> re2_syntax(std::string_view source) { return Translator(source).run(); }

}  // namespace heddle::effect

#include "heddle/effect/schema/json_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

#include "heddle/core/json_scan.h"

namespace heddle::effect {
namespace {

using core::append_json_string;

// Of a number that is out of range for a double: whether it is too large, and not too small.
bool too_large(std::string_view number) {
  const std::size_t mark = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, mark);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits.find_first_of("123456789");
  if (first == std::string_view::npos) return false;
  // The power of ten of the first digit that is not 0, without the exponent.
  const auto place = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first) - (first < point ? 1 : 0);
  std::string_view exponent_text = number.substr(std::min(mark + 1, number.size()));
  const bool negative = exponent_text.substr(0, 1) == "-";
  if (negative || exponent_text.substr(0, 1) == "+") exponent_text.remove_prefix(1);
  std::int64_t exponent = 0;
  const auto read = std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  if (read.ec == std::errc::result_out_of_range) return !negative;
  return place + (negative ? -exponent : exponent) > 0;
}

template <class Number>
bool reads_as(std::string_view text, Number& value) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

// A number of JSON's grammar as a script would write it again; nothing where no double holds it.
std::optional<std::string> number_text(std::string_view number) {
  if (number.find_first_of(".eE") == std::string_view::npos) {
    std::int64_t whole = 0;
    std::uint64_t large = 0;
    if (reads_as(number, whole)) return std::to_string(whole);
    if (reads_as(number, large)) return std::to_string(large);
  }
  double value = 0;
  if (!reads_as(number, value) && too_large(number)) return std::nullopt;
  return ecmascript_number(value);
}

// Writes what a parser reads. Names of the members of open objects are kept as positions in the text written so far.
class Writer {
 public:
  Writer(std::string_view text, std::size_t ceiling) : text_(text), ceiling_(ceiling) {}

  CompactJson result;

  bool open(bool object) {
    before_value();
    if (levels_.empty()) top_is_object = object;
    levels_.push_back({object, true, members_.size()});
    if (levels_.size() > core::kMaxJsonDepth && writing()) verdict_ = JsonVerdict::too_deep;
    if (writing()) result.text += object ? '{' : '[';
    return true;
  }

  bool close(bool object) {
    const Level level = levels_.back();
    levels_.pop_back();
    if (writing()) {
      if (object && members_.size() > level.first_member) {
        members_.back().value_end = result.text.size();
        drop_repeated(level.first_member);
      }
      members_.resize(level.first_member);
      result.text += object ? '}' : ']';
    }
    return after_value();
  }

  bool word(std::string_view text) { return scalar(text); }
  bool number(std::string_view text) {
    const auto written = number_text(text);
    if (written) return scalar(*written);
    result.why = "out of range: the number " + std::string(text.substr(0, 40)) + " at byte " +
                 std::to_string(text.data() - text_.data() + 1) + " is more than a double holds";
    return false;
  }
  bool string(std::string_view quoted) {
    before_value();
    if (writing()) append_string(quoted);
    return after_value();
  }

  bool name(std::string_view quoted) {
    Level& level = levels_.back();
    if (!level.empty && writing()) {
      members_.back().value_end = result.text.size();
      result.text += ',';
    }
    level.empty = false;
    if (writing()) {
      Member member{};
      member.name_begin = result.text.size();
      append_string(quoted);
      member.name_end = result.text.size();
      result.text += ':';
      members_.push_back(member);
    }
    return true;
  }

  bool top_is_object = false;

  // A verdict of its own stands; else the whole text was read and is good.
  void finish() {
    result.verdict = verdict_;
    if (!edits_.empty() && writing()) result.text = edited();
    if (result.text.size() > ceiling_) result.verdict = JsonVerdict::too_large;
    if (result.verdict != JsonVerdict::good) result.text.clear();
  }

 private:
  struct Level {
    bool object;
    bool empty;
    std::size_t first_member;
  };
  struct Member {
    std::size_t name_begin;
    std::size_t name_end;
    std::size_t value_end;
  };

  struct Span {
    std::size_t begin;
    std::size_t end;
    enum class What { text, name, comma } what;  // a name holds no edit, but begins where its object's does
  };
  // A member that stays: the name of the first with this name, and the value of the last, with its colon.
  struct Kept {
    std::size_t name_begin;
    std::size_t name_end;
    std::size_t value_begin;
    std::size_t value_end;
  };
  // The members of an object that has some twice. Edits lie within each other or apart, and no two begin at one place.
  struct Edit {
    std::size_t begin;
    std::size_t end;
    std::vector<Kept> kept;
  };

  [[nodiscard]] bool writing() const { return verdict_ == JsonVerdict::good; }

  void before_value() {
    if (levels_.empty() || levels_.back().object) return;
    if (!levels_.back().empty && writing()) result.text += ',';
    levels_.back().empty = false;
  }

  bool after_value() {
    // Reading goes on, since only well-formed text may be called too large. Repeated members could still shrink the
    // text, so there is some slack before writing stops.
    if (writing() && ceiling_ < result.text.size() / 2) verdict_ = JsonVerdict::too_large;
    return true;
  }

  bool scalar(std::string_view text) {
    before_value();
    if (writing()) result.text += text;
    return after_value();
  }

  // Without a change where the text has no escape: then it is what would be written.
  void append_string(std::string_view quoted) {
    if (quoted.find('\\') == std::string_view::npos) {
      result.text += quoted;
      return;
    }
    decoded_.clear();
    (void)core::decode_json_string(decoded_, quoted);
    append_json_string(result.text, decoded_);
  }

  [[nodiscard]] std::string_view name_of(const Member& member) const {
    return std::string_view(result.text).substr(member.name_begin, member.name_end - member.name_begin);
  }
  [[nodiscard]] std::string_view value_of(const Member& member) const {
    return std::string_view(result.text).substr(member.name_end + 1, member.value_end - member.name_end - 1);
  }

  // As JSON.parse: the last value, where the first one stood.
  void drop_repeated(std::size_t first) {
    const std::size_t count = members_.size() - first;
    if (count < 2) return;
    order_.resize(count);
    for (std::size_t i = 0; i < count; ++i) order_[i] = first + i;
    std::sort(order_.begin(), order_.end(), [this](std::size_t a, std::size_t b) {
      const int compared = name_of(members_[a]).compare(name_of(members_[b]));
      return compared != 0 ? compared < 0 : a < b;
    });
    std::vector<std::size_t> value_from(count);
    bool repeated = false;
    constexpr std::size_t kDropped = std::string::npos;
    for (std::size_t i = 0; i < count;) {
      std::size_t end = i + 1;
      while (end < count && name_of(members_[order_[i]]) == name_of(members_[order_[end]])) ++end;
      value_from[order_[i] - first] = order_[end - 1];
      for (std::size_t j = i + 1; j < end; ++j) value_from[order_[j] - first] = kDropped;
      repeated = repeated || end > i + 1;
      i = end;
    }
    if (!repeated) return;
    result.repeated_names = true;
    Edit edit{members_[first].name_begin, result.text.size(), {}};
    for (std::size_t i = 0; i < count; ++i) {
      if (value_from[i] == kDropped) continue;
      const Member& named = members_[first + i];
      const Member& valued = members_[value_from[i]];
      edit.kept.push_back({named.name_begin, named.name_end, valued.name_end, valued.value_end});
    }
    edits_.push_back(std::move(edit));
  }

  // The text with the edits made, in one walk: made one by one, each level of a value would move all that is in it.
  [[nodiscard]] std::string edited() {
    std::sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    std::string out;
    std::vector<Span> left{{0, result.text.size(), Span::What::text}};  // to be written, the next one last
    while (!left.empty()) {
      const Span span = left.back();
      left.pop_back();
      if (span.what == Span::What::comma) {
        out += ',';
        continue;
      }
      const auto edit = std::lower_bound(edits_.begin(), edits_.end(), span.begin,
                                         [](const Edit& one, std::size_t begin) { return one.begin < begin; });
      if (span.what == Span::What::name || edit == edits_.end() || edit->begin >= span.end) {
        out.append(result.text, span.begin, span.end - span.begin);
        continue;
      }
      out.append(result.text, span.begin, edit->begin - span.begin);
      left.push_back({edit->end, span.end, Span::What::text});
      for (std::size_t i = edit->kept.size(); i-- > 0;) {
        const Kept& kept = edit->kept[i];
        left.push_back({kept.value_begin, kept.value_end, Span::What::text});
        left.push_back({kept.name_begin, kept.name_end, Span::What::name});
        if (i > 0) left.push_back({0, 0, Span::What::comma});
      }
    }
    return out;
  }

  const std::string_view text_;
  const std::size_t ceiling_;
  JsonVerdict verdict_ = JsonVerdict::good;
  std::vector<Level> levels_;
  std::vector<Member> members_;
  std::vector<std::size_t> order_;
  std::vector<Edit> edits_;
  std::string decoded_;
};

void run(std::string_view text, Writer& writer) {
  if (const auto fault = core::scan_json(text, writer)) {
    writer.result.text.clear();
    if (writer.result.why.empty()) writer.result.why = "not JSON at byte " + std::to_string(fault->offset + 1);
    return;
  }
  writer.finish();
}

}  // namespace

CompactJson compact_json(std::string_view text, std::size_t ceiling) {
  Writer writer(text, ceiling);
  run(text, writer);
  return std::move(writer.result);
}

core::Result<std::vector<JsonMember>> split_object(std::string_view text) {
  Writer writer(text, std::string::npos);
  run(text, writer);
  const CompactJson& result = writer.result;
  const auto malformed = [](std::string_view why) {
    return core::make_error(core::Errc::malformed, "read a JSON object", why);
  };
  if (result.verdict == JsonVerdict::too_deep) return malformed("it is nested too deeply");
  if (result.verdict != JsonVerdict::good) return malformed(result.why);
  if (!writer.top_is_object) return malformed("it is another kind of value");
  if (result.repeated_names) return malformed("a member is named twice");
  std::vector<JsonMember> members;
  core::JsonMembers parts(result.text);
  while (const auto part = parts.next()) {
    members.push_back({core::unquote_json(part->name).value_or(""), std::string(part->value)});
  }
  return members;
}

std::string ecmascript_number(double value) {
  if (value == 0) return "0";
  std::array<char, 32> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
  std::string_view shortest(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  std::string text;
  if (shortest.front() == '-') {
    text = "-";
    shortest.remove_prefix(1);
  }
  const std::size_t mark = shortest.find('e');
  std::string digits(1, shortest.front());
  if (mark > 1) digits += shortest.substr(2, mark - 2);
  std::string_view exponent_text = shortest.substr(mark + 1);
  if (exponent_text.front() == '+') exponent_text.remove_prefix(1);
  int exponent = 0;
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);

  // ECMA-262, Number::toString: k digits, the decimal point after the n-th.
  const int k = static_cast<int>(digits.size());
  const int n = exponent + 1;
  if (k <= n && n <= 21) return text + digits + std::string(static_cast<std::size_t>(n - k), '0');
  if (0 < n && n <= 21) {
    return text + digits.substr(0, static_cast<std::size_t>(n)) + "." + digits.substr(static_cast<std::size_t>(n));
  }
  if (-6 < n && n <= 0) return text + "0." + std::string(static_cast<std::size_t>(-n), '0') + digits;
  text += digits.front();
  if (k > 1) text += "." + digits.substr(1);
  return text + (exponent < 0 ? "e-" : "e+") + std::to_string(exponent < 0 ? -exponent : exponent);
}

}  // namespace heddle::effect

#include "heddle/effect/schema/json_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

namespace heddle::effect {
namespace {

using nlohmann::json;

void append_quoted(std::string& out, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += '"';
  std::size_t plain = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    out.append(text, plain, at - plain);
    plain = at + 1;
    constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
    constexpr std::string_view kLetter = "\"\\bfnrt";
    const std::size_t found = kShort.find(text[at]);
    if (found != std::string_view::npos) {
      out += '\\';
      out += kLetter[found];
    } else {
      out += "\\u00";
      out += kDigits[byte >> 4U];
      out += kDigits[byte & 0xFU];
    }
  }
  out.append(text, plain, text.size() - plain);
  out += '"';
}

// Writes what a parser reads. Names of the members of open objects are kept as positions in the text written so far.
class Writer {
 public:
  explicit Writer(std::size_t ceiling) : ceiling_(ceiling) {}

  CompactJson result;

  bool null() { return scalar("null"); }
  bool boolean(bool value) { return scalar(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) { return integer(value); }
  bool number_unsigned(std::uint64_t value) { return integer(value); }
  bool number_float(double value, const std::string& /*lexeme*/) { return scalar(ecmascript_number(value)); }
  bool string(std::string& value) {
    before_value();
    if (writing()) append_quoted(result.text, value);
    return after_value();
  }
  static bool binary(json::binary_t& /*value*/) { return false; }

  bool start_object(std::size_t /*elements*/) { return open('{'); }
  bool start_array(std::size_t /*elements*/) { return open('['); }

  bool key(std::string& name) {
    Level& level = levels_.back();
    if (!level.empty && writing()) {
      members_.back().value_end = result.text.size();
      result.text += ',';
    }
    level.empty = false;
    if (writing()) {
      Member member{};
      member.name_begin = result.text.size();
      append_quoted(result.text, name);
      member.name_end = result.text.size();
      result.text += ':';
      members_.push_back(member);
    }
    return true;
  }

  bool end_object() {
    const Level level = levels_.back();
    levels_.pop_back();
    if (writing()) {
      if (members_.size() > level.first_member) {
        members_.back().value_end = result.text.size();
        drop_repeated(level.first_member);
      }
      if (levels_.empty()) split(level.first_member);
      members_.resize(level.first_member);
      result.text += '}';
    }
    return after_value();
  }

  bool end_array() {
    levels_.pop_back();
    if (writing()) result.text += ']';
    return after_value();
  }

  bool parse_error(std::size_t position, const std::string& /*token*/, const json::exception& error) {
    constexpr int kNumberOutOfRange = 406;  // nlohmann/json's number for it
    const std::string at = "byte " + std::to_string(position);
    result.why = error.id == kNumberOutOfRange
                     ? "out of range: the number before " + at + " is more than a double holds"
                     : "not JSON at " + at;
    return false;
  }

  std::vector<JsonMember> top_members;
  bool keep_members = false;
  bool top_is_object = false;

  // A verdict of its own stands; else the whole text was read and is good.
  void finish() {
    result.verdict = verdict_;
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

  template <class Integer>
  bool integer(Integer value) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return scalar({digits.data(), static_cast<std::size_t>(end - digits.data())});
  }

  bool open(char bracket) {
    before_value();
    if (levels_.empty()) top_is_object = bracket == '{';
    levels_.push_back({bracket == '{', true, members_.size()});
    if (levels_.size() > kMaxJsonDepth && writing()) verdict_ = JsonVerdict::too_deep;
    if (writing()) result.text += bracket;
    return true;
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
    std::string kept;
    const std::size_t start = members_[first].name_begin;
    std::vector<Member> kept_members;
    for (std::size_t i = 0; i < count; ++i) {
      if (value_from[i] == kDropped) continue;
      if (!kept.empty()) kept += ',';
      Member member{};
      member.name_begin = start + kept.size();
      kept += name_of(members_[first + i]);
      member.name_end = start + kept.size();
      kept += ':';
      kept += value_of(members_[value_from[i]]);
      member.value_end = start + kept.size();
      kept_members.push_back(member);
    }
    result.text.resize(start);
    result.text += kept;
    members_.resize(first);
    members_.insert(members_.end(), kept_members.begin(), kept_members.end());
  }

  void split(std::size_t first) {
    if (!keep_members) return;
    for (std::size_t i = first; i < members_.size(); ++i) {
      top_members.push_back({json::parse(name_of(members_[i])).get<std::string>(), std::string(value_of(members_[i]))});
    }
  }

  const std::size_t ceiling_;
  JsonVerdict verdict_ = JsonVerdict::good;
  std::vector<Level> levels_;
  std::vector<Member> members_;
  std::vector<std::size_t> order_;
};

std::optional<unsigned> hex4(std::string_view text, std::size_t at) {
  unsigned value = 0;
  if (text.size() < at + 4) return std::nullopt;
  const auto read = std::from_chars(text.data() + at, text.data() + at + 4, value, 16);
  if (read.ec != std::errc() || read.ptr != text.data() + at + 4) return std::nullopt;
  return value;
}

// An escaped surrogate without its other half becomes the escape of U+FFFD; everything else stays as it is.
std::string repair_surrogates(std::string_view text) {
  std::string repaired(text);
  for (std::size_t at = text.find('\\'); at != std::string_view::npos; at = text.find('\\', at)) {
    const bool unicode = at + 1 < text.size() && text[at + 1] == 'u';
    const auto unit = unicode ? hex4(text, at + 2) : std::nullopt;
    if (!unit) {
      at += 2;
      continue;
    }
    const bool high = *unit >= 0xD800 && *unit <= 0xDBFF;
    const bool low = *unit >= 0xDC00 && *unit <= 0xDFFF;
    if (high && text.substr(at + 6, 2) == "\\u") {
      const auto next = hex4(text, at + 8);
      if (next && *next >= 0xDC00 && *next <= 0xDFFF) {
        at += 12;
        continue;
      }
    }
    if (high || low) repaired.replace(at + 2, 4, "fffd");
    at += 6;
  }
  return repaired;
}

void run(std::string_view text, Writer& writer) {
  std::string repaired;
  if (text.find("\\u") != std::string_view::npos) {
    repaired = repair_surrogates(text);
    text = repaired;
  }
  // The parser would skip a byte order mark, which is not JSON.
  if (text.substr(0, 1) == "\xEF") {
    writer.result.why = "not JSON at byte 1";
    return;
  }
  if (json::sax_parse(text.begin(), text.end(), &writer)) {
    writer.finish();
  } else {
    writer.result.text.clear();
  }
}

}  // namespace

CompactJson compact_json(std::string_view text, std::size_t ceiling) {
  Writer writer(ceiling);
  run(text, writer);
  return std::move(writer.result);
}

core::Result<std::vector<JsonMember>> split_object(std::string_view text) {
  Writer writer(std::string::npos);
  writer.keep_members = true;
  run(text, writer);
  const CompactJson& result = writer.result;
  const auto malformed = [](std::string_view why) {
    return core::make_error(core::Errc::malformed, "read a JSON object", why);
  };
  if (result.verdict == JsonVerdict::too_deep) return malformed("it is nested too deeply");
  if (result.verdict != JsonVerdict::good) return malformed(result.why);
  if (!writer.top_is_object) return malformed("it is another kind of value");
  if (result.repeated_names) return malformed("a member is named twice");
  return std::move(writer.top_members);
}

std::string quote_json(std::string_view text) {
  std::string quoted;
  append_quoted(quoted, text);
  return quoted;
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

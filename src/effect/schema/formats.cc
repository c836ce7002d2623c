#include "formats.h"

#include <algorithm>
#include <array>

namespace heddle::effect {
namespace {

// Takes what RFC 3339, 5.6 names off the front of a text; after the first failure all fail.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool full_date() {
    const int year = digits(4);
    const bool dashed = one_of("-");
    const int month = digits(2);
    const int day = one_of("-") ? digits(2) : -1;
    constexpr std::array<int, 12> kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (!good_ || !dashed || month < 1 || month > 12 || day < 1) return fail();
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day <= kDays.at(static_cast<std::size_t>(month) - 1) + (leap && month == 2 ? 1 : 0) || fail();
  }

  bool full_time() {
    const int hour = digits(2);
    const int minute = one_of(":") ? digits(2) : -1;
    const int second = one_of(":") ? digits(2) : -1;
    if (!good_ || hour > 23 || minute > 59 || second > 60) return fail();
    if (next_is(".")) {
      text_.remove_prefix(1);
      const std::size_t count = std::min(text_.find_first_not_of("0123456789"), text_.size());
      if (count == 0) return fail();
      text_.remove_prefix(count);
    }
    int offset = 0;
    if (next_is("+-")) {
      const int sign = text_.front() == '-' ? -1 : 1;
      text_.remove_prefix(1);
      const int hours = digits(2);
      const int minutes = one_of(":") ? digits(2) : -1;
      if (!good_ || hours > 23 || minutes > 59) return fail();
      offset = sign * (hours * 60 + minutes);
    } else if (!one_of("zZ")) {
      return fail();
    }
    // A leap second is the last one of a day in UTC.
    constexpr int kDay = 24 * 60;
    return second < 60 || (hour * 60 + minute - offset + kDay) % kDay == kDay - 1 || fail();
  }

  bool one_of(std::string_view characters) {
    if (!good_ || !next_is(characters)) return fail();
    text_.remove_prefix(1);
    return true;
  }

  [[nodiscard]] bool at_end() const { return good_ && text_.empty(); }

 private:
  [[nodiscard]] bool next_is(std::string_view characters) const {
    return !text_.empty() && characters.find(text_.front()) != std::string_view::npos;
  }
  bool fail() {
    good_ = false;
    return false;
  }
  int digits(std::size_t count) {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!good_ || !next_is("0123456789")) {
        fail();
        return -1;
      }
      value = value * 10 + (text_.front() - '0');
      text_.remove_prefix(1);
    }
    return value;
  }

  std::string_view text_;
  bool good_ = true;
};

}  // namespace

bool has_format(Format format, std::string_view text) {
  Reader reader(text);
  switch (format) {
    case Format::none:
      return true;
    case Format::date:
      return reader.full_date() && reader.at_end();
    case Format::time:
      return reader.full_time() && reader.at_end();
    case Format::date_time:
      return reader.full_date() && reader.one_of("tT") && reader.full_time() && reader.at_end();
  }
  return false;
}

}  // namespace heddle::effect

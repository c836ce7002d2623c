#include "heddle/core/units.h"

#include <array>
#include <optional>
#include <span>

#include "heddle/core/text.h"
#include "linked.h"

namespace heddle::core {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array<Unit, 4> kTimes{{{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}}};
constexpr std::array<Unit, 9> kSizes{{{"", 1},
                                      {"B", 1},
                                      {"kB", 1000},
                                      {"KB", 1000},
                                      {"MB", 1'000'000},
                                      {"GB", 1'000'000'000},
                                      {"KiB", std::uint64_t{1} << 10},
                                      {"MiB", std::uint64_t{1} << 20},
                                      {"GiB", std::uint64_t{1} << 30}}};
constexpr std::array<std::string_view, 4> kTimeOrder{"h", "m", "s", "ms"};
constexpr std::array<std::string_view, 4> kSizeOrder{"GiB", "MiB", "KiB", "B"};
constexpr std::array<Unit, 1> kCounts{{{"", 1}}};

// The whole token or nothing: digits, with a point and digits where a unit follows, and one of the units. A number that
// is too large for the arithmetic is UINT64_MAX, which no range holds.
std::optional<std::uint64_t> parse(std::string_view text, std::span<const Unit> units) {
  std::size_t at = 0;
  const auto digit = [&] { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  if (!digit()) return std::nullopt;
  bool overflow = false;
  std::uint64_t whole = 0;
  for (; digit(); ++at) {
    const auto value = static_cast<std::uint64_t>(text[at] - '0');
    overflow = overflow || __builtin_mul_overflow(whole, std::uint64_t{10}, &whole) ||
               __builtin_add_overflow(whole, value, &whole);
  }
  std::uint64_t fraction = 0;
  std::uint64_t scale = 1;
  bool has_fraction = false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!digit()) return std::nullopt;
    has_fraction = true;
    for (; digit(); ++at) {
      if (scale >= 1'000'000'000) continue;  // what follows is below one part in 10^9 of the largest unit
      fraction = fraction * 10 + static_cast<std::uint64_t>(text[at] - '0');
      scale *= 10;
    }
  }
  for (const Unit& unit : units) {
    if (text.substr(at) != unit.name || (has_fraction && unit.name.empty())) continue;
    std::uint64_t value = 0;
    if (overflow || __builtin_mul_overflow(whole, unit.factor, &value)) return UINT64_MAX;
    const std::uint64_t part = fraction * unit.factor / scale;  // both below 2^32: no overflow
    return __builtin_add_overflow(value, part, &value) ? UINT64_MAX : value;
  }
  return std::nullopt;
}

Error refusal(std::string_view option, std::string_view text, std::string_view wanted) {
  return make_error(Errc::invalid_argument, std::string(option) + " " + printable_line(bound_text(text, 60)), wanted);
}

std::string named(std::uint64_t value, std::span<const Unit> units, std::span<const std::string_view> order) {
  for (const std::string_view name : order) {
    for (const Unit& unit : units) {
      if (unit.name == name && value >= unit.factor && value % unit.factor == 0)
        return std::to_string(value / unit.factor) + std::string(name);
    }
  }
  return std::to_string(value) + std::string(order.back());
}

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view option, std::string_view text, DurationRange range) {
  const auto wanted = "give a time from " + duration_text(range.lowest) + " to " + duration_text(range.highest) +
                      ", such as 500ms, 2s or 1m";
  const auto value = parse(text, kTimes);
  if (!value) return refusal(option, text, wanted);
  if (*value < static_cast<std::uint64_t>(range.lowest.count()) ||
      *value > static_cast<std::uint64_t>(range.highest.count()))
    return refusal(option, text, wanted);
  return std::chrono::milliseconds(*value);
}

Result<std::uint64_t> parse_size(std::string_view option, std::string_view text, SizeRange range) {
  const auto wanted = "give a size from " + size_text(range.lowest) + " to " + size_text(range.highest) +
                      ", such as 65536, 512KiB or 64MiB";
  const auto value = parse(text, kSizes);
  if (!value || *value < range.lowest || *value > range.highest) return refusal(option, text, wanted);
  return *value;
}

Result<std::uint64_t> parse_count(std::string_view option, std::string_view text, SizeRange range) {
  const auto value = parse(text, kCounts);
  if (!value || *value < range.lowest || *value > range.highest) {
    return refusal(option, text,
                   "give a whole number from " + std::to_string(range.lowest) + " to " + std::to_string(range.highest));
  }
  return *value;
}

std::string duration_text(std::chrono::milliseconds duration) {
  return named(static_cast<std::uint64_t>(duration.count()), kTimes, kTimeOrder);
}

std::string size_text(std::uint64_t bytes) { return named(bytes, kSizes, kSizeOrder); }

}  // namespace heddle::core

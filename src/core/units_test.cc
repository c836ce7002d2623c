#include "heddle/core/units.h"

#include <gtest/gtest.h>

namespace heddle::core {
namespace {

using std::chrono::milliseconds;

constexpr DurationRange kTimes{milliseconds(1), milliseconds(3'600'000)};
constexpr SizeRange kSizes{1, std::uint64_t{4} << 30};

TEST(UnitsTest, TimesAreReadWhole) {
  const std::pair<const char*, long> good[] = {{"2s", 2000},      {"500ms", 500},    {"1.5s", 1500},
                                               {"2m", 120'000},   {"1h", 3'600'000}, {"0.25m", 15'000},
                                               {"1.0009s", 1000}, {"007ms", 7},      {"0.0000000000000000000001h", -1}};
  for (const auto& [text, value] : good) {
    const auto parsed = parse_duration("--t", text, kTimes);
    EXPECT_EQ(parsed.ok() ? parsed.value().count() : -1, value) << text;
  }
  for (const char* bad : {"",
                          "2",
                          "s",
                          "2 s",
                          " 2s",
                          "2s ",
                          "2S",
                          "+2s",
                          "-2s",
                          "2.s",
                          ".5s",
                          "1e3s",
                          "0x1s",
                          "0s",
                          "0.4ms",
                          "3601s",
                          "61m",
                          "2ss",
                          "2s500ms",
                          "18446744073709551616ms",
                          "99999999999999999999999h",
                          "5124095576030432h",
                          "2,5s",
                          "inf",
                          "nan"})
    EXPECT_FALSE(parse_duration("--t", bad, kTimes).ok()) << bad;
}

TEST(UnitsTest, SizesAreReadWhole) {
  const std::pair<const char*, std::uint64_t> good[] = {
      {"65536", 65536}, {"1B", 1},      {"64MiB", 67'108'864}, {"1MB", 1'000'000},      {"1kB", 1000},
      {"1KB", 1000},    {"1KiB", 1024}, {"1.5MiB", 1'572'864}, {"1GiB", 1'073'741'824}, {"1GB", 1'000'000'000}};
  for (const auto& [text, value] : good) {
    const auto parsed = parse_size("--s", text, kSizes);
    EXPECT_EQ(parsed.ok() ? parsed.value() : 0, value) << text;
  }
  for (const char* bad : {"", "0", "-1", "1.5", "64mib", "64 MiB", "64M", "64TiB", "MiB", "5GiB",
                          "18446744073709551616", "17179869184GiB", "0.5B"})
    EXPECT_FALSE(parse_size("--s", bad, kSizes).ok()) << bad;
}

TEST(UnitsTest, CountsHaveNoUnit) {
  EXPECT_EQ(parse_count("--n", "8", {1, 64}).value(), 8U);
  for (const char* bad : {"", "0", "65", "8B", "8.0", "-1", " 8"})
    EXPECT_FALSE(parse_count("--n", bad, {1, 64}).ok()) << bad;
}

// What is refused names the option, what was given and what may be given, and cannot drive a terminal.
TEST(UnitsTest, ARefusalSaysWhatToDo) {
  EXPECT_EQ(parse_duration("--wall-clock", "0s", kTimes).error().message(),
            "--wall-clock 0s: give a time from 1ms to 1h, such as 500ms, 2s or 1m");
  EXPECT_EQ(parse_size("--memory", "1\x1B[2J", {std::uint64_t{2} << 20, std::uint64_t{2} << 30}).error().message(),
            "--memory 1 [2J: give a size from 2MiB to 2GiB, such as 65536, 512KiB or 64MiB");
}

TEST(UnitsTest, TextIsShortAndExact) {
  EXPECT_EQ(duration_text(milliseconds(2000)), "2s");
  EXPECT_EQ(duration_text(milliseconds(1500)), "1500ms");
  EXPECT_EQ(duration_text(milliseconds(60'000)), "1m");
  EXPECT_EQ(size_text(1 << 20), "1MiB");
  EXPECT_EQ(size_text(1000), "1000B");
  EXPECT_EQ(size_text((1 << 20) + 1), "1048577B");
}

}  // namespace
}  // namespace heddle::core

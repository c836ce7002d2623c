// Percentiles of a measurement beside those of its floor, taken in turn in the same run. Ratios are what to read; the
// times are one machine's.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "heddle/core/clock.h"
#include "heddle/core/result.h"

namespace heddle::bench {

/// The value, or the end of the benchmark.
template <class T>
T must(core::Result<T> result) {
  if (!result.ok()) {
    (void)std::fprintf(stderr, "bench: %s\n", result.error().message().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

class Sample {
 public:
  explicit Sample(std::string name) : name_(std::move(name)) {}

  template <class Work>
  void time(const Work& work) {
    const core::TimePoint before = core::Clock::now();
    work();
    add(core::Clock::now() - before);
  }
  void add(core::Duration duration) {
    microseconds_.push_back(std::chrono::duration<double, std::micro>(duration).count());
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::size_t size() const noexcept { return microseconds_.size(); }
  [[nodiscard]] double percentile(double p) const;

 private:
  std::string name_;
  std::vector<double> microseconds_;
};

void print_heading();
void print_row(const Sample& sample);
/// The same with the ratio of the medians.
void print_row(const Sample& sample, const Sample& floor);

}  // namespace heddle::bench

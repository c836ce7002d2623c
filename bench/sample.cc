#include "sample.h"

#include <algorithm>
#include <cstdio>

#include "heddle/core/check.h"

namespace heddle::bench {

double Sample::percentile(double p) const {
  HEDDLE_CHECK(!microseconds_.empty());
  std::vector<double> sorted = microseconds_;
  std::sort(sorted.begin(), sorted.end());
  const auto index = static_cast<std::size_t>(p / 100 * static_cast<double>(sorted.size()));
  return sorted[std::min(index, sorted.size() - 1)];
}

void print_heading() {
  std::printf("%-36s %10s %10s %10s %7s   %s\n", "microseconds", "p50", "p95", "p99", "n", "p50 against its floor");
}

void print_row(const Sample& sample) {
  std::printf("%-36s %10.1f %10.1f %10.1f %7zu\n", sample.name().c_str(), sample.percentile(50), sample.percentile(95),
              sample.percentile(99), sample.size());
}

void print_row(const Sample& sample, const Sample& floor) {
  std::printf("%-36s %10.1f %10.1f %10.1f %7zu   %.2f x %s\n", sample.name().c_str(), sample.percentile(50),
              sample.percentile(95), sample.percentile(99), sample.size(), sample.percentile(50) / floor.percentile(50),
              floor.name().c_str());
}

}  // namespace heddle::bench

// LineJobs: the jobs of --each and --batch, one a line of newline-separated JSON.
#pragma once

#include <array>
#include <functional>

#include "jobs.h"
#include "lines.h"
#include "source.h"

namespace heddle::cli {

class LineJobs final : public JobSource {
 public:
  using Make = std::function<Job(const Line&)>;
  /// `ceiling` is of a line's bytes; `make` sees lines over it with too_long.
  LineJobs(Source source, std::uint64_t ceiling, Make make)
      : source_(std::move(source)), total_(source_.size()), lines_(ceiling), make_(std::move(make)) {}

  [[nodiscard]] core::Result<Step> next() override;
  [[nodiscard]] int fd() const override { return source_.fd(); }
  [[nodiscard]] bool take_read() override { return lines_.next().has_value(); }
  [[nodiscard]] std::uint64_t bytes_read() const override { return read_; }
  [[nodiscard]] std::optional<std::uint64_t> bytes_total() const override { return total_; }

 private:
  Source source_;
  std::optional<std::uint64_t> total_;
  LineBuffer lines_;
  Make make_;
  std::array<char, 65536> chunk_{};
  std::uint64_t read_ = 0;
  bool readable_ = false;  // poll(2) was asked since nothing was there
  bool ended_ = false;
};

struct Ceilings {
  std::uint64_t script;
  std::uint64_t input;
};

/// A line of --each: the input of `script`.
[[nodiscard]] Job each_job(const Line& line, const sandbox::quickjs::RunRequest& defaults, Ceilings ceilings);
/// A line of --batch, read strictly: an unknown or double field, a wrong type or a limit that cannot be is a failure of
/// that line, with line number and column.
[[nodiscard]] Job batch_job(const Line& line, const sandbox::quickjs::RunRequest& defaults, Ceilings ceilings);
/// What a line of --batch may hold: every byte of the script may be written as six (\u0041).
[[nodiscard]] std::uint64_t batch_line_ceiling(Ceilings ceilings);

}  // namespace heddle::cli

#include "line_jobs.h"

#include <fmt/format.h>

#include "heddle/core/units.h"
#include "json.h"

namespace heddle::cli {

core::Result<JobSource::Step> LineJobs::next() {
  for (;;) {
    if (auto line = lines_.next()) return Step{State::job, make_(*line)};
    if (ended_) return Step{State::end, std::nullopt};
    if (!readable_) {
      readable_ = true;
      return Step{State::nothing_yet, std::nullopt};
    }
    readable_ = false;
    HEDDLE_ASSIGN(const Source::Chunk chunk, source_.read(chunk_.data(), chunk_.size()));
    read_ += chunk.bytes.size();
    lines_.feed(chunk.bytes);
    if (chunk.state == Source::Chunk::State::end) {
      ended_ = true;
      lines_.finish();
    }
  }
}

Job each_job(const Line& line, const sandbox::quickjs::RunRequest& defaults, Ceilings ceilings) {
  if (line.too_long) {
    return report(OutcomeKind::input_too_large,
                  fmt::format("line {} has more than {} (--max-input)", line.number, core::size_text(ceilings.input)));
  }
  if (const auto fault = check_json(line.text))
    return failed_report(fmt::format("input line {}, column {}: {}", line.number, fault->offset + 1, fault->message));
  auto request = defaults;
  request.input_json = line.text;
  return request;
}

}  // namespace heddle::cli

// run_jobs: up to N evaluations at a time, outcomes in the order of their jobs, one thread, one poll(2) over runs,
// input, output and signals. What is kept in memory is bounded whatever comes in and however slowly it is read
// (SBX-21).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "heddle/cli/evaluator.h"
#include "jobs.h"
#include "output.h"
#include "progress.h"
#include "signals.h"

namespace heddle::cli {

struct LoopLimits {
  std::size_t workers = 1;
  std::size_t window_jobs = 1024;                   ///< started or finished, and not yet given out
  std::size_t window_bytes = std::size_t{2} << 20;  ///< finished and not yet given out, above which none is started
  std::size_t output_bytes = std::size_t{1} << 20;  ///< waiting for a reader, above which none is started
};

struct LoopResult {
  std::uint64_t jobs = 0;
  std::uint64_t ok = 0;
  bool cancelled = false;
  std::optional<core::Error> source_error;  ///< the input could not be read on; what had been read has its outcomes
};

/// `give` gets each outcome in order and writes it to `output`. Returns when the source has ended and everything is
/// written, or cancelled, or the output is broken; no evaluation is left then.
[[nodiscard]] LoopResult run_jobs(JobSource& source, Evaluator& evaluator, const LoopLimits& limits, Signals& signals,
                                  Output& output, Progress& progress, const std::function<void(Report)>& give);

}  // namespace heddle::cli

// JobSource: what is to be run, one job after the other, as it comes in.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "heddle/core/result.h"
#include "report.h"

namespace heddle::cli {

/// A run, or what there is to say of one that cannot be started.
using Job = std::variant<sandbox::quickjs::RunRequest, Report>;

class JobSource {
 public:
  JobSource() = default;
  JobSource(const JobSource&) = delete;
  JobSource& operator=(const JobSource&) = delete;
  virtual ~JobSource() = default;

  enum class State { job, nothing_yet, end };
  struct Step {
    State state;
    std::optional<Job> job;  ///< of State::job
  };
  /// Reads only after fd() was found readable, or for the first time. After an error or the end it is not called again.
  [[nodiscard]] virtual core::Result<Step> next() = 0;
  /// What poll(2) waits for after State::nothing_yet.
  [[nodiscard]] virtual int fd() const = 0;
  /// Whether one more job has been read already; takes it. Each gets an outcome even when the command is cancelled.
  [[nodiscard]] virtual bool take_read() = 0;

  /// For the progress bar.
  [[nodiscard]] virtual std::uint64_t bytes_read() const { return 0; }
  [[nodiscard]] virtual std::optional<std::uint64_t> bytes_total() const { return std::nullopt; }
};

}  // namespace heddle::cli

// Progress: one line on a terminal, at most ten times a second; nothing where standard error is no terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/core/clock.h"
#include "timed_write.h"

namespace heddle::cli {

struct ProgressState {
  std::uint64_t done = 0;
  std::uint64_t ok = 0;
  std::uint64_t bytes_read = 0;
  std::optional<std::uint64_t> bytes_total;
};

/// Fewer than 80 columns, ASCII: a bar where the total is known, counts alone where it is not.
[[nodiscard]] std::string progress_line(const ProgressState& state);

class Progress {
 public:
  enum class Shown { yes, no };
  /// `also_output`: standard output is the same terminal, so the line makes way for each outcome.
  Progress(Shown shown, bool also_output) : shown_(shown), also_output_(also_output) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { erase(); }

  /// For poll(2): when the line is to be drawn again.
  [[nodiscard]] core::Deadline due() const;
  void update(const ProgressState& state);
  /// Before something is written to standard output.
  void make_way();
  void erase();

 private:
  void show(std::string_view text);

  TimedWriter writer_;
  Shown shown_;
  bool also_output_;
  bool drawn_ = false;
  bool pending_ = false;
  core::TimePoint next_{};
};

}  // namespace heddle::cli

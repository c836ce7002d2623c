#include "progress.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

namespace heddle::cli {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr std::size_t kBarColumns = 30;

}  // namespace

std::string progress_line(const ProgressState& state) {
  std::string counts = fmt::format("{} done, {} not ok", state.done, state.done - state.ok);
  if (!state.bytes_total || *state.bytes_total == 0) return counts;
  const double part = std::min(1.0, static_cast<double>(state.bytes_read) / static_cast<double>(*state.bytes_total));
  const auto filled = static_cast<std::size_t>(part * static_cast<double>(kBarColumns));
  return fmt::format("[{:<{}}] {:3.0f}% {}", std::string(filled, '#'), kBarColumns, part * 100, counts);
}

// A line that cannot be shown is not missed, and not waited for: the terminal may be stopped.
void Progress::show(std::string_view text) {
  pollfd terminal{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&terminal, 1, 0) > 0) (void)writer_.write(STDERR_FILENO, text.data(), text.size());
}

core::Deadline Progress::due() const {
  return shown_ == Shown::yes && pending_ ? core::Deadline::at(next_) : core::Deadline::never();
}

void Progress::update(const ProgressState& state) {
  if (shown_ == Shown::no) return;
  const auto now = core::Clock::now();
  pending_ = now < next_;
  if (pending_) return;
  next_ = now + kInterval;
  show("\r" + progress_line(state) + "\033[K");
  drawn_ = true;
}

void Progress::make_way() {
  if (also_output_) erase();
}

void Progress::erase() {
  if (!drawn_) return;
  show("\r\033[K");
  drawn_ = false;
}

}  // namespace heddle::cli

#include "relay.h"

#include <limits.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace heddle::cli {
namespace {

constexpr std::size_t kChunk = std::size_t{64} << 10;

bool again(int error) { return error == EINTR || error == EAGAIN; }

}  // namespace

pollfd OutputRelay::wanted() const {
  const bool takes = from_.valid() && !to_->waits();
  return {takes ? from_.get() : -1, POLLIN, 0};
}

void OutputRelay::step() { (void)take(kChunk); }

// How many bytes it was; 0 when no more are to be had now.
std::size_t OutputRelay::take(std::size_t most) {
  std::array<char, kChunk> bytes;
  const ssize_t got = ::read(from_.get(), bytes.data(), std::min(bytes.size(), most));
  if (got < 0 && again(errno)) return 0;
  lost_ = lost_ || (got > 0 && to_->state() != Output::State::good);
  if (got <= 0 || lost_) {
    from_.reset();
    return 0;
  }
  const auto size = static_cast<std::size_t>(got);
  const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(size, left_));
  to_->add({bytes.data(), taken});
  used_ = true;
  left_ -= taken;
  over_ = taken < size;
  if (over_) from_.reset();
  return taken;
}

void OutputRelay::last() {
  int bytes = 0;
  if (from_.valid() && ::ioctl(from_.get(), FIONREAD, &bytes) != 0) bytes = 0;
  for (auto left = static_cast<std::size_t>(std::max(bytes, 0)); left != 0 && from_.valid();) {
    const std::size_t taken = take(left);
    if (taken == 0) break;
    left -= taken;
  }
  from_.reset();
}

pollfd InputRelay::wanted() const {
  if (!chunk_.empty()) return {to_.get(), POLLOUT, 0};
  return {in_background() ? -1 : from_.get(), POLLIN, 0};
}

bool InputRelay::in_background() const {
  if (!from_.valid()) return false;
  const pid_t foreground = ::tcgetpgrp(from_.get());  // ENOTTY: no terminal, or not the one that controls us
  return foreground >= 0 && foreground != ::getpgrp();
}

void InputRelay::step() {
  if (chunk_.empty()) {
    take();
  } else {
    put();
  }
}

void InputRelay::take() {
  std::array<char, PIPE_BUF> bytes;
  const ssize_t got = ::read(from_.get(), bytes.data(), bytes.size());
  if (got < 0 && (again(errno) || in_background())) return;
  if (got < 0) error_ = errno;
  if (got <= 0) return close();
  chunk_.assign(bytes.data(), static_cast<std::size_t>(got));
}

void InputRelay::put() {
  const ssize_t put = ::write(to_.get(), chunk_.data(), chunk_.size());
  if (put < 0 && again(errno)) return;
  if (put < 0) return close();
  chunk_.erase(0, static_cast<std::size_t>(put));
}

void InputRelay::close() {
  from_.reset();
  to_.reset();
  chunk_.clear();
}

}  // namespace heddle::cli

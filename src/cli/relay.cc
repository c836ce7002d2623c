#include "relay.h"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace heddle::cli {

pollfd Relay::wanted() const {
  if (!chunk_.empty()) return {to_.get(), POLLOUT, 0};
  return {from_.valid() && !over_ ? from_.get() : -1, POLLIN, 0};
}

void Relay::step() {
  if (chunk_.empty()) {
    take();
  } else {
    put();
  }
}

void Relay::take() {
  std::array<char, PIPE_BUF> bytes{};
  const ssize_t got = ::read(from_.get(), bytes.data(), bytes.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) return close();
  const auto size = static_cast<std::size_t>(got);
  over_ = size > left_;
  chunk_.assign(bytes.data(), over_ ? static_cast<std::size_t>(left_) : size);
  left_ -= chunk_.size();
}

void Relay::put() {
  const ssize_t put = ::write(to_.get(), chunk_.data(), chunk_.size());
  if (put < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (put < 0) return close();
  chunk_.erase(0, static_cast<std::size_t>(put));
}

void Relay::close() {
  from_.reset();
  to_.reset();
  chunk_.clear();
}

}  // namespace heddle::cli

#include "heddle/journal/core/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "heddle/core/check.h"

namespace heddle::journal {

void futex_wait(const FutexWord& word, std::uint32_t expected, core::Deadline deadline) noexcept {
  timespec until{};
  timespec* limit = nullptr;
  if (!deadline.is_never()) {
    // steady_clock is CLOCK_MONOTONIC, which FUTEX_WAIT_BITSET takes as an absolute time.
    const auto since_boot = deadline.when().time_since_epoch();
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
    until.tv_sec = whole.count() < 0 ? 0 : whole.count();
    until.tv_nsec = whole.count() < 0 ? 0 : std::chrono::nanoseconds(since_boot - whole).count();
    limit = &until;
  }
  const long slept = ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, limit, nullptr,
                               FUTEX_BITSET_MATCH_ANY);
  HEDDLE_CHECK(slept == 0 || errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT);
}

void futex_wake(const FutexWord* word, int count) noexcept {
  ::syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, nullptr, nullptr, 0);
}

}  // namespace heddle::journal

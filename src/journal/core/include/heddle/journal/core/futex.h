// Waiting for a word to change, with a deadline (futex(2)). For what condition variables cannot do: waking exactly one
// chosen thread without that thread taking a lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "heddle/core/clock.h"

namespace heddle::journal {

using FutexWord = std::atomic<std::uint32_t>;
static_assert(sizeof(FutexWord) == sizeof(std::uint32_t));

/// Sleeps while `word` is `expected`, until woken or the deadline. Wakes without a cause too: look at the word again.
void futex_wait(const FutexWord& word, std::uint32_t expected, core::Deadline deadline) noexcept;

/// Wakes up to `count` sleepers. The word is used as an address only: it may be gone by now, when the thread that slept
/// on it saw the new value by itself and went on.
void futex_wake(const FutexWord* word, int count) noexcept;

}  // namespace heddle::journal

// How a pool of guests keeps them, and what it has counted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::guest {

struct PoolOptions {
  std::size_t size = 1;                          ///< at most this many guests; further calls wait for one
  std::chrono::milliseconds queue_limit{0};      ///< how long a call waits for one at most; 0: without end
  std::chrono::milliseconds cold_start{10'000};  ///< from spawn to ready
  std::chrono::milliseconds liveness_after{
      5'000};  ///< one idle for longer answers a ping before it is asked anything …
  std::chrono::milliseconds liveness_wait{2'000};  ///< … within this time, or is replaced
  /// A call over its limits is told to stop once for each of these, which is then waited; after the last comes SIGKILL.
  std::vector<std::chrono::milliseconds> stop_graces;
  std::size_t calls_per_guest = 10'000;      ///< then it is replaced by a new process
  std::chrono::milliseconds idle_expiry{0};  ///< one idle for longer is ended; costs a thread of the host; 0: none is
};

struct PoolStatistics {
  std::uint64_t spawned = 0;   ///< guests that became ready
  std::uint64_t killed = 0;    ///< ended because of what a call did
  std::uint64_t recycled = 0;  ///< replaced after calls_per_guest
  std::uint64_t expired = 0;   ///< ended after idle_expiry
  std::size_t alive = 0;
};

}  // namespace heddle::guest

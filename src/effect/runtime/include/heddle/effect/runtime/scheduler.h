// The second ring: how many effects run at once, in all and of each kind, and whose turn it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "heddle/core/clock.h"
#include "heddle/core/result.h"

namespace heddle::effect {

/// All above zero.
struct ScheduleLimits {
  std::size_t total = 64;                                   ///< of all kinds
  std::size_t each = 64;                                    ///< of each kind that `effects` does not name
  std::map<std::string, std::size_t, std::less<>> effects;  ///< of this kind
};

/// Thread-safe. Of those who wait for what just became free, the flow goes first that runs the least, and of equals the
/// one that has waited longest: a flow that asks for a thousand effects at once delays another one by one effect.
class Scheduler {
  struct State;

 public:
  /// Frees its place when it goes.
  class [[nodiscard]] Slot {
   public:
    Slot() = default;
    Slot(Slot&& other) noexcept;
    Slot& operator=(Slot&& other) noexcept;
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot() { release(); }
    void release() noexcept;

   private:
    friend class Scheduler;
    std::shared_ptr<State> state_;
    void* flow_ = nullptr;
    void* effect_ = nullptr;
  };

  struct Statistics {
    std::size_t running = 0;
    std::size_t waiting = 0;
  };

  /// Errc::invalid_argument for a limit of zero.
  [[nodiscard]] static core::Result<std::shared_ptr<Scheduler>> create(ScheduleLimits limits = {});

  /// Waits for a place. Errc::cancelled or timed_out when the stop or the deadline comes first.
  [[nodiscard]] core::Result<Slot> acquire(std::string_view flow, std::string_view effect, const std::stop_token& stop,
                                           core::Deadline deadline);

  [[nodiscard]] Statistics statistics() const;

 private:
  explicit Scheduler(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace heddle::effect

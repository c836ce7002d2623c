// Host: the one supervisor of this process, shared by all that spawn guests, and replaced when it has died.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "heddle/guest/backoff.h"
#include "heddle/jail/supervisor.h"
#include "heddle/wire/channel.h"

namespace heddle::guest {

/// A confined process, and this side's end of its channel.
struct Spawned {
  jail::Guest guest;
  wire::Channel channel;
};

/// Thread-safe. Must outlive no guest: one that still lives keeps what it needs of its supervisor, which ends when the
/// Host does.
///
/// A supervisor that died took its guests along, and what ran in them is lost. The next spawn starts another one, so
/// that nothing else has to be made anew (JAIL-21). What was checked at the first start is what is started again,
/// whatever lies at its path by then. Where one start after the other fails, spawn() gives the last failure at once
/// until the back-off is over.
class Host {
 public:
  explicit Host(jail::SupervisorOptions options = {});
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() = default;

  /// Starts the supervisor unless one was started and is not known to have died. For who wants to know early: spawn()
  /// does it as well.
  [[nodiscard]] core::Result<void> start();

  /// jail::Supervisor::spawn() with a channel made for it. A supervisor that turns out to be dead is replaced once.
  [[nodiscard]] core::Result<Spawned> spawn(const jail::Policy& policy, const jail::Program& program,
                                            const std::vector<core::Fd>& more = {});

  /// Supervisors that were started.
  [[nodiscard]] std::uint64_t started() const;

 private:
  [[nodiscard]] core::Result<std::shared_ptr<jail::Supervisor>> living();
  [[nodiscard]] core::Result<jail::Supervisor> start_locked();
  void succeeded(const std::shared_ptr<jail::Supervisor>& with);
  void lost(const std::shared_ptr<jail::Supervisor>& dead, const core::Error& error);

  const jail::SupervisorOptions options_;
  mutable std::mutex mutex_;
  std::optional<jail::Program> program_;  // opened at the first start
  std::shared_ptr<jail::Supervisor> supervisor_;
  Backoff backoff_;
  std::uint64_t started_ = 0;
};

}  // namespace heddle::guest

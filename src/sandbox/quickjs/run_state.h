// RunState: the course of one run, from waiting for a worker to its outcome.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "heddle/sandbox/protocol/protocol.h"
#include "pool_state.h"

namespace heddle::sandbox::quickjs {

class RunState {
 public:
  RunState(std::shared_ptr<PoolState> pool, RunRequest request, RunDescriptors descriptors);
  RunState(const RunState&) = delete;
  RunState& operator=(const RunState&) = delete;
  ~RunState();

  [[nodiscard]] int fd() const noexcept { return descriptors_.epoll.get(); }
  [[nodiscard]] std::optional<Outcome> poll();
  [[nodiscard]] Outcome cancel();

 private:
  enum class Phase { waiting, starting, checking, running, finished };
  enum class Stop { none, soft, hard };
  enum class Progress { blocked, again, finished };

  void begin();  // leases a worker, or queues for one
  void take_worker(Lease worker);
  void start_on_worker();
  void send_order();
  void try_another_worker();

  Progress advance();
  Progress advance_waiting();
  Progress advance_starting();
  Progress advance_checking();
  Progress advance_running();
  Progress take_frame(const wire::Frame& frame);
  Progress take_done(const protocol::Done& done);
  Progress lost_worker(const core::Error& error);
  Progress check_clock();
  Progress finish(Outcome outcome);
  Progress fail(core::Error error);
  Progress hit_limit(LimitKind kind);

  void set_timer(core::TimePoint when);
  void watch_worker();
  void unwatch_worker();
  void discard_worker(Discard why);
  Outcome measured(Outcome outcome);

  std::shared_ptr<PoolState> pool_;
  RunRequest request_;
  RunDescriptors descriptors_;
  Waiter waiter_;
  Lease worker_;
  Phase phase_ = Phase::waiting;
  Stop stop_ = Stop::none;
  LimitKind stopped_for_ = LimitKind::wall_clock;
  bool watching_ = false;
  std::uint32_t run_ = 0;
  std::size_t attempts_ = 0;
  core::TimePoint started_;
  core::TimePoint deadline_ = core::TimePoint::max();  // of the present phase
  std::chrono::microseconds cpu_before_{0};
  std::string value_;
  std::optional<guest::Account> account_;
  std::optional<Outcome> outcome_;
};

}  // namespace heddle::sandbox::quickjs

// WorkerProcess: one heddle-sandbox-worker as the pool sees it: its jail, its channel, its history.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "heddle/jail/supervisor.h"
#include "heddle/sandbox/quickjs/run.h"
#include "heddle/wire/channel.h"

namespace heddle::sandbox::quickjs {

/// Not thread-safe: owned by the pool while idle and by one run while leased. Destroying it kills and reaps the
/// process.
class WorkerProcess {
 public:
  /// Confined and executed, but not ready: its first message is still to come.
  [[nodiscard]] static core::Result<std::unique_ptr<WorkerProcess>> spawn(jail::Supervisor& supervisor,
                                                                          const jail::Policy& policy,
                                                                          const jail::Program& program);

  [[nodiscard]] wire::Channel& channel() noexcept { return channel_; }
  [[nodiscard]] bool ready() const noexcept { return ready_; }
  [[nodiscard]] core::TimePoint spawned_at() const noexcept { return spawned_at_; }
  [[nodiscard]] core::TimePoint idle_since() const noexcept { return idle_since_; }
  [[nodiscard]] std::uint32_t runs() const noexcept { return runs_; }

  /// The worker's first message has come. Ok only if it says ready, is of our version, and the kernel confirms the jail
  /// (JAIL-16); the worker must not be sent anything otherwise.
  [[nodiscard]] core::Result<void> accept_first_message(const wire::Frame& frame);

  [[nodiscard]] std::uint32_t next_run() noexcept { return ++runs_; }
  void mark_idle() noexcept { idle_since_ = core::Clock::now(); }

  /// CPU time that the process has used so far, by the kernel's count. Of a process that is gone: the last that was
  /// read.
  [[nodiscard]] std::chrono::microseconds cpu_time();

  /// Sends the signal with the run's number as its value. A worker that is gone shows on its channel.
  void send_stop(int signal, std::uint32_t run) const;

  /// What confines it now: the beginning of a run's explanation. Denials up to here belong to no run.
  [[nodiscard]] Explanation begin_explanation();
  /// Adds what it was refused since. Says nothing of what cannot be learned any more.
  void add_denials(Explanation& explanation);

  /// How it died, for people: "it was killed by signal 31 (Bad system call)". Kills it if it has not.
  [[nodiscard]] std::string describe_end();

 private:
  WorkerProcess(jail::Guest guest, wire::Channel channel);

  jail::Guest guest_;
  wire::Channel channel_;
  bool ended_by_denial_ = false;
  core::TimePoint spawned_at_ = core::Clock::now();
  core::TimePoint idle_since_ = spawned_at_;
  std::uint32_t runs_ = 0;
  std::chrono::microseconds cpu_time_{0};
  bool ready_ = false;
};

}  // namespace heddle::sandbox::quickjs

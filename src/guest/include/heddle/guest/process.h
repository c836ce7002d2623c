// Process: one guest as its host sees it: its jail, its channel, what it has been asked.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/guest/host.h"

namespace heddle::guest {

/// What confined a guest while it was asked something, and what it was refused meanwhile.
struct Account {
  std::optional<jail::AppliedPolicy> applied;  ///< nothing when it ended before it could be asked
  jail::Denials denials;
  bool ended_by_denial = false;  ///< the last of them ended it
};

/// Not thread-safe. Destroying it kills and reaps the process.
class Process {
 public:
  /// Confined and executed, but not ready: its first message is still to come. `more` follows kFilterFd.
  [[nodiscard]] static core::Result<std::unique_ptr<Process>> spawn(Host& host, const jail::Policy& policy,
                                                                    const jail::Program& program,
                                                                    const std::vector<core::Fd>& more = {});

  [[nodiscard]] wire::Channel& channel() noexcept { return channel_; }
  [[nodiscard]] jail::Guest& guest() noexcept { return guest_; }
  [[nodiscard]] core::TimePoint spawned_at() const noexcept { return spawned_at_; }

  /// Whether it may be sent anything.
  [[nodiscard]] bool ready() const noexcept { return ready_; }
  /// Takes its first message if that has come: false while it has not, and within `cold_start` of the spawn. Ok only if
  /// it says ready, is of our version, and the kernel confirms the jail (JAIL-16). Errc::start_up when it ended or took
  /// too long; Errc::disconnected when its supervisor ended, and it with it: the next one may do.
  [[nodiscard]] core::Result<bool> poll_ready(std::chrono::milliseconds cold_start);
  /// The same, and waits for it.
  [[nodiscard]] core::Result<void> await_ready(std::chrono::milliseconds cold_start);

  /// That it took longer.
  [[nodiscard]] core::Error too_slow(std::chrono::milliseconds cold_start) const;

  /// Calls are numbered from 1.
  [[nodiscard]] std::uint32_t calls() const noexcept { return calls_; }
  [[nodiscard]] std::uint32_t next_call() noexcept { return ++calls_; }
  [[nodiscard]] core::TimePoint idle_since() const noexcept { return idle_since_; }
  void mark_idle() noexcept { idle_since_ = core::Clock::now(); }

  /// CPU time that the process has used so far, by the kernel's count. Of a process that is gone: the last that was
  /// read.
  [[nodiscard]] std::chrono::microseconds cpu_time();

  /// With a value. A guest that is gone shows on its channel.
  void send_signal(int signal, int value) const { (void)guest_.process().queue_signal(signal, value); }

  /// What confines it now: the beginning of a call's account. Denials up to here belong to no call.
  [[nodiscard]] Account begin_account();
  /// Adds what it was refused since. Says nothing of what cannot be learned any more.
  void add_denials(Account& account);

  /// How it died, for people: "it was killed by signal 31 (Bad system call)". Kills it if it has not.
  [[nodiscard]] std::string describe_end();

 private:
  Process(Spawned spawned, std::string program);
  [[nodiscard]] core::Result<void> accept_first_message(const wire::Frame& frame);
  [[nodiscard]] core::Error ended_early();
  [[nodiscard]] core::Error not_started(std::string_view why) const;

  jail::Guest guest_;
  wire::Channel channel_;
  const std::string program_;
  const core::TimePoint spawned_at_ = core::Clock::now();
  core::TimePoint idle_since_ = spawned_at_;
  std::uint32_t calls_ = 0;
  std::chrono::microseconds cpu_time_{0};
  std::optional<jail::Death> death_;
  bool ready_ = false;
};

}  // namespace heddle::guest

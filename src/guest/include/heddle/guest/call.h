// Call: one question to a guest of a pool, from waiting for one to the end, with its clocks.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "heddle/guest/pool.h"

namespace heddle::guest {

/// When the limits of a call begin to count.
enum class Clock : std::uint8_t {
  opens,  ///< now
  waits   ///< when the guest is heard to have begun; until then its cold start bounds what it does
};

enum class Heard : std::uint8_t {
  more,   ///< the answer is not whole
  begun,  ///< nor has it begun to come, but the clock opens
  last,   ///< the answer is whole, and its guest may be asked again
  unfit   ///< the answer is whole, and its guest is of no further use
};

/// What is said in one call: each kind of guest has one of its own. Called by the Call, on its owner's thread.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// The guest is verified and this call's: queue on its channel what it is asked, and grant the credit for what it may
  /// send. `call` counts from 1 on each guest.
  [[nodiscard]] virtual Clock ask(Process& guest, std::uint32_t call) = 0;
  /// A frame of the guest's; what is queued in reply is sent. An Error is a breach of the protocol, and ends the guest
  /// (WIRE-2).
  [[nodiscard]] virtual core::Result<Heard> take(const wire::Frame& frame) = 0;
  /// A limit is reached: tell the guest to stop, more urgently at each attempt (from 0; see PoolOptions::stop_graces).
  virtual void stop(Process& guest, std::uint32_t call, std::size_t attempt) = 0;
};

struct CallLimits {
  std::chrono::milliseconds wall_clock{0};  ///< more than zero
  std::chrono::milliseconds cpu{0};         ///< CPU time of the guest; 0: bounded by the wall clock alone
};

enum class Accounting : std::uint8_t { none, kept };  ///< kept: costs two questions to the supervisor

struct CallEnd {
  enum class Kind : std::uint8_t {
    answered,    ///< the exchange has it all
    wall_clock,  ///< the limit was reached, whatever the guest said afterwards
    cpu,         ///< the same
    lost,        ///< asked, and then the guest broke the protocol, or (Errc::disconnected) died: `error` says how
    not_asked,   ///< no guest was to be had, or the pool was closed: `error`
    abandoned    ///< by Call::abandon()
  };
  Kind kind = Kind::not_asked;
  core::Error error = {};
  std::chrono::microseconds elapsed{0};  ///< since the clock opened
  std::chrono::microseconds cpu{0};      ///< CPU time of the guest since then, by the kernel's count
  std::optional<Account> account = {};   ///< of a call that had a guest, with Accounting::kept
};

/// Driven by its owner: poll(2) fd() for POLLIN and call poll() each time it is readable; deadlines, the guest's death
/// and its answer all make it readable. Destroying it before the end ends the guest. One thread at a time.
class Call {
 public:
  /// `exchange` must outlive it.
  Call(std::shared_ptr<Pool> pool, CallDescriptors descriptors, Exchange& exchange, CallLimits limits,
       Accounting accounting = Accounting::none);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  /// Once, before anything else: asks an idle guest, has one spawned, or queues.
  void start();

  /// Stays the same for the life of the call; owned by it.
  [[nodiscard]] int fd() const noexcept { return descriptors_.epoll.get(); }
  /// Does what is due without blocking; the end once there is one (exactly once).
  [[nodiscard]] std::optional<CallEnd> poll();
  /// Ends a guest that may still be busy with it.
  [[nodiscard]] CallEnd abandon();

 private:
  enum class Phase : std::uint8_t { waiting, starting, checking, asked, running, ended };
  enum class Progress : std::uint8_t { blocked, again, ended };
  using Kind = CallEnd::Kind;
  using Discard = Pool::Discard;

  void take_guest(Pool::Lease guest);
  void ask_if_lively();
  void ask();
  void send();
  void open_clock();
  void try_another_guest();
  [[nodiscard]] bool may_try_another() const;

  Progress advance();
  Progress advance_waiting();
  Progress advance_starting();
  Progress advance_checking();
  Progress advance_asked();
  Progress hear(const wire::Frame& frame);
  Progress lose(const core::Error& error);
  Progress check_clock();
  Progress overrun();
  Progress fail(core::Error error);
  Progress end(CallEnd with);

  [[nodiscard]] CallEnd measured(Kind kind);
  void set_timer(core::TimePoint when);
  void watch_guest();
  void unwatch_guest();
  void discard_guest();
  void discard_guest(Discard why);

  const std::shared_ptr<Pool> pool_;
  CallDescriptors descriptors_;
  Exchange& exchange_;
  const CallLimits limits_;
  const Accounting accounting_;
  Pool::Waiter waiter_;
  Pool::Lease guest_;
  Phase phase_ = Phase::waiting;
  Kind overrun_ = Kind::answered;  // the limit that was reached
  std::size_t stops_ = 0;
  bool watching_ = false;
  bool sending_ = false;  // it is watched for room too
  std::uint32_t number_ = 0;
  std::size_t attempts_ = 0;
  core::TimePoint opened_;
  core::TimePoint give_up_ = core::TimePoint::max();   // of waiting for a guest
  core::TimePoint deadline_ = core::TimePoint::max();  // of the present phase
  std::chrono::microseconds cpu_before_{0};
  std::optional<Account> account_;
  std::optional<CallEnd> end_;
};

}  // namespace heddle::guest

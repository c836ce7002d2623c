// What the tests of guests share: a supervisor that can be made to fail, and guests that answer.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "heddle/guest/call.h"

// A supervisor is started by clone(2) with memory shared. gcc 12's ThreadSanitizer takes that for a fork, forgets the
// other threads and from then on loses mutexes that it has seen: ten lines with a mutex and such a clone show it.
#ifdef HEDDLE_UNDER_TSAN
#define HEDDLE_SKIP_UNDER_TSAN() GTEST_SKIP() << "ThreadSanitizer takes the start of a supervisor for a fork"
#else
#define HEDDLE_SKIP_UNDER_TSAN() static_cast<void>(0)
#endif

namespace heddle::guest {

/// For what comes in a moment, on a machine that is busy.
inline constexpr std::chrono::seconds kPatience{60};

/// Stands in for heddle-supervisor at a path of its own; what it becomes is decided at each start.
class StandIn {
 public:
  StandIn();
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;
  ~StandIn();

  [[nodiscard]] jail::SupervisorOptions options() const;
  void be_real() const;
  /// Ends as soon as it is started.
  void be_bad() const;
  /// Ends a second after it was started.
  void be_slow_and_bad() const;
  /// How often it was started while it was bad.
  [[nodiscard]] int bad_starts() const;

 private:
  void become(const std::string& program) const;
  std::string folder_;
};

/// tests/support/answerer.cc, or a worker that starts badly: "heddle-rogue-exits".
[[nodiscard]] jail::Program test_program(const std::string& name = "heddle-test-answerer");
[[nodiscard]] jail::Policy test_policy();

[[nodiscard]] std::shared_ptr<Host> make_host();

/// Asks a test answerer one thing, or first to load and then that, and keeps what was said.
class Asking final : public Exchange {
 public:
  explicit Asking(std::string what, Clock clock = Clock::opens) : what_(std::move(what)), clock_(clock) {}
  [[nodiscard]] Clock ask(Process& guest, std::uint32_t call) override;
  [[nodiscard]] core::Result<Heard> take(const wire::Frame& frame) override;
  void stop(Process& guest, std::uint32_t call, std::size_t attempt) override;

  std::vector<std::uint32_t> calls;  ///< their numbers
  std::vector<std::size_t> stops;    ///< attempts
  Heard says_of_answer = Heard::last;

 private:
  void send(std::string_view what);
  const std::string what_;
  const Clock clock_;
  Process* guest_ = nullptr;
};

/// A call to its end, and nothing when that takes too long. `limits` of a minute unless given.
inline constexpr CallLimits kPatientLimits{std::chrono::minutes(1)};
[[nodiscard]] std::unique_ptr<Call> start_call(const std::shared_ptr<Pool>& pool, Exchange& exchange,
                                               CallLimits limits = kPatientLimits,
                                               Accounting accounting = Accounting::none);
[[nodiscard]] CallEnd wait_end(Call& call);
[[nodiscard]] CallEnd call_once(const std::shared_ptr<Pool>& pool, const std::string& what,
                                CallLimits limits = kPatientLimits);
[[nodiscard]] std::shared_ptr<Pool> make_pool(PoolOptions options = {},
                                              const std::string& program = "heddle-test-answerer");

/// Kills every supervisor of this process; none runs any more then, and none of their guests.
void kill_supervisors();

}  // namespace heddle::guest
